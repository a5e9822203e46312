package distcmd

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/internal/base/console"
)

// TestRemoveAsks checks that remove asks a user at a terminal which of two skills to remove.
func TestRemoveAsks(t *testing.T) {
	for typed, gone := range map[string]string{"1\n": "p", "2\n": "home", "\n": "", "3\n": "", "": ""} {
		s := newShell(t)
		var errs bytes.Buffer
		run := func(args ...string) error {
			env := console.Env{Stdin: strings.NewReader(typed), Stdout: new(bytes.Buffer), Stderr: &errs, Getenv: func(string) string { return "" }, Environ: os.Environ(),
				Dir: filepath.Join(s.dir, "p"), Home: filepath.Join(s.dir, "home"), StdinTerminal: true, StderrTerminal: true}
			root := &cobra.Command{Use: "knack", SilenceErrors: true, SilenceUsage: true}
			root.AddCommand(Commands(&env, Surroundings{})...)
			root.SetArgs(args)
			return root.ExecuteContext(t.Context())
		}
		for _, args := range [][]string{{"add", "../src", "--skill", "pdf"}, {"add", "../src", "--skill", "pdf", "--global"}} {
			if err := run(args...); err != nil {
				t.Fatal(err)
			}
		}
		errs.Reset()
		err := run("remove", "pdf")
		if !strings.Contains(errs.String(), "  1  .agents/skills/pdf\n  2  ~/.agents/skills/pdf\n") || (err == nil) != (gone != "") {
			t.Errorf("%q: %v\n%s", typed, err, errs.String())
		}
		for _, at := range []string{"p", "home"} {
			if _, err := os.Stat(filepath.Join(s.dir, at, ".agents", "skills", "pdf")); (err != nil) != (at == gone) {
				t.Errorf("%q: %s: %v", typed, at, err)
			}
		}
	}
}
