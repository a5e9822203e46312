package cli_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli"
)

// TestReadme checks that the terminal sessions in the README show the real output in a project with
// one skill. It also checks that the test command in the README is the one that .ci/run runs.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	outputs := map[string]string{}
	for _, session := range strings.Split(string(readme), "```console\n")[1:] {
		session, _, _ = strings.Cut(session, "```\n")
		for part := range strings.SplitSeq(session, "$ ") {
			command, output, _ := strings.Cut(part, "\n")
			outputs[command] = output
		}
	}
	_, seen, _ := strings.Cut(string(readme), "```xml\n")
	seen, _, _ = strings.Cut(seen, "```\n")

	env := console.Env{Getenv: func(string) string { return "" }, Dir: t.TempDir(), Home: t.TempDir()}
	put(t, filepath.Join(env.Dir, ".claude/skills/pdf/SKILL.md"), "---\nname: pdf\ndescription: Reads, fills and merges PDF files. Use it for any task about PDFs.\n---\n")
	runs := func(words string) string {
		env.Stdout, env.Stderr = new(locked), new(locked)
		if code := cli.Main(t.Context(), env, strings.Fields(words)); code != 0 {
			t.Fatalf("%s: exit status %d: %s", words, code, env.Stderr)
		}
		return env.Stdout.(*locked).String()
	}
	for _, words := range []string{"list", "connect gemini-cli --write"} {
		if diff := cmp.Diff(runs(words), outputs["knack "+words]); diff != "" {
			t.Errorf("knack %s prints otherwise: %s", words, diff)
		}
	}
	if text, err := json.Marshal(strings.TrimSuffix(seen, "\n")); err != nil || seen == "" || !strings.Contains(runs("tools"), strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(strings.Trim(string(text), `"`))) {
		t.Errorf("the model does not see %s", seen)
	}

	url, log := servingWith(t, []string{"serve", "--http", "0"})
	_, port, _ := strings.Cut(strings.TrimSuffix(url, "/mcp"), "127.0.0.1:")
	if diff := cmp.Diff(strings.ReplaceAll(log(), ":"+port, ":8080"), outputs["go run ./cmd/knack serve --http 8080"]); diff != "" {
		t.Errorf("knack serve prints otherwise: %s", diff)
	}

	cmd := exec.CommandContext(t.Context(), "go", "list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}", "./...")
	cmd.Dir = "../.."
	packages, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Fields(string(packages))
	lines := strings.Split(strings.TrimSpace(outputs["go test ./..."]), "\n")
	for i, line := range lines[:len(lines)-1] {
		if ok, rest, _ := strings.Cut(line, "\t"); ok != "ok  " || strings.Fields(rest)[0] != all[i] {
			t.Errorf("go test ./... begins with %s, not with %q", all[i], line)
		}
	}
	if len(lines) < 2 || lines[len(lines)-1] != "…" {
		t.Error("the README does not show how the output of go test ./... begins")
	}
	ci, err := os.ReadFile("../../.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(ci), "\n  step 'go test ./...'\n") {
		t.Error(".ci/run does not run the README's go test ./...")
	}
}
