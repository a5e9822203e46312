package agents

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// These tests test the suite itself. They need no client and always run.

// TestArrived checks that arrived distinguishes whole, quoted, cut and missing texts.
func TestArrived(t *testing.T) {
	text := lines("\"A heading\" <here> & there\n", "a text", 3000)
	half := strings.LastIndex(text[:1500], "\n") + 1
	asJSON := strings.NewReplacer("\n", `\n`, `"`, `\"`) // as clients write it, with < and & unescaped
	quote := func(s string) string { return `[{"type":"text","text":"` + asJSON.Replace(s) + `"}]` }
	tests := []struct {
		answers []string
		want    string
	}{
		{nil, "not read"},
		{[]string{"Loading: x\n" + text + "\nthe end"}, "whole"},
		{[]string{strings.TrimRight(text, "\n")}, "whole"},
		{[]string{quote("Loading: x\n" + text)}, "whole, as JSON"},
		{[]string{text[:half] + "to read on …", text[half:]}, "in 2 parts"},
		{[]string{text[:half-20] + "to read on …", text[half-20:]}, "in 2 parts"}, // cut within a line
		{[]string{quote(text[:half] + "to read on …"), quote(text[half:])}, "in 2 parts"},
		{[]string{text[:half] + "…", text[half+100:]}, "cut"},
		{[]string{text[half:], text[:half]}, "cut"},
		{[]string{text[:800] + "[truncated]" + text[1000:]}, "cut"},
		{[]string{"Output too large"}, "cut"},
	}
	for _, tt := range tests {
		s := &step{whole: text, answers: tt.answers}
		if got := s.arrived().String(); got != tt.want {
			t.Errorf("%.300q: %s, want %s", tt.answers, got, tt.want)
		}
	}
}

// TestCheckLine checks that checkLine requires the names that fit, and topics in the right order.
func TestCheckLine(t *testing.T) {
	var skills []listedSkill
	for _, name := range []string{"git", "tar", "azure-storage-blobs-and-containers-of-all-kinds", "azure-storage-queue", "azure-monitor", strings.Repeat("long-", 30) + "name", strings.Repeat("much-", 30) + "name"} {
		skills = append(skills, listedSkill{Name: name})
	}
	for line, want := range map[string]string{
		"7 skills: git, tar, azure-monitor, azure-storage-queue. Others, with `find_skills`: name, azure, … First load what fits.\n\nMore": "",
		"7 skills: git. Others, with `find_skills`: azure, storage, long, much. First load what fits.":                                     "has 1 names, and 4 fit",
		"7 skills: git, tar, azure-monitor, azure-storage-queue. Others, with `find_skills`: long, name. First load what fits.":            "the topic name stands for 2 names",
		"7 skills: git, tar, azure-monitor, azure-storage-queue. Others, with `find_skills`: monitor. First load what fits.":               "the topic monitor stands for 0 names",
		"7 skills: git, tar, azure-monitor, azure-storage-queue. First load what fits.":                                                    "no topics",
	} {
		if err := checkLine(line, skills); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}

// TestDocument checks that the document has a row for every client in every table, and no row for
// an unknown client. It also checks that the page about connecting has each client's command.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile("../../doc/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	tables := map[string][]string{}
	for _, a := range agents {
		for _, s := range scenarios {
			tables[s.table] = append(tables[s.table], a.name+s.suffix)
		}
	}
	for table, want := range tables {
		_, rows, _, err := section(string(text), table)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, row := range strings.Split(strings.TrimSpace(rows), "\n")[2:] {
			name, _, _ := strings.Cut(strings.TrimPrefix(row, "| "), " |")
			got = append(got, name)
		}
		if table == "sizes" { // a client's own list has a row below the client's
			slices.Sort(got)
			slices.Sort(want)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("table %s: %s", table, diff)
		}
	}
	if text, err = os.ReadFile("../../doc/connect.md"); err != nil {
		t.Fatal(err)
	}
	for _, a := range agents {
		if a.id == "" {
			continue // its entry is written by hand
		}
		command := "| `" + strings.Join(append([]string{"knack connect", a.id, "--write"}, a.flags...), " ") + "`"
		if !strings.Contains(string(text), command) {
			t.Errorf("no row of doc/connect.md has the command that connects %s: %s", a.title, command)
		}
	}
}

// TestMeasure checks that measure counts the names and the characters of descriptions in several
// forms of lists.
func TestMeasure(t *testing.T) {
	skills := []listedSkill{{Name: "pdf", Description: "When the user wants to fill in forms, merge files or read tables."}, {Name: "pdf-forms", Description: "Writes <b> & reads short texts."}}
	for text, want := range map[string]shownList{
		"":                                 {},
		"the pdfs and my-pdf":              {},
		"2 skills: pdf, pdf-forms.":        {names: 2},
		"- pdf: When the user wants to fi": {names: 1, described: 1, characters: 25},
		"- pdf: Fill in forms, merge files… - pdf-forms: Writes":                                       {names: 2, described: 1, characters: 26},
		"<name>pdf-forms</name> <description>Writes <b> & reads short texts.</description>":            {names: 1, described: 1, characters: 31},
		"**pdf** (user) when the user wants to fill in forms, merge files or read tables. Then other ": {names: 1, described: 1, characters: 65},
	} {
		if got := measure(text, skills); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}

// TestUpdateKeeps checks that the rows and cells that a run does not measure stay in the document.
func TestUpdateKeeps(t *testing.T) {
	was, given, text := *document, *update, "<!-- sizes: written by make agents -->\n| client | 17 | 50 |\n| --- | --- | --- |\n| Codex | a | b |\n| Codex, own list | c | d |\n| Kilo | e | f |\n<!-- end of sizes -->\n"
	*document, *update = filepath.Join(t.TempDir(), "clients.md"), true
	defer func() { *document, *update = was, given }()
	if err := os.WriteFile(*document, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	r := &record{rows: map[string]map[string]string{}}
	for _, name := range []string{"Codex", "Codex, own list", "Kilo"} {
		r.begin("sizes", name)
	}
	r.skip("sizes", "Codex, own list") // as it happens without a corpus
	r.cell(t, "sizes", "Codex", "", "B")
	if err := r.close(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(*document)
	want := strings.NewReplacer("| b |", "| B |", "| Kilo | e | f |\n", "").Replace(text) // Kilo was run, without a result
	if diff := cmp.Diff(want, string(got)); err != nil || diff != "" {
		t.Errorf("%v, %s", err, diff)
	}
}
