package interop

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// page is the file with a summary of each table of the document.
const page = "../doc/conformance.md"

// folders lists the folders of skills that the suite serves.
var folders = []string{"fixtures", "generated", "corpus"}

// TestInteropPage checks that the page's summary matches the document.
func TestInteropPage(t *testing.T) {
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	old, want, err := summed(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := writePage(string(text)); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(old, want); diff != "" && !*update {
		t.Errorf("%s is out of date; -update writes it: %s", page, diff)
	}
}

// writePage writes the summary of a document into the page.
func writePage(text string) error {
	_, want, err := summed(text)
	if err != nil {
		return err
	}
	return os.WriteFile(page, []byte(want), 0o644)
}

// summed returns the page's current text, and its text with the summary of a document.
func summed(text string) (old, want string, err error) {
	data, err := os.ReadFile(page)
	if err != nil {
		return "", "", err
	}
	want = string(data)
	for table, sum := range map[string]func([][]string) string{"skills": sumSkills, "general": sumGeneral, "reference": sumReference} {
		_, rows, _, err := section(text, table)
		if err != nil {
			return "", "", err
		}
		var cells [][]string
		for _, row := range strings.Split(strings.TrimSpace(rows), "\n")[2:] {
			cells = append(cells, strings.Split(strings.Trim(row, "| "), " | "))
		}
		begin, end := "<!-- "+table+" -->\n", "<!-- /"+table+" -->"
		head, rest, ok := strings.Cut(want, begin)
		_, tail, closed := strings.Cut(rest, end)
		if !ok || !closed {
			return "", "", fmt.Errorf("%s has no table %s", page, table)
		}
		want = head + begin + sum(cells) + end + tail
	}
	return string(data), want, nil
}

var spokenProtocol = regexp.MustCompile(`, protocol [0-9-]+`)

// sumSkills returns a table with a row for each client, with its results on each folder.
func sumSkills(rows [][]string) string {
	runs, results := map[string]int{}, map[string]map[string]bool{}
	for _, r := range rows {
		runs[r[0]]++
		at := r[0] + "/" + r[3]
		if results[at] == nil {
			results[at] = map[string]bool{}
		}
		results[at][spokenProtocol.ReplaceAllString(r[4], "")] = true
	}
	var b strings.Builder
	b.WriteString("| instrument | runs | fixtures | generated | corpus |\n| --- | ---: | --- | --- | --- |\n")
	for _, name := range slices.Sorted(maps.Keys(runs)) {
		fmt.Fprintf(&b, "| %s | %d |", name, runs[name])
		for _, f := range folders {
			cell := strings.Join(slices.Sorted(maps.Keys(results[name+"/"+f])), "; ")
			if cell == "" {
				cell = "–"
			}
			fmt.Fprintf(&b, " %s |", cell)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// sumGeneral returns a table that groups the scenarios by their results.
func sumGeneral(rows [][]string) string {
	const passed, wants, not = "every check", "every check but some that need a fixture of the suite", "not run"
	byName := map[string]string{}
	for _, r := range rows {
		switch {
		case r[2] == "not run":
			byName[r[0]] = not
		case len(r) > 3 && r[3] != "":
			byName[r[0]] = wants
		case byName[r[0]] == "":
			byName[r[0]] = passed
		}
	}
	var b strings.Builder
	b.WriteString("| passes | scenarios | |\n| --- | ---: | --- |\n")
	for _, result := range []string{passed, wants, not} {
		names := slices.DeleteFunc(slices.Sorted(maps.Keys(byName)), func(name string) bool { return byName[name] != result })
		fmt.Fprintf(&b, "| %s | %d | %s |\n", result, len(names), strings.Join(names, ", "))
	}
	return b.String()
}

// sumReference returns a table with a row for each kind of difference, with the number of skills in
// each folder.
func sumReference(rows [][]string) string {
	n := map[string]map[string]string{}
	for _, r := range rows {
		if n[r[2]] == nil {
			n[r[2]] = map[string]string{}
		}
		n[r[2]][r[0]] = r[1]
	}
	var b strings.Builder
	b.WriteString("| how they differ | fixtures | generated | corpus |\n| --- | ---: | ---: | ---: |\n")
	for _, how := range slices.Sorted(maps.Keys(n)) {
		fmt.Fprintf(&b, "| %s |", how)
		for _, f := range folders {
			number := n[how][f]
			if number == "" {
				number = "–"
			}
			fmt.Fprintf(&b, " %s |", number)
		}
		b.WriteString("\n")
	}
	return b.String()
}
