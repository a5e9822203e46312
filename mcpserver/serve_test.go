package mcpserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/mcpserver"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
	"github.com/knack-dev/knack/tool"
)

// eras are the protocol versions that behave differently.
var eras = []string{"2025-11-25", "2026-07-28"}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// put writes files below root. A name that ends in "/" makes a folder.
func put(t testing.TB, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		must(t, write(root, name, text))
	}
}

func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	put(t, root, files)
	return root
}

func skillMD(name, description, body string) string {
	return "---\nname: " + name + "\ndescription: " + description + "\n---\n" + body
}

// folder returns a source that reads a folder on disk, and names it "skills".
func folder(root string) catalog.Source {
	return dir.New(dir.Options{Root: skill.Root{Label: "dir-1", Scope: skill.ScopeProject, Dir: root, Shown: "skills"}, Required: true})
}

func tools(t testing.TB, sets string) []*tool.Tool {
	t.Helper()
	all, err := tool.ParseSets(sets)
	must(t, err)
	return all
}

// serve makes a server for a catalogue.
func serve(t testing.TB, c *catalog.Catalog, change ...func(*mcpserver.Options)) *mcpserver.Server {
	t.Helper()
	o := mcpserver.Options{Catalog: c, Tools: tools(t, "default"), Version: "v1.2.3"}
	for _, f := range change {
		f(&o)
	}
	return mcpserver.New(o)
}

func scanned(t testing.TB, sources ...catalog.Source) *catalog.Catalog {
	t.Helper()
	c := catalog.New(sources, catalog.Options{})
	must(t, c.Refresh(t.Context()))
	return c
}

// pipes serves one session over pipes, and returns the client's end of it.
func pipes(t testing.TB, s *mcpserver.Server) mcp.Transport {
	t.Helper()
	in, client := io.Pipe()
	out, server := io.Pipe()
	go func() {
		server.CloseWithError(orEOF(s.Run(context.WithoutCancel(t.Context()), &mcpserver.StdioTransport{In: in, Out: server})))
	}()
	t.Cleanup(func() { client.Close(); out.Close() })
	return &mcp.IOTransport{Reader: out, Writer: client}
}

func orEOF(err error) error {
	if err != nil {
		return err
	}
	return io.EOF
}

