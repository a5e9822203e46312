package check

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/knack-dev/knack/skill"
)

// TestHostile checks that no hostile file keeps check busy for more than a minute.
func TestHostile(t *testing.T) {
	many := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for name, text := range map[string]string{
		"links":         with("", many(60_000, "[a](x%d.md)")),
		"brackets":      with("", strings.Repeat("[", 1_000_000)),
		"backticks":     with("", many(1000, "%d`"+strings.Repeat("``", 400))),
		"comments":      with("", strings.Repeat("<!--", 250_000)),
		"tags":          with("", strings.Repeat("\U000e0041 ", 200_000)),
		"faults":        "---\nname: git\ndescription: d\n" + many(18, "k%d: a: b\n") + many(1000, "j%d: 'x'\n") + "---\n",
		"many faults":   "---\nname: git\ndescription: d\n" + many(6000, "k%d: a: b\n") + "---\n",
		"nested":        "---\nname: git\ndescription: " + strings.Repeat("[", 15_000) + "\n---\n",
		"unclosed":      "---\n" + many(30_000, "k%d: a: b\n"),
		"one long line": with("", strings.Repeat("a b ", 250_000)),
		"blank lines":   with("", strings.Repeat("\n", 1_000_000)),
	} {
		begin := time.Now()
		r := checked(t, text, "a.md")
		if took := time.Since(begin); took > time.Minute {
			t.Errorf("%s: %v, %d findings", name, took, len(r.Findings))
		} else {
			t.Logf("%s: %v, %d findings, %d bytes", name, took, len(r.Findings), len(text))
		}
		if len(text) > skill.MaxSkillMD {
			t.Errorf("%s is over the limit and shows nothing", name)
		}
	}
}
