//go:build unix

// Package contracttest calls the contracts' tools through every door, which is an interface for
// models, and compares whole answers. The doors are [tool.Tool.Call], an MCP session over its
// transport, and function calls in each format. Texts are compared byte for byte, and objects as
// parsed JSON.
package contracttest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/function"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/mcpserver"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
	"github.com/knack-dev/knack/tool"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// world is a set of folders with skills on disk, and the doors to the skills.
type world struct {
	t        testing.TB
	dirs     []string // the folders of the roots, for $DIR and $USER
	catalog  *catalog.Catalog
	own      *tool.Host          // the host of the calls that go through no server
	sessions map[string]*session // by the name of the set of tools
}

// newWorld writes the skills of a project, and of a user if there is a second map. The maps go from
// names to contents. A name that ends in "/" is a folder, and a content that begins with "->" is a
// link.
func newWorld(t testing.TB, files ...map[string]string) *world {
	t.Helper()
	made := &world{t: t}
	for i, f := range files {
		at, err := filepath.EvalSymlinks(t.TempDir())
		must(t, err)
		made.dirs = append(made.dirs, at)
		for name, text := range f {
			made.put(i, name, text)
		}
	}
	return newWorldAt(t, made.dirs...)
}

// newWorldAt makes a world with a new catalogue over existing folders.
func newWorldAt(t testing.TB, dirs ...string) *world {
	t.Helper()
	w := &world{t: t, dirs: dirs, sessions: map[string]*session{}}
	roots := []skill.Root{
		{Label: "claude-project", Scope: skill.ScopeProject, Shown: ".claude/skills", Prefix: "claude-project"},
		{Label: "claude-user", Scope: skill.ScopeGlobal, Shown: "~/.claude/skills", Prefix: "claude-user"},
	}
	var sources []catalog.Source
	for i, at := range dirs {
		roots[i].Dir = at
		sources = append(sources, dir.New(dir.Options{Root: roots[i], Required: true}))
	}
	w.catalog = catalog.New(sources, catalog.Options{})
	must(t, w.catalog.Refresh(context.Background()))
	return w
}

func (w *world) put(root int, name, text string) {
	w.t.Helper()
	at := filepath.Join(w.dirs[root], filepath.FromSlash(name))
	must(w.t, os.MkdirAll(filepath.Dir(at), 0o755))
	switch to, link := strings.CutPrefix(text, "->"); {
	case strings.HasSuffix(name, "/"):
		must(w.t, os.MkdirAll(at, 0o755))
	case link:
		must(w.t, os.Symlink(w.fill(to), at))
	default:
		must(w.t, os.WriteFile(at, []byte(text), 0o644))
	}
}

func (w *world) remove(root int, name string) {
	w.t.Helper()
	must(w.t, os.RemoveAll(filepath.Join(w.dirs[root], name)))
}

func (w *world) refresh() {
	w.t.Helper()
	must(w.t, w.catalog.Refresh(context.Background()))
}

// fill replaces $DIR and $USER with the paths of the folders.
func (w *world) fill(s string) string {
	s = strings.ReplaceAll(s, "$DIR", w.dirs[0])
	if len(w.dirs) > 1 {
		s = strings.ReplaceAll(s, "$USER", w.dirs[1])
	}
	return s
}

func (w *world) host() *tool.Host {
	if w.own == nil {
		w.own = tool.NewHost(w.catalog)
	}
	return w.own
}

func toolsOf(t testing.TB, set string) []*tool.Tool {
	t.Helper()
	tools, err := tool.ParseSets(set)
	must(t, err)
	return tools
}

// answer is a whole answer. object is JSON, or "" if the contract defines no object.
type answer struct {
	text, object string
	isError      bool
	meta         string
}

// ask calls a tool through every door and compares each whole answer with want.
func (w *world) ask(t *testing.T, set, name, args string, want answer) {
	t.Helper()
	want.text, want.object = w.fill(want.text), w.fill(want.object)
	if w.askTool(t, set, name, args, want); t.Failed() {
		return // the other doors would only repeat the failure
	}
	w.askMCP(t, set, name, args, want)
	w.askFunction(t, set, name, args, want)
}

func parsed(t *testing.T, data string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(data), &v); err != nil {
		t.Fatalf("%v: %.300s", err, data)
	}
	return v
}

func quote(s string) string { return string(display.AppendJSONString(nil, s)) }

func (w *world) askTool(t *testing.T, set, name, args string, want answer) {
	t.Helper()
	for _, tl := range toolsOf(t, set) {
		if tl.Name != name {
			continue
		}
		r, err := tl.Call(t.Context(), w.host(), json.RawMessage(args))
		must(t, err)
		got := answer{text: r.Text, isError: r.IsError}
		if r.Object != nil {
			data, err := json.Marshal(r.Object)
			must(t, err)
			got.object = string(data)
		}
		if r.Meta != nil {
			data, err := json.Marshal(r.Meta)
			must(t, err)
			got.meta = string(data)
		}
		compare(t, "tool", got.meta, want.meta)
		compare(t, "tool", got.text, want.text)
		if got.isError != want.isError {
			t.Errorf("tool: isError is %v", got.isError)
		}
		if (got.object == "") != (want.object == "") {
			t.Errorf("tool: the object is %.300s", got.object)
		} else if want.object != "" {
			if d := cmp.Diff(parsed(t, want.object), parsed(t, got.object)); d != "" {
				t.Errorf("tool: object -want +got:\n%s", short(d))
			}
		}
		return
	}
	t.Fatalf("the set %s has no tool %s", set, name)
}

