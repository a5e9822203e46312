package mcpserver_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/mcpserver"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
	"github.com/knack-dev/knack/tool"
)

// Helpers of the tests over HTTP: a folder of skills, a server on a loopback address, and clients
// of both eras that do not use an SDK.

const (
	legacy = "2025-11-25"
	modern = "2026-07-28"
)

// site is a server under test.
type site struct {
	t        testing.TB
	dir      string
	catalog  *catalog.Catalog
	verifier access.Verifier
	policy   *access.Policy
	server   *mcpserver.Server
	http     *mcpserver.HTTP
	url      string // of MCP
	addr     string
	token    string
	header   http.Header // sent with every request
	stop     context.CancelFunc
	ended    chan error
}

// skillText returns the text of a SKILL.md.
func skillText(name, description string) string {
	return "---\nname: " + name + "\ndescription: " + description + "\n---\n\n# " + name + "\n"
}

// write writes a file below a folder, or makes a folder if the name ends with a slash.
func write(root, name, text string) error {
	p := filepath.Join(root, filepath.FromSlash(name))
	if strings.HasSuffix(name, "/") {
		return os.MkdirAll(p, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		return err
	}
	return os.WriteFile(p, []byte(text), 0o644)
}

// rewrite replaces a file below a folder in one step. No reader sees it empty or half-written,
// which would count as another change.
func rewrite(t testing.TB, root, name, text string) {
	t.Helper()
	beside := t.TempDir()
	put(t, beside, map[string]string{"new": text})
	must(t, os.Rename(filepath.Join(beside, "new"), filepath.Join(root, filepath.FromSlash(name))))
}

// fixtures returns the skills with which the Skills extension is tested. The first skill has
// folders, a nested skill and odd names.
func fixtures() map[string]string {
	return map[string]string{
		"a-first/SKILL.md":                   "---\nname: a-first\ndescription: Has all.\nlicense: MIT\nmetadata:\n  version: \"1.0\"\n---\n\n# First\n",
		"a-first/scripts/run.sh":             "#!/bin/sh\necho hi\n",
		"a-first/templates/deep/t.md":        "t",
		"a-first/empty/":                     "",
		"a-first/only-dots/.hidden":          "no",
		"a-first/empty-file.txt":             "",
		"a-first/crlf.txt":                   "a\r\nb\r\n",
		"a-first/data.bin":                   "\x00\x01\xff\xfe",
		"a-first/inner/SKILL.md":             skillText("inner", "Nested."),
		"a-first/inner/help.md":              "h",
		"a-first/odd name & [x] #1 100%.txt": "odd",
		"a-first/\u00fcn\u00ef \u2603.md":    "u",
		"a-first/a+b=c,d;e@f!g'(h)~.txt":     "q",
		"a-first/%41.txt":                    "p",
		"a-first/.env":                       "SECRET=canary",
		"a-first/.git/config":                "no",
		"b-crlf/SKILL.md":                    "---\r\nname: b-crlf\r\ndescription: CRLF.\r\n---\r\n\r\nBody\r\n",
		"c-bom/SKILL.md":                     "\ufeff---\nname: c-bom\ndescription: A mark.\n---\nBody\n",
		"d-types/SKILL.md":                   "---\nname: d-types\ndescription: Types.\ndate: 2026-01-02\noct: 012\nbin: 0b11\nund: 1_000\nfloat: 1.10\nzed: {b: 1, a: [1, null, true]}\n---\n",
		"e-folder/SKILL.md":                  skillText("other-name", "Another folder."),
		"f-bad/SKILL.md":                     skillText("Bad_Name", "Not published."),
		"g-meta/SKILL.md":                    "---\nname: g-meta\ndescription: Metadata.\nmetadata:\n  version: 1\n---\n",
		"h-hidden/SKILL.md":                  "---\nname: h-hidden\ndescription: Not for models.\ndisable-model-invocation: true\n---\n",
		"i-lower/skill.md":                   skillText("i-lower", "Another spelling."),
		"j-same/SKILL.md":                    skillText("other-name", "Its name is taken, its URI has the folder's."),
		"p+q/SKILL.md":                       skillText("p-q", "A plus in the folder's name."),
	}
}

// published are the fixtures' skills in skills/list, in order.
var published = []string{
	"skill://a-first/SKILL.md", "skill://a-first/inner/SKILL.md", "skill://b-crlf/SKILL.md", "skill://c-bom/SKILL.md",
	"skill://d-types/SKILL.md", "skill://h-hidden/SKILL.md", "skill://i-lower/SKILL.md", "skill://other-name/SKILL.md", "skill://p-q/SKILL.md",
}

// sinkFunc is a sink that calls a function.
type sinkFunc func(*mcpserver.Event)

func (f sinkFunc) Record(e *mcpserver.Event) { f(e) }

type setting struct {
	files    map[string]string // nil: the shared fixtures, which no test may change
	http     mcpserver.HTTPOptions
	log      io.Writer
	private  bool
	roots    func(context.Context, []string)
	gate     *gate  // if set, there is a skill slow with a file that opens when the gate does
	tools    string // the sets; empty is the default
	verifier access.Verifier
	policy   *access.Policy
	engage   func() string
	events   mcpserver.Sink
	audit    bool
	local    bool // the server is for the user of this machine
	room     *limit.Budget
}

// gate blocks the opening of a file.
type gate struct {
	open  chan struct{} // closed when the file can be opened
	begun chan struct{} // has a token for each attempt
}

func newGate() *gate { return &gate{make(chan struct{}), make(chan struct{}, 1000)} }

// slowFile returns the parameters for reading the file that the gate blocks.
func slowFile() map[string]any { return map[string]any{"uri": "skill://slow/wait.txt"} }

// gated is a source in which the gate blocks a file of the skill slow.
type gated struct {
	catalog.Source
	gate *gate
}

func (g gated) Scan(ctx context.Context) (skill.Scan, error) {
	scan, err := g.Source.Scan(ctx)
	scan.Bundles = slices.Clone(scan.Bundles) // the source keeps its own
	for i, b := range scan.Bundles {
		if b.Path == "slow" {
			b := *b
			b.FS = gatedFiles{b.FS, g.gate}
			scan.Bundles[i], scan.Skills = &b, nil
		}
	}
	return scan, err
}

type gatedFiles struct {
	fs.FS
	gate *gate
}

func (g gatedFiles) Open(name string) (fs.File, error) {
	if name == "wait.txt" {
		g.gate.begun <- struct{}{}
		<-g.gate.open
	}
	return g.FS.Open(name)
}

// start serves a folder on the loopback until the test ends.
func start(t testing.TB, s setting) *site {
	t.Helper()
	root, writable := shared, "/dev/null"
	if s.files != nil || s.gate != nil {
		root = t.TempDir()
		writable = root
		if s.files == nil {
			s.files = fixtures()
		}
		put(t, root, s.files)
	}
	if s.log == nil {
		s.log = io.Discard
	}
	log := slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	src := dir.New(dir.Options{Root: skill.Root{Label: "dir-1", Scope: skill.ScopeProject, Dir: root, Shown: "skills"}})
	source := catalog.Source(src)
	if s.gate != nil {
		put(t, root, map[string]string{"slow/SKILL.md": skillText("slow", "Has a slow file."), "slow/wait.txt": "done"})
		source = gated{src, s.gate}
	}
	c := catalog.New([]catalog.Source{source}, catalog.Options{Log: log})
	tools, err := tool.ParseSets(cmp.Or(s.tools, tool.DefaultSet))
	must(t, err)
	var sinks []mcpserver.Sink
	if s.events != nil {
		sinks = append(sinks, s.events)
	}
	server := mcpserver.New(mcpserver.Options{Catalog: c, Tools: tools, Version: "test", Remote: !s.local, Private: s.private, Roots: s.roots, Engage: s.engage, Events: sinks, Audit: s.audit, Log: log,
		Access: access.NewGate(access.State{Verifier: s.verifier, Policy: s.policy})})
	s.http.Log = log
	if s.room != nil {
		server.SetRoom(s.room)
	}
	h, err := mcpserver.NewHTTP(server, s.http)
	must(t, err)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	ctx, stop := context.WithCancel(context.Background())
	w := &site{t: t, verifier: s.verifier, policy: s.policy, dir: writable, catalog: c, server: server, http: h, addr: ln.Addr().String(), stop: stop, ended: make(chan error, 1)}
	w.url = "http://" + w.addr + "/mcp"
	go func() { _ = c.Run(ctx) }()
	go func() { w.ended <- h.Serve(ctx, ln, nil) }()
	t.Cleanup(func() {
		stop()
		select {
		case <-w.ended:
		case <-time.After(20 * time.Second):
			t.Error("the server did not end")
		}
	})
	return w
}

// restrict puts another policy in force.
func (w *site) restrict(p *access.Policy) {
	w.policy = p
	w.server.SetAccess(access.State{Verifier: w.verifier, Policy: p})
}

// message is a JSON-RPC message.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int64           `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

// code returns the code of the error, or 0 without an error.
func (m message) code() int64 {
	if m.Error == nil {
		return 0
	}
	return m.Error.Code
}

// client sends requests in the form of one era.
type client struct {
	*site
	era     string
	session string
	next    int
}

// dial returns a client of an era, with a session if the era has sessions.
func (w *site) dial(era string) *client {
	w.t.Helper()
	if era != legacy {
		return &client{site: w, era: era}
	}
	c := w.shake()
	c.post(initialized).Body.Close()
	return c
}

// shake begins a session with initialize, and does not send notifications/initialized.
func (w *site) shake() *client {
	w.t.Helper()
	c := &client{site: w, era: legacy}
	resp := c.post(initialize("1", legacy))
	if c.session = resp.Header.Get("Mcp-Session-Id"); c.session == "" {
		w.t.Fatalf("no session: %s", resp.Status)
	}
	read(w.t, resp)
	return c
}

// connect opens a connection.
func (w *site) connect() net.Conn {
	w.t.Helper()
	conn, err := net.Dial("tcp", w.addr)
	must(w.t, err)
	return conn
}

// request makes a request with the headers of the era.
func (c *client) request(method, body string) *http.Request {
	r, err := http.NewRequest(method, c.url, strings.NewReader(body))
	must(c.t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Mcp-Protocol-Version", c.era)
	if c.session != "" {
		r.Header.Set("Mcp-Session-Id", c.session)
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	maps.Copy(r.Header, c.header)
	if c.era >= modern {
		var m struct {
			Method string
			Params struct {
				Name string
				URI  string
			}
		}
		_ = json.Unmarshal([]byte(body), &m)
		r.Header.Set("Mcp-Method", m.Method)
		if name := m.Params.Name + m.Params.URI; name != "" && (m.Method == "tools/call" || m.Method == "prompts/get" || m.Method == "resources/read") {
			r.Header.Set("Mcp-Name", name)
		}
	}
	return r
}

// do sends a request and returns the response.
func do(t testing.TB, r *http.Request) *http.Response {
	t.Helper()
	resp, err := http.DefaultClient.Do(r)
	must(t, err)
	return resp
}

func (c *client) post(body string) *http.Response {
	c.t.Helper()
	return do(c.t, c.request(http.MethodPost, body))
}

// body returns the text of a call.
func (c *client) body(method string, params map[string]any) string {
	c.next++
	if params == nil {
		params = map[string]any{}
	}
	if c.era >= modern {
		params["_meta"] = map[string]any{
			"io.modelcontextprotocol/protocolVersion": c.era, "io.modelcontextprotocol/clientCapabilities": map[string]any{},
			"io.modelcontextprotocol/clientInfo": map[string]any{"name": "test", "version": "1"},
		}
	}
	b, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": c.next, "method": method, "params": params})
	must(c.t, err)
	return string(b)
}

// call sends a call and returns the answer.
func (c *client) call(method string, params map[string]any) message {
	c.t.Helper()
	return read(c.t, c.post(c.body(method, params)))
}

// result sends a call that must succeed, decodes its result and returns the result's members.
func (c *client) result(method string, params map[string]any, into any) map[string]json.RawMessage {
	c.t.Helper()
	m := c.call(method, params)
	if m.Error != nil {
		c.t.Fatalf("%s %s %v: %d %s", c.era, method, params, m.Error.Code, m.Error.Message)
	}
	if into != nil {
		if err := json.Unmarshal(m.Result, into); err != nil {
			c.t.Fatalf("%s: %s: %s", method, err, m.Result)
		}
	}
	var members map[string]json.RawMessage
	must(c.t, json.Unmarshal(m.Result, &members))
	return members
}

// read returns the only answer in a response, JSON or a stream of events.
func read(t testing.TB, resp *http.Response) message {
	t.Helper()
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	must(t, err)
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		for _, line := range bytes.Split(data, []byte("\n")) {
			if d, ok := bytes.CutPrefix(line, []byte("data: ")); ok && bytes.Contains(d, []byte(`"jsonrpc"`)) {
				data = d
			}
		}
	}
	var m message
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatalf("%s: %s: %.200q", resp.Status, err, data)
	}
	return m
}

// events reads a stream in the background, and returns a channel of its messages.
func events(resp *http.Response) <-chan message {
	out := make(chan message, 64)
	go func() {
		defer close(out)
		in := bufio.NewScanner(resp.Body)
		in.Buffer(nil, 1<<20)
		for in.Scan() {
			if d, ok := strings.CutPrefix(in.Text(), "data: "); ok && d != "" {
				var m message
				if json.Unmarshal([]byte(d), &m) == nil {
					out <- m
				}
			}
		}
	}()
	return out
}

// await returns the next message with a method. It fails the test if there is none.
func await(t *testing.T, from <-chan message, method string) message {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		select {
		case m, ok := <-from:
			if !ok {
				t.Fatalf("the stream ended before %s", method)
			}
			if m.Method == method {
				return m
			}
		case <-deadline:
			t.Fatalf("no %s", method)
		}
	}
}

func eachEra(t *testing.T, w *site, f func(t *testing.T, c *client)) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			at := *w
			at.t = t
			f(t, at.dial(era))
		})
	}
}

// many returns the files of n small skills.
func many(n int) map[string]string {
	files := make(map[string]string, n)
	for i := range n {
		name := fmt.Sprintf("s-%04d", i)
		files[name+"/SKILL.md"] = skillText(name, "Number "+name+".")
	}
	return files
}
