package skill

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/test/corpus"
)

// deliberate lists every edge case whose outcome differs from the lenient column
// of cases.tsv, with the reason.
var deliberate = map[string]string{
	// "name is never guessed" (product.md): the folder's name is not used instead.
	"name__missing/1/policy-guide/SKILL.md":     "name is never guessed",
	"name__missing/1/wasm-constraints/SKILL.md": "name is never guessed",
	"fm__dashes-inside/1/molthunt/SKILL.md":     "its name stands in a heading (## name:), and a name is never guessed",
	// These cases are about another property of a file that has no frontmatter at all.
	"bytes__bom/1/brainstorming-studio/SKILL.md":                             "no frontmatter behind the byte-order mark",
	"bytes__mixed-eol/1/brainstorming-studio/SKILL.md":                       "no frontmatter",
	"bytes__unicode-tags-bidi/1/1321-langfuse_integration_141c0aa1/skill.md": "no frontmatter",
	"case__Skill.md/1/nameserver-reverse/Skill.md":                           "no frontmatter",
	"case__skill.md/1/zh/skill.md":                                           "no frontmatter",
	"case__skill.md/1/blog/skill.md":                                         "no frontmatter",
	"link__file-escapes/1/jscraik+Agent-Skills/SKILL.md":                     "no frontmatter",
	"size__big-skill-md/1/774-readme_flat_all_created_e52c9ec6/skill.md":     "no frontmatter",
	// This skill is available although the column would skip it.
	"yaml__unrecoverable/1/analyzing-financial-statements/SKILL.md": "only the blank after description: is missing; the same file stands under unindented-continuation as load",
}

type outcome string

const (
	available outcome = "available"
	skipped   outcome = "skipped"
	either    outcome = "either"
)

// lenient derives the outcome from the words in the fourth column of cases.tsv.
func lenient(words string) outcome {
	switch {
	case strings.HasPrefix(words, "skip on NUL"), strings.Contains(words, "skip or"), strings.Contains(words, "skip,"):
		return either
	case strings.HasPrefix(words, "skip") && (strings.Contains(words, "(or load") || strings.Contains(words, "acceptable")):
		return either
	case strings.HasPrefix(words, "skip"):
		return skipped
	}
	return available
}

// TestEdgeCases checks that every real edge case is read, or skipped with a reason, a position and
// a fix. Each difference from the table of cases must be in deliberate.
func TestEdgeCases(t *testing.T) {
	dir := filepath.Join(corpus.Dir(t), "edge")
	table, err := os.ReadFile(filepath.Join(dir, "cases.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	byFile := map[string]*Skill{}
	for _, s := range loadAll(t, dir) {
		byFile[path.Join(s.Path, s.Entry)] = s
	}
	cases := strings.Split(strings.TrimSpace(string(table)), "\n")[1:]
	if len(cases) != 168 || len(byFile) != 168 {
		t.Errorf("%d cases and %d files, want 168 each", len(cases), len(byFile))
	}
	used := 0
	for _, line := range cases {
		column := strings.Split(line, "\t")
		file, want := column[1], lenient(column[3])
		s := byFile[file]
		if s == nil {
			t.Errorf("%s: not found", file)
			continue
		}
		got := available
		if !s.Available {
			got = skipped
		}
		reason, differs := deliberate[file]
		switch agrees := want == either || want == got; {
		case agrees && differs:
			t.Errorf("%s: is listed as different (%s) and is not", file, reason)
		case !agrees && !differs:
			t.Errorf("%s: %s, want %s (%s): %+v", file, got, want, column[3], s.Problems)
		}
		if differs {
			used++
		}
		checkExplained(t, s)
	}
	if used != len(deliberate) {
		t.Errorf("%d of %d deliberate differences met", used, len(deliberate))
	}
}

// checkExplained checks that a skipped skill has a reason, a position and a fix.
func checkExplained(t *testing.T, s *Skill) {
	t.Helper()
	p, ok := s.SkipReason()
	if ok == s.Available {
		t.Errorf("%s: available %v and a reason to skip: %v", s.Path, s.Available, ok)
	}
	if ok && (p.Message == "" || p.Fix == "" || p.Position.Line == 0) {
		t.Errorf("%s: unexplained: %+v", s.Path, p)
	}
	for _, p := range s.Problems {
		if strings.ContainsAny(p.Message+p.Fix, "\n\r\x00\x1b") {
			t.Errorf("%s: a message of several lines: %q", s.Path, p.Message)
		}
	}
}
