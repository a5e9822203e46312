package check

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/skill"
)

func TestDuplicate(t *testing.T) {
	const other = "---\ndescription: Another.\nname: GIT\n---\n"
	for _, c := range []struct {
		text, first, want string
	}{
		{other, sound, "warning name-duplicate 3:7+3 the name 'GIT' is already used in a/SKILL.md:2:7 | give one of the two another name"},
		{sound, other, "warning name-duplicate 2:7+3 the name 'git' is already used in a/SKILL.md:3:7 | give one of the two another name"},
		{sound, sound, "info name-duplicate 2:7+3 this SKILL.md is a copy of a/SKILL.md:2:7 | delete one of the two, unless clients that read different folders need both"},
	} {
		f := Duplicate(checked(t, c.text), Place{"a/SKILL.md", NamePosition([]byte(c.first))}, c.text == c.first)
		got := fmt.Sprintf("%s %s %s+%d %s | %s", f.Severity, f.Rule, f.Position, f.Length, f.Message, f.Fix)
		if diff := cmp.Diff(c.want, got); diff != "" || f.Related == nil || f.File != "SKILL.md" || f.Field != "name" {
			t.Errorf("%+v %s", f, diff)
		}
	}
	if r, known := RuleOf(ruleNameDuplicate); !known || r.Severity != skill.SeverityWarning {
		t.Errorf("%+v", r)
	}
}