// initialize returns the call that begins a session.
func initialize(id, version string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"initialize","params":{"protocolVersion":"` + version + `","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
}

const initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`

// lines is a session over pipes in which the test writes each line itself.
type lines struct {
	to      io.WriteCloser
	answers *bufio.Reader
}

// talk begins a session. If the version is empty, there is no handshake.
func talk(t testing.TB, s *mcpserver.Server, version string) *lines {
	t.Helper()
	over := pipes(t, s).(*mcp.IOTransport)
	p := &lines{over.Writer, bufio.NewReader(over.Reader)}
	if version != "" {
		p.ask(t, initialize("1", version))
		p.send(t, initialized)
	}
	return p
}

func (p *lines) send(t testing.TB, line string) {
	t.Helper()
	_, err := io.WriteString(p.to, line+"\n")
	must(t, err)
}

// ask sends a call and returns its answer.
func (p *lines) ask(t testing.TB, line string) string {
	t.Helper()
	p.send(t, line)
	answer, err := p.answers.ReadString('\n')
	must(t, err)
	return answer
}

// call is like ask, but skips notifications and decodes the answer.
func (p *lines) call(t testing.TB, line string) (m message) {
	t.Helper()
	p.send(t, line)
	for m.ID == nil {
		answer, err := p.answers.ReadBytes('\n')
		must(t, err)
		must(t, json.Unmarshal(answer, &m))
	}
	return m
}

// end sends the last lines, closes the input and returns the answers, sorted by text.
func (p *lines) end(t testing.TB, lines ...string) string {
	t.Helper()
	go func() {
		_, _ = io.WriteString(p.to, strings.Join(lines, "\n")+"\n")
		p.to.Close()
	}()
	all, err := io.ReadAll(p.answers)
	must(t, err)
	said := strings.SplitAfter(string(all), "\n")
	slices.Sort(said)
	return strings.Join(said, "")
}

// connect opens a session over pipes.
func connect(t testing.TB, s *mcpserver.Server, era string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
	session, err := client.Connect(t.Context(), pipes(t, s), &mcp.ClientSessionOptions{ProtocolVersion: era})
	must(t, err)
	t.Cleanup(func() { session.Close() })
	return session
}

// code returns the JSON-RPC code of an error, or 0.
func code(err error) int64 {
	var wire *jsonrpc.Error
	if errors.As(err, &wire) {
		return wire.Code
	}
	return 0
}

// TestInitializeBeforeScanEnds checks that the first answer waits for the disk no longer than a
// client waits for it, and says so if skills are still being read.
func TestInitializeBeforeScanEnds(t *testing.T) {
	for _, era := range eras {
		s := silent{folder(tree(t, map[string]string{"git/SKILL.md": skillMD("git", "Git.", "")})), "dir-1", make(chan struct{})}
		c := catalog.New([]catalog.Source{s}, catalog.Options{})
		go c.Run(t.Context())
		begun := time.Now()
		server := serve(t, c)
		server.WaitForSkills(50 * time.Millisecond)
		client := connect(t, server, era, nil)
		if took := time.Since(begun); took > 15*time.Second {
			t.Errorf("%s: it took %v", era, took)
		}
		if got := client.InitializeResult().Instructions; !strings.HasPrefix(got, "The skills of this server, instructions for particular tasks, are still being read.") {
			t.Errorf("%s: %s", era, got)
		}
		// Lists wait, since an empty one would be wrong.
		done := make(chan error, 1)
		go func() {
			res, err := client.ListTools(t.Context(), nil)
			if err == nil && !strings.Contains(res.Tools[0].Description, "<name>git</name>") {
				err = errors.New("git is not listed: " + res.Tools[0].Description)
			}
			done <- err
		}()
		select {
		case err := <-done:
			t.Fatalf("%s: listed before the scan: %v", era, err)
		case <-time.After(50 * time.Millisecond):
		}
		close(s.answers)
		if err := <-done; err != nil {
			t.Error(era, err)
		}
	}
}

// TestNoWaitWithoutRoots checks that calls of clients without roots do not wait.
func TestNoWaitWithoutRoots(t *testing.T) {
	c := scanned(t, folder(tree(t, nil)))
	for _, era := range eras {
		s := serve(t, c, func(o *mcpserver.Options) {
			o.Roots = func(context.Context, []string) { t.Error("no roots were offered") }
		})
		s.WaitForRoots(30 * time.Second)
		client := connect(t, s, era, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
		begun := time.Now()
		for range 3 {
			_, err := client.ListTools(t.Context(), nil)
			must(t, err)
			_, err = client.ListResources(t.Context(), nil)
			must(t, err)
		}
		if took := time.Since(begun); took > 15*time.Second {
			t.Errorf("%s: six lists took %v", era, took)
		}
	}
}

// TestPanicIsAnError checks that a panic while a request is answered becomes an internal error of
// that request alone.
func TestPanicIsAnError(t *testing.T) {
	root := tree(t, map[string]string{"git/SKILL.md": skillMD("git", "Git.", ""), "git/data.txt": "x"})
	var open atomic.Pointer[func() error]
	client := connect(t, serve(t, scanned(t, faulty{folder(root), &open})), "2025-11-25", nil)
	panics := func() error { panic("CANARY") }
	open.Store(&panics)
	for range 2 {
		_, err := client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "skill://git/data.txt"})
		if code(err) != jsonrpc.CodeInternalError || strings.Contains(err.Error(), "CANARY") {
			t.Errorf("resources/read: %v", err)
		}
		_, err = client.CallTool(t.Context(), &mcp.CallToolParams{
			Name: "read_file_in_skill", Arguments: map[string]any{"skill_name": "git", "file_path": "data.txt"}})
		if code(err) != jsonrpc.CodeInternalError || strings.Contains(err.Error(), "CANARY") {
			t.Errorf("tools/call: %v", err)
		}
	}
	if _, err := client.ListTools(t.Context(), nil); err != nil {
		t.Errorf("the session is over: %v", err)
	}
}
