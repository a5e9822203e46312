package clientconfig

import (
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the table of doc/connect.md")

// TestDoc checks that the table in doc/connect.md agrees with the code.
func TestDoc(t *testing.T) {
	at := filepath.Join("..", "..", "doc", "connect.md")
	data, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- clients -->\n", "<!-- /clients -->"
	head, rest, ok := strings.Cut(string(data), begin)
	table, tail, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no %s", at, begin)
	}
	lines := strings.SplitAfter(table, "\n")[:2] // the head of the table
	for _, c := range Clients() {
		lines = append(lines, clientRow(c))
	}
	want := head + begin + strings.Join(lines, "") + end + tail
	if want == string(data) {
		return
	}
	if !*update {
		t.Fatalf("the table is old: go test ./internal/clientconfig -run TestDoc -update\n%s", cmp.Diff(string(data), want))
	}
	if err := os.WriteFile(at, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

func clientRow(c Client) string {
	envs := map[string]Env{}
	for _, system := range []string{"linux", "darwin", "windows"} {
		envs[system] = Env{OS: system, Home: "~", Project: ".", AppData: "%APPDATA%"}
	}
	own := code(c.File(envs["linux"]))
	for _, at := range c.locations {
		if file := at.file(envs["linux"]); at.scope == User && file != c.File(envs["linux"]) {
			own += " or " + code(path.Base(file))
		}
	}
	if mac := c.File(envs["darwin"]); code(mac) != code(c.File(envs["linux"])) {
		own += ", macOS " + code(mac)
	}
	if windows := c.File(envs["windows"]); code(windows) != code(c.File(envs["linux"])) {
		own += ", Windows " + code(windows)
	}
	theirs := "–"
	for _, at := range c.locations {
		if at.scope == Project && (theirs == "–" || at.preferred) {
			theirs = code(at.file(envs["linux"]))
		}
	}
	tried, _, _ := strings.Cut(c.Tested, ":")
	if tried == "" {
		tried = "from its documentation"
	}
	return fmt.Sprintf("| %s | `knack connect %s --write` | %s | %s | %s |\n", c.Name, c.ID, own, theirs, tried)
}

func code(file string) string { return "`" + strings.TrimPrefix(file, "./") + "`" }
