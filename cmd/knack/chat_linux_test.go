package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/knack-dev/knack/internal/test/testwait"
)

// talkative is a model's endpoint that repeats the prompt, loads a skill, or never ends its answer.
func talkative(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Messages []struct{ Role, Content string }
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	send := func(delta map[string]any, stop string) {
		data, _ := json.Marshal(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": stop}}})
		fmt.Fprintf(w, "data: %s\n\n", data)
		w.(http.Flusher).Flush()
	}
	switch last := asked.Messages[len(asked.Messages)-1]; {
	case last.Role == "tool":
		send(map[string]any{"content": "Loaded."}, "stop")
	case last.Content == "load":
		send(map[string]any{"content": "I look."}, "")
		send(map[string]any{"tool_calls": []any{map[string]any{"index": 0, "id": "1", "function": map[string]any{"name": "skill", "arguments": `{"name":"\u001b[2Jgit"}`}}}}, "tool_calls")
	case last.Content == "slow":
		send(map[string]any{"content": "Hel"}, "")
		<-r.Context().Done()
	default:
		send(map[string]any{"content": fmt.Sprintf("\x1b[2JYou said: %q", last.Content)}, "stop")
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// escapes matches the escape sequences that the line editor sends, except those for colours.
var escapes = regexp.MustCompile(`\x1b\[(\?2004[hl]|[0-9]*[ABCDGKJ])`)

// TestChatAtTerminal checks a conversation at a terminal: keys for editing, a paste, dimmed tool
// calls, and Ctrl-C in a line, in an answer and at an empty line. The terminal must be in its first
// mode at the end.
func TestChatAtTerminal(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(talkative))
	defer server.Close()
	skills := tree(t, map[string]string{"git/SKILL.md": skillMD("git", "")})
	term := atTerminal(t, knack(t, os.Args[0], "chat", "--url", server.URL, "--model", "m", "--no-builtin", "--dir", skills))
	prompts := 0
	types := func(keys, reply string) { // types the keys at the next prompt
		t.Helper()
		prompts++
		testwait.Until(t, func() bool { return strings.Count(term.screen(), "You: ") >= prompts }, "a prompt in ", term.screen)
		seen := len(term.screen())
		_, err := term.keys.WriteString(keys)
		must(t, err)
		testwait.Until(t, func() bool { return strings.Contains(term.screen()[seen:], reply) }, reply, " in ", term.screen)
	}
	types("heo\x1b[Dll\r", `You said: "hello"`)
	types("\x1b[200~a\tb\r\nc\x1b[201~ d\r", `You said: "a\tb\nc d"`)
	types("load\r", "Loaded.")
	types("slow\r", "Hel")
	_, err := term.keys.WriteString("\x03")
	must(t, err)
	types("half a line\x03", "You: ")
	types("again\r", `You said: "again"`)
	types("\x03", "")
	if status := term.status(); status != 130 {
		t.Errorf("exit status %d", status)
	}
	after, err := unix.IoctlGetTermios(int(term.keys.Fd()), unix.TCGETS)
	must(t, err)
	if diff := cmp.Diff(term.mode, after); diff != "" {
		t.Errorf("the terminal is another one: %s", diff)
	}
	want := strings.NewReplacer("<", "\x1b[2m", ">", "\x1b[0m").Replace(`<m at HOST, with 1 skill; /help lists the commands, and exit leaves>
You: heololo
[2JYou said: "hello"
You: a␉b␤c d
[2JYou said: "a\tb\nc d"
You: load
I look.

<[Tool Call] skill(name="\u001b[2Jgit")>
<[Tool Result] Skill '\x1b[2Jgit' not found.>
<Available skills: git>
<find_skills searches all skills by topic, and lists them without a query.>

Loaded.
You: slow
Hel^C (interrupted)
You: half a line
You: again
[2JYou said: "again"
You: 
`)
	screen := strings.ReplaceAll(strings.ReplaceAll(escapes.ReplaceAllString(term.screen(), ""), "\r\n", "\n"), strings.TrimPrefix(server.URL, "http://"), "HOST")
	if diff := cmp.Diff(want, screen); diff != "" {
		t.Error(diff)
	}
}
