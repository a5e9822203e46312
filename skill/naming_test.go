package skill

import (
	"regexp"
	"strings"
	"testing"

	"github.com/knack-dev/knack/skill/frontmatter"
)

var valid = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

func TestSuggest(t *testing.T) {
	for in, want := range map[string]string{
		"größe": "grosse", "GRÖSSE": "grosse", "Crème brûlée": "creme-brulee", "Ærø & Łódź": "aero-lodz", "İstanbul": "istanbul", "ﬁle": "file",
		"数学": "my-skill", "数学 helper 2": "helper-2", "δelta force": "force", "CI/CD Pipeline": "ci-cd-pipeline", "--help": "help", "..": "my-skill", "": "my-skill",
		"kradleverse:act": "kradleverse-act", "a__b": "a-b", "Con": "con-skill", "con 1": "con-1", strings.Repeat("a", 63) + " b": strings.Repeat("a", 63), strings.Repeat("é", 70): strings.Repeat("e", 64),
	} {
		got := Suggest(in)
		if got != want || !valid.MatchString(got) || len(got) > MaxName {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestLine checks that a name is quoted if any YAML reader would read it as another type.
func TestLine(t *testing.T) {
	for name, want := range map[string]string{
		"git": "name: git", "a1": "name: a1", "3d-print": "name: 3d-print", "nullable": "name: nullable", "on-call": "name: on-call",
		"null": "name: 'null'", "true": "name: 'true'", "yes": "name: 'yes'", "off": "name: 'off'", "n": "name: 'n'", "123": "name: '123'",
		"0": "name: '0'", "0x10": "name: '0x10'", "0o7": "name: '0o7'", "1e5": "name: '1e5'", "2024-01-01": "name: '2024-01-01'",
	} {
		if got := Line(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		if f, _ := frontmatter.Parse([]byte("---\n" + Line(name) + "\n---\n")).Field("name"); f.Value.Kind != frontmatter.String || f.Value.Text != name {
			t.Errorf("%s is read as %+v", name, f.Value)
		}
	}
}
