package cli_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/cli"
)

// The terminal session at the top of the README is what a new machine shows.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, session, _ := strings.Cut(string(readme), "```console\n$ go run ./cmd/knack list\n")
	listed, tested, found := strings.Cut(session, "$ go test ./...\n")
	if !found {
		t.Fatal("the README begins with another session")
	}
	env := cli.Env{Stdout: new(locked), Stderr: new(locked), Getenv: func(string) string { return "" }, Dir: t.TempDir(), Home: t.TempDir()}
	if code := cli.Main(t.Context(), env, []string{"list"}); code != 0 {
		t.Fatalf("exit status %d: %s", code, env.Stderr)
	}
	if diff := cmp.Diff(listed, env.Stdout.(*locked).String()); diff != "" {
		t.Error(diff)
	}

	tested, _, _ = strings.Cut(tested, "```")
	cmd := exec.CommandContext(t.Context(), "go", "list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}", "./...")
	cmd.Dir = "../.."
	packages, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Fields(string(packages))
	lines := strings.Split(strings.TrimSpace(tested), "\n")
	for i, line := range lines[:len(lines)-1] {
		if ok, rest, _ := strings.Cut(line, "\t"); ok != "ok  " || strings.Fields(rest)[0] != all[i] {
			t.Errorf("go test ./... begins with %s, not with %q", all[i], line)
		}
	}
	if len(lines) < 2 || lines[len(lines)-1] != "…" {
		t.Error("the README shows no beginning of go test ./...")
	}
}
