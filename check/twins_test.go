package check

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/skill"
)

func TestTwins(t *testing.T) {
	of := func(texts ...string) (out []string) {
		var all []Report
		for _, text := range texts {
			all = append(all, checked(t, text))
		}
		for _, w := range Twins(all, func(i int) string { return fmt.Sprint("skill ", i) }) {
			out = append(out, fmt.Sprintf("%d of %d: %s %s %s+%d %s | %s", w.Index, w.First, w.Severity, w.Rule, w.Position, w.Length, w.Message, w.Mend))
		}
		return out
	}
	const other = "---\ndescription: Another.\nname: GIT\n---\n"
	for _, c := range []struct {
		texts, want []string
	}{
		{[]string{sound, "---\nname: gitt\ndescription: d\n---\n"}, nil},
		{[]string{sound, other}, []string{"1 of 0: warning name-duplicate 3:7+3 the name 'GIT' stands already in skill 0:2:7 | give one of the two another name"}},
		{[]string{other, sound, sound}, []string{
			"1 of 0: warning name-duplicate 2:7+3 the name 'git' stands already in skill 0:3:7 | give one of the two another name",
			"2 of 0: warning name-duplicate 2:7+3 the name 'git' stands already in skill 0:3:7 | give one of the two another name",
		}},
		{[]string{sound, sound}, []string{"1 of 0: info name-duplicate 2:7+3 this SKILL.md is a copy of skill 0:2:7 | delete one of the two, unless clients that read different folders need both"}},
		// What nobody can load has no name to lose.
		{[]string{"---\nname: git\n---\n", sound, "no frontmatter"}, nil},
	} {
		if diff := cmp.Diff(c.want, of(c.texts...)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.texts, diff)
		}
	}
	if r, known := RuleOf(RuleNameDuplicate); !known || r.Severity != skill.SeverityWarning {
		t.Errorf("%+v", r)
	}
}
