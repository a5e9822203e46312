package skill

import (
	"strings"
	"testing"

	"github.com/knack-dev/knack/skill/frontmatter"
)

// said formats problems as lines, so that a table compares them whole: "rule@line:column
// field: message | fix".
func said(problems []Problem) []string {
	var out []string
	for _, p := range problems {
		line := string(p.Rule) + "@" + p.Position.String() + " "
		if p.Field != "" {
			line += p.Field + ": "
		}
		line += p.Message
		if p.Fix != "" {
			line += " | " + p.Fix
		}
		out = append(out, line)
	}
	return out
}

// fenced puts a block between two fences, so that its first line is the file's
// second.
func fenced(block string) []byte {
	if !strings.HasSuffix(block, "\n") {
		block += "\n"
	}
	return []byte("---\n" + block + "---\n# Body\n")
}

// checkRules checks that every problem has a rule, and that a repaired document breaks a rule that
// keeps it from publication.
func checkRules(t *testing.T, d *frontmatter.Document) {
	t.Helper()
	unpublished := false
	for _, p := range d.Problems {
		if _, known := ruleByID[p.Rule]; !known {
			t.Errorf("%s: no such rule", p.Rule)
		}
		unpublished = unpublished || RuleOf(p.Rule).Unpublishes
	}
	if d.Repaired && !unpublished {
		t.Errorf("repaired and yet publishable: %q", said(d.Problems))
	}
}
