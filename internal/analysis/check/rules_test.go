package check

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/knack-dev/knack/internal/test/corpus"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// with returns a valid skill with the given fields and body.
func with(fields, body string) string {
	return "---\nname: git\ndescription: Commits. Use when committing.\n" + fields + "---\n" + body
}

func described(text string) string { return "---\nname: git\ndescription: " + text + "\n---\n" }

// ruleCases lists the rules of this package, each with texts that break it, the position of the
// finding, and similar texts that do not break it.
var ruleCases = []struct {
	rule  skill.RuleID
	bad   []string
	at    string // of the first finding in the first bad text
	good  []string
	files []string // further files for the bad and the good texts
}{
	{ruleAllowedTools, []string{with("allowed-tools: Read, Write\n", ""), with("allowed-tools:\n- Read\n", ""), with("allowed-tools: {a: b}\n", ""), with("allowed-tools: 3\n", "")}, "4:16",
		[]string{with("allowed-tools: Read Write\n", ""), with("allowed-tools: Bash(git add:*, git log)\n", ""), with("allowed-tools:\n", ""), with("", "")}, nil},
	{ruleFieldUnknown, []string{with("owner: me\n", ""), with("'über': me\n", "")}, "4:1", []string{with("license: MIT\ncompatibility: all\nmetadata: {}\n", "")}, nil},
	{ruleNameReserved, []string{"---\nname: my-claude\ndescription: d\n---\n", "---\nname: Anthropic\ndescription: d\n---\n"}, "2:7", []string{with("", "claude"), "---\nname: cloud\ndescription: claude\n---\n"}, nil},
	{ruleDescriptionXML, []string{described("Use <b>it</b>"), described("Use </system>")}, "3:14", []string{described("Use a < b and c > d, 1<2"), described("a <- b -> c")}, nil},

	{ruleRefMissing, []string{with("", "See [a](gone.md)."), with("", "![a](<gone one.png>)"), with("", "[a]: gone.md\n"), with("", "- item\n\n    [a](gone.md)\n"), with("", "[a](.env)"), with("", "[a](x%20y.md)"), with("", "<!-- [x](y) --> [a](z)"), with("", "``` `a` ``` [a](z)")}, "5:9",
		[]string{with("", "[a](a.md#x) [b](./b/c.md?q) [c](b) [d](#here) [e](https://x/y.md) [f](mailto:a@b) [g](b/c%2emd) [h](<two words.md>)"),
			with("", "`[a](gone.md)` ``[b](gone.md) ` ``\n```\n[c](gone.md)\n```\n\n    [d](gone.md)\n\n~~~~\n```\n[e](gone.md)\n~~~~\n<!-- [f](gone.md)\n[g](gone.md) -->\n\\[h\\](gone.md)"), with("", "[a](//host/x) [^1]: x")}, []string{"a.md", "b/c.md", "two words.md"}},
	{ruleRefCase, []string{with("", "[a](A.md)"), with("", "[a](B/c.md)")}, "5:5", []string{with("", "[a](a.md) [b](b/c.md) [c](gone.md)")}, []string{"a.md", "b/c.md"}},
	{ruleRefOutside, []string{with("", "x\n[a](../x.md)"), with("", "[a](/etc/passwd)"), with("", "[a](~/x)"), with("", "[a](file:///x)"), with("", `[a](b\..\..\x)`), with("", "[a](%2e%2e/x)")}, "6:5", []string{with("", "[a](b/../a.md) [b](https://x/../y)")}, []string{"a.md"}},

	{ruleSizeListing, []string{described("Use " + strings.Repeat("x", 400))}, "3:14", []string{described("Use " + strings.Repeat("x", 393))}, nil},
	{ruleSizeBody, []string{with("", strings.Repeat("é", 20001))}, "", []string{with("", strings.Repeat("é", 20000))}, nil},
	{ruleSizeLines, []string{with("", strings.Repeat("\n", 497))}, "", []string{with("", strings.Repeat("\r\n", 496))}, nil},

	{"text-tags", []string{with("", "a\U000e0041\U000e0042b"), with("", "\U0001f3f4\U000e0041"), with("", "\U0001f3f4\U000e0069\U000e0067\U000e006e\U000e006f\U000e0072\U000e0065\U000e007f")}, "5:2", []string{with("", "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"), with("", "ab")}, nil},
	{"text-bidi", []string{with("", "a \u202eb"), described("Use \u2066it")}, "5:3", []string{with("", "\u200f\u0634 – “x” …")}, nil},
	{ruleTextZeroWidth, []string{with("", "a \u200b b"), with("", "\u0645\u200c\u200c\u06cc"), with("", "x \ufeff y"), with("", "x\U0001d173 y"), with("", "x \u115fy"), with("", "日\u200d本"), with("", "本\u200c語"), with("", "x\ufe0f y")}, "5:3", []string{"\ufeff" + with("", "\u0645\u200c\u06cc \U0001f469\u200d\U0001f4bb \U0001f441\ufe0f\u200d\U0001f5e8\ufe0f é")}, nil},
	{"zero-width-in-word", []string{with("", "a\u200bb"), with("", "a\u200db"), with("", "x\ufeffy"), with("", "x\u115fy"), with("", "x\ufe0fy")}, "5:2", []string{with("", "a \u200b b"), with("", "日\u200d本")}, nil},
	{"text-zero-width-run", []string{with("", "a "+strings.Repeat("\u200b", 8))}, "5:3", []string{with("", "a "+strings.Repeat("\u200b", 7))}, nil},
	{"text-selectors", []string{with("", "a \ufe01\ufe02\ufe03")}, "5:3", []string{with("", "\u2764\ufe0f")}, nil},
	{ruleTextComment, []string{with("", "a <!-- b -->"), with("", "<!--\n<!-- -->")}, "5:3", []string{with("", "`<!-- a -->`\n```\n<!-- b -->\n```\n")}, nil},
	{ruleDescriptionPlaceholder, []string{described("TODO: write"), described("Replace with description of the skill."), described("A brief description here"), described("'[TODO: what]'"), described("Use {{name}}"), described("Use when this capability is needed."), described("Helps with pdf. Use when the user asks for pdf.")}, "3:14",
		[]string{described("Finds TODO comments. Use when cleaning up."), described("Writes descriptions of products."), described("Fills in todo lists.")}, nil},
	{ruleDescriptionWhen, []string{described("Commits, branches, merges")}, "3:14", []string{described("Commits. Use when committing"), described("Für Commits"), described("处理提交")}, nil},
}

