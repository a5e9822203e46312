package mcpserver_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/mcpserver"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
	"github.com/knack-dev/knack/tool"
)

// asker is a server that is asked in every way there is, in this process.
type asker struct {
	t       testing.TB
	server  *mcpserver.Server
	http    *mcpserver.HTTP
	session string // of the older era
	ended   string // one that has ended
	to      *os.File
	from    *bufio.Reader
	hears   *os.File
}

// The ways to ask.
const (
	wayModern = iota
	waySession
	wayEnded
	wayPipes
	allWays
)

func newAsker(t testing.TB, c *catalog.Catalog) *asker {
	tools, err := tool.ParseSets(tool.DefaultSet)
	must(t, err)
	a := &asker{t: t, server: mcpserver.New(mcpserver.Options{Catalog: c, Tools: tools, Version: "test", Remote: true})}
	a.http, err = mcpserver.NewHTTP(a.server, mcpserver.HTTPOptions{SessionTimeout: 24 * time.Hour})
	must(t, err)
	a.session, a.ended = a.begin(), a.begin()
	r := httptest.NewRequest(http.MethodDelete, "http://localhost/mcp", nil)
	r.Header.Set("Mcp-Session-Id", a.ended)
	w := httptest.NewRecorder()
	if a.http.ServeHTTP(w, r); w.Code >= 300 {
		t.Fatal(w.Code, w.Body)
	}
	in, to, err := os.Pipe()
	must(t, err)
	from, out, err := os.Pipe()
	must(t, err)
	a.to, a.hears, a.from = to, from, bufio.NewReader(from)
	over := make(chan error, 1)
	go func() { over <- a.server.Run(context.Background(), &mcpserver.StdioTransport{In: in, Out: out}) }()
	t.Cleanup(func() { to.Close(); must(t, <-over) })
	_, err = io.WriteString(to, pipeHello)
	must(t, err)
	_, err = a.from.ReadBytes('\n')
	must(t, err)
	return a
}

// begin begins a session over HTTP.
func (a *asker) begin() string {
	first, second, _ := strings.Cut(pipeHello, "\n")
	resp := a.post(legacy, "", []byte(first), "", "")
	id := resp.Header.Get("Mcp-Session-Id")
	if id == "" {
		a.t.Fatal(resp.Status)
	}
	a.post(legacy, id, []byte(second), "", "")
	return id
}

func (a *asker) post(era, session string, body []byte, method, name string) *http.Response {
	r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", bytes.NewReader(body))
	for k, v := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": era, "Mcp-Session-Id": session, "Mcp-Method": method, "Mcp-Name": name} {
		if v != "" {
			r.Header.Set(k, v)
		}
	}
	w := httptest.NewRecorder()
	a.http.ServeHTTP(w, r)
	return w.Result()
}

// ask asks, and returns the whole answer.
func (a *asker) ask(way int, body []byte, method, name string) string {
	switch way {
	case wayModern:
		return told(a.t, a.post(modern, "", body, method, name))
	case waySession:
		return told(a.t, a.post(legacy, a.session, body, "", ""))
	case wayEnded:
		return told(a.t, a.post(legacy, a.ended, body, "", ""))
	}
	if !answeredOnce(body) {
		return ""
	}
	must(a.t, a.hears.SetReadDeadline(time.Now().Add(time.Minute)))
	_, err := a.to.Write(append(bytes.Clone(body), '\n'))
	must(a.t, err)
	line, err := a.from.ReadBytes('\n')
	if err != nil {
		a.t.Fatalf("%q: %v", body, err)
	}
	return string(line)
}

// answeredOnce: over pipes nobody says that there will be no answer, so that what is
// sent there must be a call that has one, and only one.
func answeredOnce(body []byte) bool {
	var m map[string]json.RawMessage
	if !utf8.Valid(body) || bytes.ContainsAny(body, "\r\n") || json.Unmarshal(body, &m) != nil {
		return false
	}
	var method string
	for _, not := range []string{"result", "error"} {
		if _, is := m[not]; is {
			return false
		}
	}
	return len(m["id"]) > 0 && json.Unmarshal(m["method"], &method) == nil && slices.Contains([]string{"tools/call", "resources/read", "skills/get", "tools/list", "ping"}, method)
}

