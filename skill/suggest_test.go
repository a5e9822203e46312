package skill

import (
	"strings"
	"testing"
)

func TestSuggestName(t *testing.T) {
	for in, want := range map[string]string{
		"größe": "grosse", "GRÖSSE": "grosse", "Crème brûlée": "creme-brulee", "Ærø & Łódź": "aero-lodz", "İstanbul": "istanbul", "ﬁle": "file",
		"数学": "my-skill", "数学 helper 2": "helper-2", "δelta force": "force", "CI/CD Pipeline": "ci-cd-pipeline", "--help": "help", "..": "my-skill", "": "my-skill",
		"kradleverse:act": "kradleverse-act", "a__b": "a-b", strings.Repeat("a", 63) + " b": strings.Repeat("a", 63), strings.Repeat("é", 70): strings.Repeat("e", 64),
	} {
		got := SuggestName(in)
		if got != want || !ValidName(got) {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