// TestCollisionWords checks that names that differ only in case have a different message from names
// that differ only in Unicode composition. The difference in composition is invisible.
func TestCollisionWords(t *testing.T) {
	for name, want := range map[string][2]string{
		"A.md":    {"differs from 'A.md' only by case; on macOS and Windows one replaces the other", "rename this one"},
		"e\u0301": {`differs from "e\u0301" only by how a character is composed, which is invisible; on macOS one replaces the other`, `rename this one, which is written "\u00e9"`},
	} {
		got := found(checked(t, sound, "a.md", "é", name), ruleFileCase)
		if len(got) != 1 || [2]string{got[0].Message, got[0].Fix} != want {
			t.Errorf("%q: %+v", name, got)
		}
	}
}

func TestRules(t *testing.T) {
	for _, c := range ruleCases {
		for i, text := range c.bad {
			got := found(checked(t, text, c.files...), c.rule)
			if len(got) != 1 {
				t.Errorf("%s: %d findings in %.200q: %+v", c.rule, len(got), text, got)
				continue
			}
			rule, known := RuleOf(c.rule)
			if f := got[0]; !known || f.Message == "" || f.Fix == "" || f.Severity != rule.Severity || f.File != "SKILL.md" {
				t.Errorf("%s: incomplete: %+v", c.rule, f)
			}
			if i == 0 && got[0].Position.String() != c.at {
				t.Errorf("%s: at %s, want %s", c.rule, got[0].Position, c.at)
			}
		}
		for _, text := range c.good {
			if got := found(checked(t, text, c.files...), c.rule); len(got) > 0 {
				t.Errorf("%s: finds %+v in %.200q", c.rule, got, text)
			}
		}
	}
}

