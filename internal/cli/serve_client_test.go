package cli_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/cli"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// TestServeClientChanges checks that the list for a client follows the client's own skills: a new
// copy in its folder, a copy whose bytes change, and its settings.
func TestServeClientChanges(t *testing.T) {
	env := environment(t)
	const mine = "---\nname: mine\ndescription: Is mine alone.\n---\n"
	ours, theirs := filepath.Join(env.Dir, ".agent/skills/mine"), filepath.Join(env.Dir, ".claude/skills/mine")
	put(t, filepath.Join(ours, "SKILL.md"), mine)
	put(t, filepath.Join(env.Dir, ".claude/skills/other/SKILL.md"), "---\nname: other\ndescription: Is another one.\n---\n")
	in, client := io.Pipe()
	env.Stdin = in
	out := env.Stdout.(*locked)
	ended := make(chan int, 1)
	go func() { ended <- cli.Main(t.Context(), env, []string{"serve"}) }()
	io.WriteString(client, `{"jsonrpc":"2.0","id":"begin","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"claude-code","version":"9"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`)
	eventually(t, out, `"serverInfo"`)
	asked := 0
	list := func() (text string) {
		asked++
		fmt.Fprintf(client, `{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`+"\n", asked)
		testwait.Until(t, func() bool {
			for line := range strings.Lines(out.String()) {
				if strings.HasPrefix(line, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,`, asked)) && strings.HasSuffix(line, "\n") {
					text = line
				}
			}
			return text != ""
		}, "no list")
		return text
	}
	becomes := func(when string, has bool) {
		t.Helper()
		testwait.Until(t, func() bool { return strings.Contains(list(), "Is mine alone.") == has }, when)
	}
	becomes("only knack has it", true)
	before := strings.Count(out.String(), "notifications/tools/list_changed")
	put(t, filepath.Join(theirs, "SKILL.md"), mine)
	becomes("the client has a copy", false)
	testwait.Until(t, func() bool { return strings.Count(out.String(), "notifications/tools/list_changed") > before }, "no notification")
	put(t, filepath.Join(theirs, "more.txt"), "More.")
	becomes("its copy has other bytes", true)
	if err := os.Remove(filepath.Join(theirs, "more.txt")); err != nil {
		t.Fatal(err)
	}
	becomes("it is a copy again", false)
	put(t, filepath.Join(env.Home, ".claude/settings.json"), `{"skillOverrides": {"mine": "off"}}`)
	put(t, filepath.Join(ours, "..", "poke", "SKILL.md"), mine) // causes a refresh, and a read of the settings
	becomes("its settings turn it off", true)
	client.Close()
	if code := <-ended; code != 0 {
		t.Errorf("exit status %d: %s", code, env.Stderr)
	}
}
