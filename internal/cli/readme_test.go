package cli_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli"
)

// The terminal session in the README shows the output on a new machine, and its test
// command is the command that .ci/run runs.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, session, _ := strings.Cut(string(readme), "```console\n")
	session, _, _ = strings.Cut(session, "```\n")
	outputs := map[string]string{}
	for part := range strings.SplitSeq(session, "$ ") {
		command, output, _ := strings.Cut(part, "\n")
		outputs[command] = output
	}

	env := console.Env{Stdout: new(locked), Stderr: new(locked), Getenv: func(string) string { return "" }, Dir: t.TempDir(), Home: t.TempDir()}
	if code := cli.Main(t.Context(), env, []string{"list"}); code != 0 {
		t.Fatalf("exit status %d: %s", code, env.Stderr)
	}
	if diff := cmp.Diff(env.Stdout.(*locked).String(), outputs["go run ./cmd/knack list"]); diff != "" {
		t.Errorf("knack list prints otherwise: %s", diff)
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