func compare(t *testing.T, door, got, want string) {
	t.Helper()
	if got == want {
		return
	}
	if len(got)+len(want) > 1<<16 {
		t.Errorf("%s: %d characters, want %d; it begins %.200q, want %.200q", door, len(got), len(want), got, want)
		return
	}
	t.Errorf("%s: -want +got:\n%s", door, cmp.Diff(want, got))
}

func short(s string) string {
	if len(s) > 4096 {
		return s[:4096] + "…"
	}
	return s
}

// envelope returns the result of tools/call for an answer. explicit adds isError even if it is
// false.
func envelope(a answer, explicit bool) string {
	out := `{"content":[{"type":"text","text":` + quote(a.text) + `}]`
	if a.object != "" {
		out += `,"structuredContent":` + a.object
	}
	if a.isError || explicit {
		out += fmt.Sprintf(`,"isError":%v`, a.isError)
	}
	if a.meta != "" {
		out += `,"_meta":` + a.meta
	}
	return out + "}"
}

// explicit reports whether a tool sends isError: false. Only contract 004's get_skill does.
func explicit(set, name string) bool { return set == "uri" && name == "get_skill" }

func (w *world) askMCP(t *testing.T, set, name, args string, want answer) {
	t.Helper()
	line := w.session(set).request(t, "tools/call", `{"name":`+quote(name)+`,"arguments":`+or(args, "{}")+`}`)
	var m struct {
		Result json.RawMessage
		Error  json.RawMessage
	}
	must(t, json.Unmarshal([]byte(line), &m))
	if m.Error != nil {
		t.Errorf("MCP: %.300s", m.Error)
		return
	}
	if d := cmp.Diff(parsed(t, envelope(want, explicit(set, name))), parsed(t, string(m.Result))); d != "" {
		t.Errorf("MCP: -want +got:\n%s", short(d))
	}
	for _, escaped := range []string{`\u003c`, `\u003e`, `\u0026`} {
		if strings.Contains(line, escaped) && !strings.Contains(want.text, escaped) {
			t.Errorf("MCP: the answer has %s for a character of its own", escaped)
		}
	}
}

func or(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

func (w *world) askFunction(t *testing.T, set, name, args string, want answer) {
	t.Helper()
	args = or(args, "{}")
	response := "output"
	if want.isError {
		response = "error"
	}
	for _, f := range []struct {
		format   function.Format
		in, want string
	}{
		{function.OpenAI, `{"id":"call_xyz789","type":"function","function":{"name":` + quote(name) + `,"arguments":` + quote(args) + `}}`,
			`{"role":"tool","tool_call_id":"call_xyz789","name":` + quote(name) + `,"content":` + quote(want.text) + `}`},
		{function.Anthropic, `{"type":"tool_use","id":"toolu_1","name":` + quote(name) + `,"input":` + args + `}`,
			`{"type":"tool_result","tool_use_id":"toolu_1","content":` + quote(want.text) + fmt.Sprintf(`,"is_error":%v}`, want.isError)},
		{function.Gemini, `{"functionCall":{"name":` + quote(name) + `,"args":` + args + `}}`,
			`{"functionResponse":{"name":` + quote(name) + `,"response":{"` + response + `":` + quote(want.text) + `}}}`},
		{function.MCP, `{"name":` + quote(name) + `,"arguments":` + args + `}`, envelope(want, true)},
	} {
		got, err := function.Call(t.Context(), w.host(), toolsOf(t, set), f.format, []byte(f.in))
		if err != nil {
			t.Errorf("%s: %v", f.format, err)
			continue
		}
		if d := cmp.Diff(parsed(t, f.want), parsed(t, string(got))); d != "" {
			t.Errorf("%s: -want +got:\n%s", f.format, short(d))
		}
	}
}

// session is an MCP session over the stdio transport that exchanges lines of bytes.
type session struct {
	in     io.Writer
	out    *bufio.Reader
	server *mcpserver.Server
	id     int
}

func (w *world) session(set string) *session {
	if s := w.sessions[set]; s != nil {
		return s
	}
	in, client := io.Pipe()
	out, server := io.Pipe()
	s := &session{in: client, out: bufio.NewReaderSize(out, 1<<20)}
	s.server = mcpserver.New(mcpserver.Options{Catalog: w.catalog, Tools: toolsOf(w.t, set), Version: "v0"})
	ended := make(chan error, 1)
	go func() {
		ended <- s.server.Run(context.Background(), &mcpserver.StdioTransport{In: in, Out: server})
		server.Close()
	}()
	w.t.Cleanup(func() {
		client.Close()
		_, _ = io.Copy(io.Discard, s.out)
		<-ended
	})
	w.sessions[set] = s
	s.request(w.t, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`)
	_, err := io.WriteString(s.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	must(w.t, err)
	return s
}

// request sends a request and returns the line with the answer.
func (s *session) request(t testing.TB, method, params string) string {
	t.Helper()
	s.id++
	_, err := fmt.Fprintf(s.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", s.id, method, params)
	must(t, err)
	for {
		line, err := s.out.ReadString('\n')
		must(t, err)
		var m struct {
			ID     int
			Method string
		}
		must(t, json.Unmarshal([]byte(line), &m))
		if m.ID == s.id && m.Method == "" {
			return line
		}
	}
}
