package distcmd

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/internal/base/agents"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/distribution/install"
)

// TestOffer checks that add asks whether to put links into the folders of clients that do not see a
// new skill. It asks only a person at a terminal who gave no --client.
func TestOffer(t *testing.T) {
	for _, c := range []struct {
		name             string
		typed            string
		terminal, linked bool
		asks             bool
		args             []string
	}{
		{"yes", "y\n", true, true, true, nil},
		{"the whole word", " YES \n", true, true, true, nil},
		{"no", "n\n", true, false, true, nil},
		{"nothing", "\n", true, false, true, nil},
		{"the end of the input", "", true, false, true, nil},
		{"no terminal", "y\n", false, false, false, nil},
		{"JSON", "y\n", true, false, false, []string{"--json"}},
		{"a dry run", "y\n", true, false, false, []string{"--dry-run"}},
		{"told already", "y\n", true, false, false, []string{"--client", "windsurf"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newShell(t)
			_ = os.RemoveAll(filepath.Join(s.dir, "src", "xlsx"))
			var out, errs bytes.Buffer
			env := console.Env{Stdin: strings.NewReader(c.typed), Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }, Environ: os.Environ(),
				Dir: filepath.Join(s.dir, "p"), Home: filepath.Join(s.dir, "home"), StdinTerminal: c.terminal, StderrTerminal: c.terminal}
			root := &cobra.Command{Use: "knack", SilenceErrors: true, SilenceUsage: true}
			root.AddCommand(Commands(&env, Surroundings{
				Held: func(context.Context, *console.Env, string, string, []string) map[string]install.Hold { return nil },
				Clients: func(*console.Env, string) []Client {
					return []Client{{Agent: agents.Find("codex")}, {Agent: agents.Find("claude-code"), Connectable: true}, {Agent: agents.Find("windsurf"), Connected: true}}
				},
			})...)
			root.SetArgs(append([]string{"add", "../src"}, c.args...))
			if err := root.ExecuteContext(t.Context()); err != nil {
				t.Fatal(err, errs.String())
			}
			if asked := strings.Contains(errs.String(), "[y/N]"); asked != c.asks || asked != strings.Contains(errs.String(), "Claude Code will not see the installed skills: "+notBound) {
				t.Errorf("asked: %v\n%s", asked, errs.String())
			}
			_, err := os.Lstat(filepath.Join(s.dir, "p", ".claude", "skills", "pdf"))
			if linked := err == nil; linked != c.linked || linked != strings.Contains(out.String(), "added a link for Claude Code: ") {
				t.Errorf("linked: %v\n%s", linked, out.String())
			}
		})
	}
}
