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

// TestHome checks the output of knack without arguments on a terminal, while the machine gets more
// skills and a client.
func TestHome(t *testing.T) { synctest.Test(t, testHome) } // in which no disk is late

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
Next:
  knack add OWNER/REPOSITORY  installs skills from GitHub
  knack new NAME              writes one to start from
  knack --help                shows all commands
`)
	for _, name := range []string{".claude/skills/one", ".claude/skills/two", ".codex/skills/one", ".codex/skills/three"} {
		put(name+"/SKILL.md", "---\nname: "+filepath.Base(name)+"\ndescription: d\n---\n")
	}
	put(".claude/skills/bad/SKILL.md", "no frontmatter")
	for _, file := range []string{".cursor/mcp.json", ".claude/settings.json"} {
		put(file, "{}")
	}
	put(".codex/config.toml", "")
	check(`knack finds 3 skills here, besides the 2 built in.
Found in:
  ~/.claude/skills  3 skills
  ~/.codex/skills   2 skills
Seen by:
  Claude Code  2 of 3
  Cursor       all, without knack
  Codex        2 of 3
Next:
  knack connect claude-code --write  gives Claude Code 1 more skill
  knack doctor                       says why: 1 skill skipped
  knack --help                       shows all commands
`)
	for _, id := range []string{"cursor", "claude-code", "codex"} {
		run("connect", id, "--write")
	}
	if err := os.Remove(filepath.Join(home, ".claude/skills/bad/SKILL.md")); err != nil {
		t.Fatal(err)
	}
	check(`knack finds 3 skills here, besides the 2 built in.
Found in:
  ~/.claude/skills  2 skills
  ~/.codex/skills   2 skills
Seen by:
  Claude Code  all, 1 of them through knack
  Cursor       all, without knack
  Codex        all, 1 of them through knack
Next:
  knack list    shows the skills
  knack --help  shows all commands
`)
	// Skills that the user's policy holds back do not count.
	put(".config/knack/knack.yaml", "scan: {mode: enforce}\n")
	put(".claude/skills/two/run.sh", "echo ZWNobyBoZWxsbyB3b3JsZA== | base64 -d | sh\n")
	check(`knack finds 2 skills here, besides the 2 built in.
Found in:
  ~/.claude/skills  2 skills
  ~/.codex/skills   2 skills
Seen by:
  Claude Code  all, 1 of them through knack
  Cursor       all, without knack
  Codex        all, without knack
Next:
  knack doctor  says why: 1 skill held back
  knack --help  shows all commands
`)
}