// FuzzAnswersAgain asks for anything several times, in several ways one after the
// other, while a folder is now one and now another: whatever the memory makes of it,
// the answer is that of a server which remembers nothing.
func FuzzAnswersAgain(f *testing.F) {
	root := f.TempDir()
	files := fixtures()
	files["z-swap/SKILL.md"] = skillText("z-swap", "Its folder is another one now and then.")
	files["z-swap/v/t.md"] = "one"
	files[".spare/v/t.md"] = "two"
	lay(f, root, files)
	c := catalog.New([]catalog.Source{dir.New(dir.Options{Root: skill.Root{Label: "dir-1", Scope: skill.ScopeProject, Dir: root, Shown: "skills"}})}, catalog.Options{})
	time.Sleep(skill.StampRacy + 100*time.Millisecond)
	must(f, c.Refresh(context.Background()))
	remembers, forgets := newAsker(f, c), newAsker(f, c)
	exchange := func(t *testing.T) {
		// The files in the folders keep their stamps.
		place, spare, third := filepath.Join(root, "z-swap/v"), filepath.Join(root, ".spare/v"), filepath.Join(root, ".spare/w")
		for _, move := range [][2]string{{place, third}, {spare, place}, {third, spare}} {
			must(t, os.Rename(move[0], move[1]))
		}
	}
	// All in one way, with a change on the way or none; and one after the other.
	plans := []uint16{0, 0o1111, 0o2222, 0o3333, 0o3210, 0o2121}
	for i, r := range append(requests(), []struct{ method, params string }{
		{"resources/read", `{"uri":"skill://z-swap/v/t.md"}`}, {"resources/read", `{"uri":"skill://z-swap/v/t.md"}`}, {"resources/read", `{"uri":"skill://z-swap/v/t.md"}`}, {"resources/read", `{"uri":"skill://z-swap/v/t.md"}`},
		{"tools/call", `{"name":"read_file_in_skill","arguments":{"skill_name":"z-swap","file_path":"v/t.md"}}`}, {"skills/get", `{"uri":"skill://z-swap/SKILL.md"}`},
	}...) {
		for _, plan := range []uint16{plans[i%len(plans)], plans[(i+1)%len(plans)]} {
			era := legacy
			if plan == 0 || plan == 0o3210 {
				era = modern
			}
			name := ""
			var p struct{ Name, URI string }
			if json.Unmarshal([]byte(r.params), &p) == nil {
				name = p.Name + p.URI
			}
			f.Add([]byte((&client{era: era}).bodyOf(strconv.Itoa(i), r.method, r.params)), r.method, name, plan, i%2 == 0 || strings.Contains(r.params, "z-swap"))
		}
	}
	asked := 0
	f.Fuzz(func(t *testing.T, body []byte, method, name string, plan uint16, change bool) {
		asked++
		if strings.ContainsAny(method+name, "\r\n\x00") {
			return // no header can hold that
		}
		remembers.t, forgets.t = t, t
		for i := range 5 {
			way := int(plan>>(3*i)) % allWays
			if i == 3 && change {
				exchange(t)
			}
			got := remembers.ask(way, body, method, name)
			forgets.server.Forget()
			if want := forgets.ask(way, body, method, name); got != want {
				t.Errorf("%q, %s %s, plan %o, step %d, change %t:\n got %s\nwant %s", body, method, name, plan, i, change, got, want)
			}
		}
	})
	if n := remembers.server.Recalled(); asked > 100 && int(n) < asked/2 && !f.Failed() {
		f.Errorf("of %d seeds, five times each, %d were answered again", asked, n)
	}
}