// TestLength checks that a finding covers its token from the first to the last character.
func TestLength(t *testing.T) {
	for text, want := range map[string]string{
		with("", "See [a](gone.md)."):           "gone.md",
		with("", "é [a](<a b>)"):                "<a b>",
		described("TODO"):                       "TODO",
		with("owner: me\n", ""):                 "owner",
		"---\nname: A b\ndescription: d\n---\n": "A b",
		with("", "a\U000e0041\U000e0042b"):      "\U000e0041\U000e0042",
	} {
		marked := false
		for _, f := range checked(t, text).Findings {
			if l := f.Position.Line; l > 0 {
				runes := []rune(strings.Split(text, "\n")[l-1])
				from := f.Position.Column - 1
				marked = marked || string(runes[from:from+f.Length]) == want
			}
		}
		if !marked {
			t.Errorf("nothing marks %q in %q", want, text)
		}
	}
}

func TestFileRules(t *testing.T) {
	for _, c := range []struct {
		rule      skill.RuleID
		bad, good []string
	}{
		{ruleFileWindows, []string{"a:b", "con", "AUX.txt", "x/nul.tar.gz", "a?", "a\tb", "end.", "end ", `back\slash`, "lpt1 .x"}, []string{"console", "a b", "com10", "x.con", "ünï", ".con"}},
		{ruleFileCase, []string{"A.md", "B/c", "e\u0301"}, []string{"d.md", "bb"}},
	} {
		for _, name := range c.bad {
			got := found(checked(t, sound, "a.md", "b/x", "é", name), c.rule)
			if len(got) != 1 || got[0].File == "" || got[0].Message == "" || got[0].Fix == "" {
				t.Errorf("%s: %q: %+v", c.rule, name, got)
			}
		}
		for _, name := range c.good {
			if got := found(checked(t, sound, "a.md", "b/x", "é", name), c.rule); len(got) > 0 {
				t.Errorf("%s: %q: %+v", c.rule, name, got)
			}
		}
	}
}

// TestWindowsFolders checks that a skill that cannot be stored on Windows is reported, because of
// the name of its folder, of a parent folder, or of the skill itself.
func TestWindowsFolders(t *testing.T) {
	for at, want := range map[string]string{
		"con": "folder can be called 'con', for the name of a device", "a/aux": "'aux'", "lpt9/b": "'lpt9'", "com¹": "'com¹'", "a.": "'a.'",
		"a/b": "", "console": "", ".hidden/x": "",
	} {
		b := bundleOf(fstest.MapFS{"SKILL.md": {Data: []byte(sound)}}, at)
		got := found(load(t.Context(), b), ruleFileWindows)
		if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || !strings.Contains(got[0].Message, want) || got[0].Fix == "") {
			t.Errorf("%s: %+v", at, got)
		}
	}
	got := found(checked(t, "---\nname: nul\ndescription: d\n---\n"), ruleFileWindows)
	if len(got) != 1 || got[0].Position.String() != "2:7" || got[0].Field != "name" || got[0].Severity != skill.SeverityWarning {
		t.Errorf("by its name: %+v", got)
	}
}

// TestFilesIncomplete checks that a file that cannot be listed is reported, and that its skill
// cannot be published.
func TestFilesIncomplete(t *testing.T) {
	deep := strings.Repeat("d/", skill.MaxDepth+1) + "x"
	for name, want := range map[string]string{
		"a\xff.txt": "has a name that is not UTF-8",
		deep:        "is more than 12 levels deep",
		"ok.txt":    "",
		strings.Repeat("d/", skill.MaxDepth-1) + "x": "",
	} {
		r := checked(t, sound, name)
		got := found(r, ruleFilesIncomplete)
		if ok := len(got) == 0; ok != (want == "") || ok != r.Publishable() || !ok && (!strings.Contains(got[0].Message, want) || got[0].Fix == "") {
			t.Errorf("%q: %+v, publishable %v", name, got, r.Publishable())
		}
	}
}

