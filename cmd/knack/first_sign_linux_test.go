package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/knack-dev/knack/internal/tools/genskills"
)

// longest is the time in which every command must show a first output.
const longest = 500 * time.Millisecond

// firstSigns lists the measured commands. input, if not empty, is the standard input of a command.
// A command with until is ended with Ctrl-C once the terminal shows that text.
var firstSigns = []struct{ command, until, input string }{
	{command: "knack"},
	{command: "knack version"},
	{command: "knack list"},
	{command: "knack list --all"},
	{command: "knack list --json"},
	{command: "knack doctor"},
	{command: "knack doctor NAME"},
	{command: "knack doctor no-such-skill"},
	{command: "knack search deploy"},
	{command: "knack show NAME"},
	{command: "knack check"},
	{command: "knack check --diff"},
	{command: "knack tools"},
	{command: "knack tools --prompt"},
	{command: "knack call --format mcp", input: `{"name":"load_skill","arguments":{"name":"NAME"}}`},
	{command: "knack connect"},
	{command: "knack connect claude-code"},
	{command: "knack config check"},
	{command: "knack new another-skill"},
	{command: "knack serve", until: "To end it: Ctrl-C."},
	{command: "knack serve --http 127.0.0.1:0", until: "knack serves MCP at"},
}

// TestFirstSign runs every command in a project with many skills, at a terminal of 80 columns, and
// records when each first shows an output. KNACK_FIRST_SIGN is the number of skills.
func TestFirstSign(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("KNACK_FIRST_SIGN"))
	if err != nil {
		t.Skip("KNACK_FIRST_SIGN is not set; make first-sign measures it")
	}
	project, program := t.TempDir(), filepath.Join(t.TempDir(), "knack")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	name := ""
	for i := range n {
		s := genskills.Options{Faults: 0.07, Seed: 1, MainOnly: true}.At(i)
		for _, f := range s.Files {
			at := filepath.Join(project, ".claude/skills", filepath.FromSlash(s.Path), filepath.FromSlash(f.Path))
			must(t, os.MkdirAll(filepath.Dir(at), 0o755))
			must(t, os.WriteFile(at, f.Data, 0o644))
			if _, after, ok := bytes.Cut(f.Data, []byte("\nname: ")); ok && name == "" {
				line, _, _ := bytes.Cut(after, []byte("\n"))
				name = string(line)
			}
		}
	}
	var table strings.Builder
	fmt.Fprintf(&table, "The first sign of life of every command with %d skills of one file each, at a terminal of 80 columns:\nseconds from its start to the first byte, and to its end (of serve, until it is ready).\n\n%-38s %6s %8s  %s\n", n, "command", "first", "end", "what it shows first")
	for _, c := range firstSigns {
		fill := strings.NewReplacer("NAME", name)
		cmd := knack(t, program, strings.Fields(fill.Replace(c.command))[1:]...)
		cmd.Dir = project
		if c.input != "" {
			cmd.Stdin = strings.NewReader(fill.Replace(c.input))
		}
		term := atTerminal(t, cmd)
		total := time.Duration(0)
		if c.until != "" {
			term.shows(t, c.until)
			total = time.Since(term.began)
			term.keys.WriteString("\x03")
		}
		if status := term.status(); status < 0 || status > 1 {
			t.Errorf("%s: exit status %d", c.command, status)
		}
		if total == 0 {
			total = time.Since(term.began)
		}
		what, _, _ := strings.Cut(strings.TrimLeft(term.screen(), "\r"), "\r")
		if term.first > longest {
			t.Errorf("%s: %v to the first sign", c.command, term.first)
		}
		fmt.Fprintf(&table, "%-38s %6.2f %8.1f  %s\n", c.command, term.first.Seconds(), total.Seconds(), cut(what))
		t.Logf("%-38s %6.2f %8.1f  %s", c.command, term.first.Seconds(), total.Seconds(), cut(what))
	}
	must(t, os.WriteFile(filepath.Join("..", "..", "doc", "first-sign.txt"), []byte(table.String()), 0o644))
}

// cut returns the beginning of a line, without colours.
func cut(line string) string {
	line = strings.NewReplacer("\x1b[1m", "", "\x1b[2m", "", "\x1b[0m", "", "\x1b[1;31m", "").Replace(line)
	if runes := []rune(line); len(runes) > 40 {
		line = string(runes[:39]) + "…"
	}
	return line
}
