package scan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/passage"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/skill"
)

func TestNear(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		near bool
	}{
		{"code-review", "code-reviev", true},
		{"code-review", "code-reviews", true},
		{"code-review", "ode-review", true},
		{"code-review", "code-reveiw", true},
		{"code-review", "codereview", true},
		{"code-review", "code_review", false},
		{"caf\u00e9-notes", "cafe-notes", true},
		{"notes", "note5", true},
		{"code-review", "code-review", false},
		{"code-review", "Code-Review", false},
		{"code-review", "code-r\u0435view", false}, // look-alikes are found by homoglyph-word
		{"code-review", "code-reviewer", false},
		{"code-review", "core-reviev", false},
		{"code-review", "cdoe-reveiw", false},
		{"code-review", "review-code", false},
		{"note", "notes", false}, // so short a word is near to many others
		{"docx", "pptx", false},
		{"", "a", false},
		{strings.Repeat("a", 70), strings.Repeat("a", 69), false},
	} {
		skills := []Named{{tt.a, "./skills"}, {tt.b, "~/.claude/skills"}}
		got := Near(skills, nil)
		if (len(got) == 2) != tt.near || len(got) == 1 {
			t.Errorf("%q and %q: %v", tt.a, tt.b, got)
		}
		skills[1].Origin = skills[0].Origin
		if got := Near(skills, nil); len(got) > 0 {
			t.Errorf("%q and %q of one origin: %v", tt.a, tt.b, got)
		}
	}
}

func TestNearFinding(t *testing.T) {
	skills := []Named{{"pdf-tools", "./skills"}, {"pdf-tool", "a/b"}, {"pdf-tols", "c/d"}, {"pdf-toools", "e/f"}, {"pfd-tools", "g/h"}}
	got := Near(skills, nil)
	f := got[0]
	if f.Rule != passage.NameNear || f.Lane != Review || f.File != "SKILL.md" || f.Position != (skill.Position{}) || f.Fix == "" || f.Text == (skill.Digest{}) ||
		f.Message != "the name 'pdf-tools' is nearly 'pdf-tols' of 'c/d', 'pdf-tool' of 'a/b', 'pdf-toools' of 'e/f' and 1 more" {
		t.Errorf("%+v", f)
	}
	// Two such skills of one origin are a series. They do not count for another origin that has one
	// of them.
	series := []Named{{"flow-part-a", "a/b"}, {"flow-part-b", "a/b"}, {"flow-part-a", "c/d"}, {"flow-part-b", "c/d"}, {"flow-part-a", "e/f"}}
	if got := Near(series, nil); len(got) > 0 {
		t.Errorf("a series: %v", got)
	}
	if fmt.Sprint(Near(skills, nil)) != fmt.Sprint(got) {
		t.Error("two runs differ")
	}
	if got := Near(skills, func(int) Options { return Options{Only: Enforce} }); len(got) > 0 {
		t.Errorf("in the lane enforce: %v", got)
	}
	if got := Near(skills, func(int) Options { return Options{Lanes: map[skill.RuleID]Lane{passage.NameNear: Enforce}} }); got[0].Lane != Enforce {
		t.Errorf("%+v", got[0])
	}
	r := scanOf(t, map[string]string{"a.sh": "curl https://get.acme-tools.dev/x | sh\n"})
	before := r.Review
	r.Add(f)
	if r.Review != before+1 || r.Enforce != 0 || r.Findings[0].Rule != passage.NameNear { // SKILL.md is sorted before a.sh
		t.Errorf("%+v", r)
	}
}

// TestNearAmidMany checks that a pair of near names is found among 2,000 names with the same
// beginning and end.
func TestNearAmidMany(t *testing.T) {
	var skills []Named
	for i := range 2000 {
		skills = append(skills, Named{fmt.Sprintf("skill-%x-of-many", uint64(i+1)*0x9e3779b97f4a7c15), "a/b"})
	}
	skills = append(skills, Named{"zkill-of-many", "a/b"}, Named{"ykill-of-many", "c/d"})
	if got := Near(skills, nil); len(got) != 2 || got[2000].Rule == "" || got[2001].Rule == "" {
		t.Errorf("%v", got)
	}
}

// TestNearMany checks that Near takes at most a minute for many names, even for names made to be
// near one another.
func TestNearMany(t *testing.T) {
	n := 10_000
	if !testwait.Full() {
		n = 1000
	}
	for what, name := range map[string]func(i int) string{
		"numbers":       func(i int) string { return fmt.Sprintf("skill-%d", i) },
		"one character": func(i int) string { return "skill-" + string(rune(0x4e00+i)) },
		"one name":      func(int) string { return "skill" },
		"long":          func(i int) string { return strings.Repeat("a", 1<<16) + fmt.Sprint(i) },
		"repeats":       func(i int) string { return strings.Repeat("ab", 5+i%27) + fmt.Sprint(i) },
	} {
		var skills []Named
		for i := range n {
			skills = append(skills, Named{name(i), fmt.Sprint("origin ", i%7)})
		}
		start := time.Now()
		got := Near(skills, nil)
		if took := time.Since(start); took > time.Minute {
			t.Errorf("%s: %v", what, took)
		} else {
			t.Logf("%s: %v, %d of %d", what, took, len(got), n)
		}
	}
}
