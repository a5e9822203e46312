//go:build unix

package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/knack-dev/knack/internal/test/testwait"
)

// record is a line of a transcript.
type record struct {
	Type, ID, Name, Text string
	IsError              bool
}

// TestChatKilled kills conversations at random moments. It checks that their common transcript has
// only complete lines, and that the next program removes the unfinished last line.
func TestChatKilled(t *testing.T) {
	t.Parallel()
	kills := 4
	if testwait.SecondLane() {
		kills = 20
	}
	dir := calculator(t)
	put(t, filepath.Join(dir, "calculator", "long.txt"), strings.Repeat("many words in a line\n", 20_000))
	n := 0
	url := newLoopback(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n++
		fmt.Fprintf(w, `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c%d","function":{"name":"read_file_in_skill","arguments":"{\"skill_name\":\"calculator\",\"file_path\":\"long.txt\",\"x%d\":1}"}}]},"finish_reason":"tool_calls"}]}`+"\n\ndata: [DONE]\n\n", n, n)
	}))
	file := filepath.Join(t.TempDir(), "t.jsonl")
	size := func() int64 {
		info, err := os.Stat(file)
		if err != nil {
			return 0
		}
		return info.Size()
	}
	args := []string{"chat", "--url", url, "--model", "m", "--tools", "runner", "--dir", dir, "--transcript", file, "--quiet", "--max-rounds"}
	for i := range kills {
		before := size()
		b := startBlocked(t, t.TempDir(), append(args, "10000", "go")...)
		testwait.Until(t, func() bool { return size() > before+int64(i%4)*200_000 }, "the transcript does not grow")
		if err := b.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_, _ = b.cmd.Process.Wait()
		checkLines(t, file, true)
	}
	if _, errs, code := talks(t, nowhere{}, nil, append(args[1:], "1", "go")...); code != 1 {
		t.Errorf("exit status %d: %s", code, errs)
	}
	checkLines(t, file, false)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// checkLines checks that each line of a transcript is a record. If torn is set, the last line may
// be unfinished.
func checkLines(t *testing.T, file string, torn bool) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		var r record
		if whole := bytes.HasSuffix(line, []byte("\n")); whole || !torn {
			if err := json.Unmarshal(line, &r); err != nil || r.Type == "" || !whole {
				t.Fatalf("%.80q: %v", line, err)
			}
		}
	}
}

// TestChatReplay checks that knack call gives the same answers to the calls of a transcript as the
// conversation got.
func TestChatReplay(t *testing.T) {
	t.Parallel()
	dir := calculator(t)
	for _, set := range []string{"runner", "default"} {
		s := startScripted(t, map[string]string{"runner": `call list_skills {}
call get_skill {"skill_name":"calculator"}
call get_skill {"skill_name":"nope"}
call read_file_in_skill {"skill_name":"calculator","file_path":"examples/basic.py"}
call read_file_in_skill {"file_path":7}
call run_script {"path":"x"}
say Done.
`, "default": `call find_skills {"query":"adds"}
call skill {"name":"engage"}
call skill {"name":"calculator"}
call skill {"x":1}
say Done.
`}[set])
		file := filepath.Join(t.TempDir(), "t.jsonl")
		out, _, code := talks(t, nowhere{}, nil, "--url", s.URL()+"/v1", "--model", "m", "--tools", set, "--dir", dir, "--transcript", file, "go")
		if out != "Done.\n" || code != 0 {
			t.Fatalf("%q, exit status %d", out, code)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var call []byte
		calls := 0
		for line := range bytes.Lines(data) {
			var r record
			if err := json.Unmarshal(line, &r); err != nil {
				t.Fatal(err)
			}
			if r.Type == "call" {
				call = line
			}
			if r.Type != "result" {
				continue
			}
			calls++
			answered, _, code := ranWith(t, dir, string(call), "call", "--format", "mcp", "--tools", set, "--dir", dir)
			var a struct {
				Content []struct{ Text string }
				IsError bool
			}
			if err := json.Unmarshal([]byte(answered), &a); err != nil || code != 0 || len(a.Content) != 1 || a.Content[0].Text != r.Text || a.IsError != r.IsError {
				t.Errorf("%s answers %s (exit status %d), want %+v", call, answered, code, r)
			}
		}
		if calls < 4 {
			t.Errorf("%d calls", calls)
		}
	}
}

// TestChatSignals checks that a signal ends a question while the model talks.
func TestChatSignals(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 2)
	url := newLoopback(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // otherwise the server does not notice the end
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hel\"}}]}\n\n")
		w.(http.Flusher).Flush()
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	for s, status := range map[os.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		dir := t.TempDir()
		file := filepath.Join(dir, "t.jsonl")
		b := startBlocked(t, dir, "chat", "--url", url, "--model", "m", "--transcript", file, "hi")
		<-asked
		if _, err := io.ReadFull(b.stdout, make([]byte, 3)); err != nil {
			t.Fatal(err)
		}
		if got := b.interrupted(t, s); got != status {
			t.Errorf("%v: exit status %d", s, got)
		}
		out, _ := io.ReadAll(b.stdout)
		errs, _ := io.ReadAll(b.stderr)
		if string(out) != "\n" || string(errs) != "error: interrupted\n" {
			t.Errorf("%v: %q, %q", s, out, errs)
		}
		checkLines(t, file, false)
		if data, _ := os.ReadFile(file); !strings.Contains(string(data), `"type":"assistant","text":"Hel (interrupted)"}`) || !strings.Contains(string(data), `"type":"end","text":"interrupted"}`) {
			t.Errorf("%v: the transcript is %s", s, data)
		}
	}
}
