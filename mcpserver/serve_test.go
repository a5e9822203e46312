package mcpserver_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/test/skilltest"
	"github.com/knack-dev/knack/mcpserver"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
	"github.com/knack-dev/knack/tool"
	"github.com/knack-dev/knack/tool/profile"
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
		at := filepath.Join(root, filepath.FromSlash(name))
		if strings.HasSuffix(name, "/") {
			must(t, os.MkdirAll(at, 0o755))
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(at), 0o755))
		must(t, os.WriteFile(at, []byte(text), 0o644))
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
		p.ask(t, strings.Replace(initializeWith, "$", version, 1))
		p.send(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
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

// slow is a source whose scan waits until open is closed.
type slow struct {
	catalog.Source
	open chan struct{}
}

func (s slow) Scan(ctx context.Context) (skill.Scan, error) {
	select {
	case <-s.open:
		return s.Source.Scan(ctx)
	case <-ctx.Done():
		return skill.Scan{}, ctx.Err()
	}
}

// TestInitializeBeforeScanEnds checks that the first answer waits for the disk no longer than a
// client waits for it, and says so if skills are still being read.
func TestInitializeBeforeScanEnds(t *testing.T) {
	for _, era := range eras {
		s := slow{folder(tree(t, map[string]string{"git/SKILL.md": skillMD("git", "Git.", "")})), make(chan struct{})}
		c := catalog.New([]catalog.Source{s}, catalog.Options{})
		go c.Run(t.Context())
		begun := time.Now()
		server := serve(t, c)
		server.WaitForSkills(50 * time.Millisecond)
		client := connect(t, server, era, nil)
		if took := time.Since(begun); took > 15*time.Second {
			t.Errorf("%s: it took %v", era, took)
		}
		want := "The skills of this server, instructions for particular tasks, are still being read. Before a task, see with `find_skills` which there are," +
			" and load the one that fits with this server's tool `skill`.\n\nIf the application has a tool of its own for skills, that one does not know these." +
			" `read_file_in_skill` reads the other files of a skill. `find_skills` searches all skills by topic."
		if got := client.InitializeResult().Instructions; got != want {
			t.Errorf("%s: %s", era, cmp.Diff(want, got))
		}
		// Lists wait, since an empty one would be wrong.
		listed := make(chan error, 1)
		go func() {
			res, err := client.ListTools(t.Context(), nil)
			if err == nil && !strings.Contains(res.Tools[0].Description, "<name>git</name>") {
				err = errors.New("git is not listed: " + res.Tools[0].Description)
			}
			listed <- err
		}()
		select {
		case err := <-listed:
			t.Fatalf("%s: listed before the scan: %v", era, err)
		case <-time.After(50 * time.Millisecond):
		}
		close(s.open)
		if err := <-listed; err != nil {
			t.Error(era, err)
		}
	}
}

func TestInstructions(t *testing.T) {
	c := scanned(t, folder(tree(t, map[string]string{
		"git/SKILL.md": skillMD("git", "Git.", ""), "tar/SKILL.md": skillMD("tar", "Tar.", ""),
		"lost/SKILL.md": "---\nname: lost\n---\n",
	})))
	want := "2 skills: git, tar. First load what fits, with this server's tool `skill`.\n\n" +
		"A skill is instructions for one kind of task. If the application has a tool of its own for skills, that one does not know these. `read_file_in_skill` reads the other files of a skill." +
		" `find_skills` searches all skills by topic.\n\nThe skills:\n- git: Git.\n- tar: Tar.\n\n1 skill was skipped: lost. `find_skills` says why."
	for _, era := range eras {
		client := connect(t, serve(t, c), era, nil)
		if diff := cmp.Diff(want, client.InitializeResult().Instructions); diff != "" {
			t.Error(era, diff)
		}
	}
}

// TestToolsList checks that a client gets the definitions that the tools make for it.
func TestToolsList(t *testing.T) {
	files := map[string]string{}
	for i := range 60 {
		name := fmt.Sprintf("skill-%02d", i)
		files[name+"/SKILL.md"] = skillMD(name, strings.Repeat("Describes it well. ", 10), "")
	}
	c := scanned(t, skilltest.Project(files))
	v, err := c.View(t.Context())
	must(t, err)
	for _, era := range eras {
		for _, set := range []string{"default", "universal"} {
			for _, name := range []string{"test", "claude-code"} { // claude-code shows more
				s := serve(t, c, func(o *mcpserver.Options) { o.Tools = tools(t, set) })
				client, err := mcp.NewClient(&mcp.Implementation{Name: name, Version: "2.1.330"}, nil).Connect(t.Context(), pipes(t, s), &mcp.ClientSessionOptions{ProtocolVersion: era})
				must(t, err)
				res, err := client.ListTools(t.Context(), nil)
				must(t, err)
				want := tools(t, set)
				if len(res.Tools) != len(want) {
					t.Fatalf("%d tools", len(res.Tools))
				}
				for i, got := range res.Tools {
					d := want[i].Define(v, profile.Client{Name: name, Version: "2.1.330"})
					if got.Name != d.Name || got.Title != d.Title || got.Description != d.Description {
						t.Errorf("%s, %s: %s", era, name, cmp.Diff(d.Description, got.Description))
					}
					if a := got.Annotations; !a.ReadOnlyHint || !a.IdempotentHint || *a.DestructiveHint || *a.OpenWorldHint {
						t.Errorf("annotations: %+v", a)
					}
				}
				client.Close()
			}
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

// panicking is a file system that can be scanned and panics when it is read.
type panicking struct{ fs.FS }

func (panicking) Open(string) (fs.File, error) { panic("CANARY") }

// broken is a source of skills whose files panic when they are opened, except SKILL.md.
type broken struct{ catalog.Source }

func (b broken) Scan(ctx context.Context) (skill.Scan, error) {
	scan, err := b.Source.Scan(ctx)
	scan.Bundles = slices.Clone(scan.Bundles)
	for i := range scan.Bundles {
		b := *scan.Bundles[i]
		b.FS, scan.Bundles[i] = onMain{b.FS}, &b
	}
	return scan, err
}

type onMain struct{ fs.FS }

func (f onMain) Open(name string) (fs.File, error) {
	if name != skill.MainFile {
		return panicking{}.Open(name)
	}
	return f.FS.Open(name)
}

// TestPanicIsAnError checks that a panic while a request is answered becomes an internal error of
// that request alone.
func TestPanicIsAnError(t *testing.T) {
	root := tree(t, map[string]string{"git/SKILL.md": skillMD("git", "Git.", ""), "git/x.txt": "x"})
	client := connect(t, serve(t, scanned(t, broken{folder(root)})), "2025-11-25", nil)
	for range 2 {
		_, err := client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "skill://git/x.txt"})
		if code(err) != jsonrpc.CodeInternalError || strings.Contains(err.Error(), "CANARY") {
			t.Errorf("resources/read: %v", err)
		}
		_, err = client.CallTool(t.Context(), &mcp.CallToolParams{
			Name: "read_file_in_skill", Arguments: map[string]any{"skill_name": "git", "file_path": "x.txt"}})
		if code(err) != jsonrpc.CodeInternalError || strings.Contains(err.Error(), "CANARY") {
			t.Errorf("tools/call: %v", err)
		}
	}
	if _, err := client.ListTools(t.Context(), nil); err != nil {
		t.Errorf("the session is over: %v", err)
	}
}
