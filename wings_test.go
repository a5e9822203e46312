package knack_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// wings lists the wings that a wing may import, besides itself and base. Only main imports cli,
// which may import all.
var wings = [][2]string{
	{"base", ""},
	{"clientconfig skill", ""},
	{"source catalog skillsext", "skill"},
	{"access tool", "skill catalog"},
	{"function", "tool"},
	{"distribution", "skill source skillsext"},
	{"analysis", "skill source catalog tool"},
	{"server", "skill catalog tool access"},
	{"mcpserver", "skill catalog tool access skillsext server"},
	{"llm", "skill catalog tool function skillsext"},
	{"web", "skill catalog tool access server distribution analysis clientconfig"},
	{"policy", "skill source catalog access distribution analysis"},
	{"workspace", "skill source catalog skillsext access tool distribution analysis server policy clientconfig"},
}

func TestWings(t *testing.T) {
	const mod = "github.com/knack-dev/knack/"
	wing := func(path string) string {
		w, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(path, mod), "internal/"), "/")
		return w
	}
	out, err := exec.Command("go", "list", "-f", `{{range .Imports}}{{$.ImportPath}} {{.}}{{"\n"}}{{end}}`, "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		from, to, _ := strings.Cut(strings.TrimSpace(line), " ")
		a, b := wing(from), wing(to)
		if !strings.HasPrefix(to, mod) || a == b || b == "base" && a != "base" {
			continue
		}
		row := slices.IndexFunc(wings, func(w [2]string) bool { return slices.Contains(strings.Fields(w[0]), a) })
		if row >= 0 && !slices.Contains(strings.Fields(wings[row][1]), b) || b == "cli" && a != "cmd" {
			t.Errorf("%s may not import %s: %s imports only base %s", from, to, a, wings[max(row, 0)][1])
		}
	}
}