func TestLimits(t *testing.T) {
	many := make([]string, skill.MaxFiles)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	if got := found(checked(t, sound, many...), frontmatter.FilesMany); len(got) != 1 {
		t.Errorf("513 files: %+v", got)
	}
	if got := found(checked(t, sound, many[1:]...), frontmatter.FilesMany); len(got) != 0 {
		t.Errorf("512 files: %+v", got)
	}
	wide := fstest.MapFS{"SKILL.md": {Data: []byte(sound)}}
	for i := range 2*skill.MaxFolder + 1 {
		wide[fmt.Sprint("wide/", i)] = &fstest.MapFile{}
	}
	r := load(t.Context(), bundleOf(wide, "git"))
	if got := found(r, frontmatter.FilesMany); len(got) != 1 || !strings.HasPrefix(got[0].Message, "the skill has more than 512 files") || r.Publishable() {
		t.Errorf("a folder that is not listed: %+v, publishable %v", got, r.Publishable())
	}
	for size, want := range map[int]int{skill.MaxFile + 1: 1, skill.MaxFile - len(sound): 0} {
		r := load(t.Context(), bundleOf(fstest.MapFS{"SKILL.md": {Data: []byte(sound)}, "big": {Data: make([]byte, size)}}, "git"))
		if a, b := found(r, ruleSizeFile), found(r, frontmatter.FilesLarge); len(a) != want || len(b) != want {
			t.Errorf("%d bytes: %+v %+v", size, a, b)
		}
	}
}

func TestCost(t *testing.T) {
	r := checked(t, with("", "12345"), "x")
	want := Cost{ListingCharacters: 3 + 29, ListingTokens: 8, BodyCharacters: 5, BodyTokens: 2, Lines: 5, Files: 2, Bytes: int64(len(r.Data) + 1)}
	if r.Cost != want {
		t.Errorf("%+v, want %+v", r.Cost, want)
	}
	if len(r.Findings) > 0 {
		t.Errorf("a sound skill: %+v", r.Findings)
	}
}

// TestDocument checks that doc/check.md lists every rule except the rules of package scan.
func TestDocument(t *testing.T) {
	doc, err := os.ReadFile("../../../doc/check.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range Rules {
		if r.Group == groupContent {
			continue // doc/scan.md lists them
		}
		row := fmt.Sprintf("| `%s` | %s | %s | %s |\n", r.ID, r.Severity, r.Source, r.Title)
		if !strings.Contains(string(doc), row) {
			t.Errorf("doc/check.md lacks the row\n%s", row)
		}
	}
}

// TestTable checks that Rules contains each rule once, with all fields set.
func TestTable(t *testing.T) {
	seen := map[skill.RuleID]bool{}
	for _, r := range Rules {
		if seen[r.ID] || r.Severity == "" || r.Group == "" || r.Source == "" || r.Title == "" {
			t.Errorf("twice or incomplete: %+v", r)
		}
		seen[r.ID] = true
	}
	for _, r := range skill.Rules() {
		if !seen[r.ID] {
			t.Errorf("%s is missing", r.ID)
		}
	}
}

// TestUnreadable checks that an unreadable skill is reported, and that nothing panics.
func TestUnreadable(t *testing.T) {
	for name, b := range map[string]*skill.Bundle{
		"not UTF-8": bundleOf(fstest.MapFS{"SKILL.md": {Data: []byte("---\nname: \xff\n---\n")}}, "git"),
		"empty":     bundleOf(fstest.MapFS{"SKILL.md": {}}, "git"),
		"spelling":  bundleOf(fstest.MapFS{"SKILL.Md": {}}, "git"),
		"fault":     {Path: "git", Entry: "SKILL.md", FS: fstest.MapFS{}, Extra: &skill.Extra{Fault: skill.ErrOutside}},
		"no files":  {Path: "git", Extra: &skill.Extra{Others: []string{"SKILL.Md"}}},
	} {
		r := load(t.Context(), b)
		if !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Severity == skill.SeverityError }) {
			t.Errorf("%s: %+v", name, r.Findings)
		}
	}
}

// TestPositions checks that every finding in the edge cases has a position that exists in the file.
func TestPositions(t *testing.T) {
	n := 0
	for _, b := range bundles(t, corpus.Dir(t, "edge")) {
		r := load(t.Context(), b)
		lines := linesOf(string(r.Data))
		for _, f := range r.Findings {
			n++
			if p := f.Position; p.Line > len(lines)+1 || p.Line > 0 && p.Column < 1 || p.Line == 0 && f.Length > 0 {
				t.Errorf("%s: %+v", b.Path, f)
			}
		}
	}
	t.Logf("%d findings", n)
}

func BenchmarkCorpus(b *testing.B) {
	b.ReportAllocs()
	all := bundles(b, corpus.Dir(b, "skills"))
	for b.Loop() {
		for _, s := range all {
			load(context.Background(), s)
		}
	}
	b.ReportMetric(float64(len(all)), "skills/op")
}
