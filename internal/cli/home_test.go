package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli/command"
)

// TestHome runs knack alone on a terminal, on a machine that gets skills and a client.
func TestHome(t *testing.T) { synctest.Test(t, testHome) } // where no disk is late

func testHome(t *testing.T) {
	folder := t.TempDir()
	home, project := filepath.Join(folder, "home"), filepath.Join(folder, "project")
	put := func(file, text string) {
		t.Helper()
		file = filepath.Join(home, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) string {
		t.Helper()
		var out, errs strings.Builder
		env := console.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }, Dir: project, Home: home, StdoutTerminal: true}
		if code := Main(t.Context(), env, append([]string{}, args...)); code != command.Done {
			t.Fatalf("%q: exit status %d: %s", args, code, errs.String())
		}
		return out.String()
	}
	if err := os.MkdirAll(project, 0o755); err != nil {
		t.Fatal(err)
	}
	check := func(want string) {
		t.Helper()
		if diff := cmp.Diff(want, run()); diff != "" {
			t.Error(diff)
		}
	}
	check(`knack finds no skills here, besides the 2 built in.
  knack add SOURCE installs some, and knack new NAME writes one
  knack doctor     says where skills are looked for, and what became of each
  knack connect    connects a client; none was found here
  knack --help     shows all commands
`)
	for _, name := range []string{".claude/skills/one", ".claude/skills/two", ".codex/skills/one", ".codex/skills/three"} {
		put(name+"/SKILL.md", "---\nname: "+filepath.Base(name)+"\ndescription: d\n---\n")
	}
	put(".claude/skills/bad/SKILL.md", "no frontmatter")
	for _, file := range []string{".cursor/mcp.json", ".claude/settings.json"} {
		put(file, "{}")
	}
	put(".codex/config.toml", "")
	check(`knack finds 3 skills in 2 roots here, besides the 2 built in.
  knack list       shows them
  knack doctor     says why: 1 skill skipped
  knack connect    connects Claude Code, Cursor, Codex
  knack --help     shows all commands
`)
	for _, id := range []string{"cursor", "claude-code", "codex"} {
		run("connect", id, "--write")
	}
	if err := os.Remove(filepath.Join(home, ".claude/skills/bad/SKILL.md")); err != nil {
		t.Fatal(err)
	}
	check(`knack finds 3 skills in 2 roots here, besides the 2 built in.
  knack list       shows them
  knack doctor     says where skills are looked for, and what became of each
  knack connect    lists the clients; connected: Claude Code, Cursor, Codex
  knack --help     shows all commands
`)
	// A skill that the user's policy holds back is no skill that there is.
	put(".config/knack/knack.yaml", "scan: {mode: enforce}\n")
	put(".claude/skills/two/run.sh", "echo ZWNobyBoZWxsbyB3b3JsZA== | base64 -d | sh\n")
	check(`knack finds 2 skills in 2 roots here, besides the 2 built in.
  knack list       shows them
  knack doctor     says why: 1 skill held back
  knack connect    lists the clients; connected: Claude Code, Cursor, Codex
  knack --help     shows all commands
`)
}
