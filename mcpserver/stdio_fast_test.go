package mcpserver_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/knack-dev/knack/mcpserver"
)

// Who asks again and does not read is heard all the same: what it says next, and
// that it has nothing more to say. Who reads late gets every answer, whole and once.
func TestAnswersAgainToOneWhoDoesNotRead(t *testing.T) {
	files := fixtures()
	files["a-first/long.txt"] = strings.Repeat("long ", 40_000) // more than a pipe takes
	w := start(t, setting{files: files})
	grow(t, w)
	in, to, err := os.Pipe()
	must(t, err)
	from, out, err := os.Pipe()
	must(t, err)
	ended := make(chan error, 1)
	go func() {
		ended <- w.server.Run(context.Background(), &mcpserver.StdioTransport{In: in, Out: out, DrainTimeout: 500 * time.Millisecond})
		out.Close()
	}()
	say := func(lines string) {
		t.Helper()
		must(t, to.SetWriteDeadline(time.Now().Add(20*time.Second)))
		if _, err := io.WriteString(to, lines); err != nil {
			t.Fatal("the server does not read: ", err)
		}
	}
	defer from.Close() // not before
	answers := bufio.NewReader(from)
	next := func() (m message) {
		t.Helper()
		must(t, from.SetReadDeadline(time.Now().Add(20*time.Second)))
		line, err := answers.ReadBytes('\n')
		must(t, err)
		must(t, json.Unmarshal(line, &m))
		return m
	}
	call := func(id string) string {
		return `{"jsonrpc":"2.0","id":"` + id + `","method":"resources/read","params":{"uri":"skill://a-first/long.txt"}}` + "\n"
	}
	say(pipeHello)
	next()
	var first message
	for i := range 3 {
		say(call(fmt.Sprint("first-", i)))
		first = next()
	}
	if len(first.Result) < 200_000 || w.server.Recalled() == 0 {
		t.Fatalf("%d answers were given again: %.200s", w.server.Recalled(), first.Result)
	}

	say(call("a") + call("b") + call("c"))
	padding := `{"jsonrpc":"2.0","method":"notifications/none","params":{"pad":"` + strings.Repeat("x", 10_000) + `"}}` + "\n"
	for range 30 { // more than the pipe to the server takes
		say(padding)
	}
	say(`{"jsonrpc":"2.0","id":"ping","method":"ping"}` + "\n" + call("d"))
	got := map[string]string{}
	for range 5 {
		m := next()
		if _, twice := got[string(m.ID)]; twice {
			t.Errorf("%s is answered twice", m.ID)
		}
		got[string(m.ID)] = string(m.Result)
	}
	for _, id := range []string{"a", "b", "c", "d"} {
		if got[`"`+id+`"`] != string(first.Result) {
			t.Errorf("%s: %.200s", id, got[`"`+id+`"`])
		}
	}
	if got[`"ping"`] != "{}" {
		t.Errorf("the ping: %q", got[`"ping"`])
	}

	// Afterwards answers are given again.
	before := w.server.Recalled()
	for i := 0; w.server.Recalled() == before; i++ {
		if i == 100 {
			t.Fatal("nothing is given again any more")
		}
		say(call(fmt.Sprint("later-", i)))
		next()
	}

	say(call("e") + call("f"))
	to.Close()
	select {
	case err := <-ended:
		if !errors.Is(err, mcpserver.ErrUnanswered) {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("the end of the input was not seen")
	}
}

// What several calls share of their looks ends with the lines that were there: a
// folder that gave way to a link to where it lies now is noticed by the next ones,
// though the file has the stamp that it had.
func TestAnswersAgainShareNoOldLook(t *testing.T) {
	files := fixtures()
	files["a-first/moved/deep/in.md"] = "inside"
	w := start(t, setting{files: files})
	grow(t, w)
	in, to, err := os.Pipe()
	must(t, err)
	from, out, err := os.Pipe()
	must(t, err)
	ended := make(chan error, 1)
	go func() { ended <- w.server.Run(context.Background(), &mcpserver.StdioTransport{In: in, Out: out}) }()
	defer func() {
		to.Close()
		must(t, <-ended)
		out.Close()
		from.Close()
	}()
	answers := bufio.NewReader(from)
	say := func(lines string, n int) (got []message) {
		t.Helper()
		_, err := io.WriteString(to, lines)
		must(t, err)
		for range n {
			line, err := answers.ReadBytes('\n')
			must(t, err)
			var m message
			must(t, json.Unmarshal(line, &m))
			got = append(got, m)
		}
		return got
	}
	say(pipeHello, 1)
	n := 0
	three := func() (got []message) { // two files of one folder, and one of another
		t.Helper()
		var lines string
		for _, file := range []string{"a-first/moved/deep/in.md", "a-first/scripts/run.sh", "d-types/SKILL.md"} {
			n++
			lines += fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"resources/read","params":{"uri":"skill://%s"}}`+"\n", n, file)
		}
		return say(lines, 3)
	}
	again := func() uint64 {
		before := w.server.Recalled()
		three()
		return w.server.Recalled() - before
	}
	three()
	if got := again(); got != 3 {
		t.Fatalf("%d of 3 were given again", got)
	}
	at := func(name string) string { return filepath.Join(w.dir, "a-first", name) }
	must(t, os.Rename(at("moved"), at("lies-here")))
	must(t, os.Symlink("lies-here", at("moved")))
	// Of that way nothing is known any more; the other two files are where they were.
	if got := again(); got != 2 {
		t.Errorf("%d were given again after a folder became a link, not 2", got)
	}
	must(t, os.Remove(at("moved")))
	must(t, os.Symlink("no-where", at("moved")))
	for _, m := range three() {
		if bytes.Contains(m.Result, []byte("inside")) {
			t.Errorf("%s is given from where nothing is", m.Result)
		}
	}
}
