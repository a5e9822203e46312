package mcpserver_test

//lint:file-ignore SA1019 roots are deprecated by the specification and spoken by the clients in use

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/mcpserver"
)

// TestRoots checks that the skills of the roots that a client names are in its first list. If the
// client names other roots, their skills replace the earlier ones.
func TestRoots(t *testing.T) {
	one := tree(t, map[string]string{"s/git/SKILL.md": skillMD("git", "Of one.", "")})
	two := tree(t, map[string]string{"s/git/SKILL.md": skillMD("git", "Of two.", ""), "s/tar/SKILL.md": skillMD("tar", "Of two.", "")})
	c := catalog.New([]catalog.Source{folder(tree(t, nil))}, catalog.Options{})
	go c.Run(t.Context())
	var asked atomic.Value
	s := serve(t, c, func(o *mcpserver.Options) {
		o.Roots = func(ctx context.Context, folders []string) {
			asked.Store(folders)
			var sources []catalog.Source
			for _, f := range folders {
				sources = append(sources, folder(filepath.Join(f, "s")))
			}
			c.SetSources(sources)
			_ = c.Refresh(ctx)
		}
	})
	s.WaitForRoots(30 * time.Second)
	changed := make(chan struct{}, 16)
	client := mcp.NewClient(&mcp.Implementation{Name: "test"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
	})
	client.AddRoots(&mcp.Root{URI: "file://" + filepath.ToSlash(one)}, &mcp.Root{URI: "https://example.com/x"}, &mcp.Root{URI: "file:relative"})
	session, err := client.Connect(t.Context(), pipes(t, s), &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	must(t, err)
	defer session.Close()

	description := func() string {
		res, err := session.ListTools(t.Context(), nil)
		must(t, err)
		return res.Tools[0].Description
	}
	if d := description(); !strings.Contains(d, "Of one.") || strings.Contains(d, "Of two.") {
		t.Errorf("the first list: %s", d)
	}
	if got := asked.Load().([]string); !slices.Equal(got, []string{one}) {
		t.Errorf("roots: %q", got)
	}
	await := func(what string, ok func(string) bool) {
		t.Helper()
		for timeout := time.After(30 * time.Second); !ok(description()); {
			select {
			case <-changed:
			case <-timeout:
				t.Fatalf("%s: %s", what, description())
			}
		}
	}
	client.RemoveRoots("file://" + filepath.ToSlash(one))
	client.AddRoots(&mcp.Root{URI: "file://localhost" + filepath.ToSlash(two)})
	await("switched", func(d string) bool { return strings.Contains(d, "<name>tar</name>") && !strings.Contains(d, "Of one.") })
	client.RemoveRoots("file://localhost" + filepath.ToSlash(two))
	await("none any more", func(d string) bool { return strings.Contains(d, "(none)") })
}

// TestRootsBeforeTheFirstCall checks that the first request of any method waits for the roots that
// the session offers. The instructions are sent earlier. They announce that more skills may come.
func TestRootsBeforeTheFirstCall(t *testing.T) {
	t.Parallel()
	project := tree(t, map[string]string{"s/git/SKILL.md": skillMD("git", "Of the project.", "the body")})
	for method, params := range map[string]string{
		"tools/call":                    `{"name":"skill","arguments":{"name":"git"}}`,
		"resources/read":                `{"uri":"skill://git/SKILL.md"}`,
		"prompts/get":                   `{"name":"git"}`,
		"skills/get":                    `{"uri":"skill://git/SKILL.md"}`,
		"tools/list":                    "",
		"resources/list":                "",
		"resources/subscribe":           `{"uri":"skill://git/SKILL.md"}`,
		"completion/complete":           `{"ref":{"type":"ref/resource","uri":"skill://{+path}"},"argument":{"name":"path","value":"gi"}}`,
		"io.modelcontextprotocol/never": "",
	} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			c := catalog.New([]catalog.Source{folder(tree(t, nil))}, catalog.Options{})
			must(t, c.Refresh(t.Context()))
			s := serve(t, c, func(o *mcpserver.Options) {
				o.Roots = func(ctx context.Context, folders []string) {
					c.SetSources([]catalog.Source{folder(filepath.Join(folders[0], "s"))})
					_ = c.Refresh(ctx)
				}
			})
			s.WaitForRoots(20 * time.Second)
			in, client := io.Pipe()
			out, server := io.Pipe()
			go func() {
				_ = s.Run(context.Background(), &mcpserver.StdioTransport{In: in, Out: server})
				server.Close()
			}()
			defer func() { client.Close(); _, _ = io.Copy(io.Discard, out) }()
			call := `{"jsonrpc":"2.0","id":2,"method":"` + method + `"}`
			if params != "" {
				call = call[:len(call)-1] + `,"params":` + params + "}"
			}
			go io.WriteString(client, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"x","version":"1"}}}`+"\n"+
				initialized+"\n"+call+"\n")
			for lines := bufio.NewScanner(out); lines.Scan(); {
				var m message
				must(t, json.Unmarshal(lines.Bytes(), &m))
				switch {
				case m.Method == "roots/list":
					time.Sleep(50 * time.Millisecond) // an answer that does not wait for the roots would come first
					go fmt.Fprintf(client, `{"jsonrpc":"2.0","id":%s,"result":{"roots":[{"uri":"file://%s"}]}}`+"\n", m.ID, filepath.ToSlash(project))
				case string(m.ID) == "1" && !strings.Contains(string(m.Result), "More skills may come from the application's folders."):
					t.Errorf("the instructions: %s", m.Result)
				case string(m.ID) == "2":
					if strings.Contains(method, "never") != (m.Error != nil) || m.Error == nil && method != "resources/subscribe" && !strings.Contains(string(m.Result), "git") {
						t.Errorf("%s %+v", m.Result, m.Error)
					}
					return
				}
			}
			t.Error("no answer")
		})
	}
}

// TestRootsAreAwaitedOnce checks that the server waits only once for a client that never sends its
// roots. It does not wait for a client of 2026-07-28, which it cannot ask.
func TestRootsAreAwaitedOnce(t *testing.T) {
	t.Parallel()
	for _, era := range eras {
		s := serve(t, scanned(t, folder(tree(t, nil))), func(o *mcpserver.Options) { o.Roots = func(context.Context, []string) {} })
		grace := map[string]time.Duration{legacy: time.Second, modern: 30 * time.Second}[era]
		s.WaitForRoots(grace)
		client := connect(t, s, era, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{RootsV2: &mcp.RootCapabilities{}}})
		begun := time.Now()
		for range 20 {
			_, err := client.ListTools(t.Context(), nil)
			must(t, err)
		}
		if took := time.Since(begun); took > 15*time.Second { // with a wait for each list it would be 20 s or more
			t.Errorf("%s: %v", era, took)
		}
	}
}

// TestNoRootsOverHTTP checks that the server ignores the roots of clients over HTTP, since all
// clients share one catalogue.
func TestNoRootsOverHTTP(t *testing.T) {
	t.Parallel()
	w := start(t, setting{roots: func(context.Context, []string) { t.Error("roots were taken in") }})
	w.server.WaitForRoots(30 * time.Second)
	c := &client{site: w, era: legacy}
	resp := c.post(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"test","version":"1"}}}`)
	c.session = resp.Header.Get("Mcp-Session-Id")
	if m := read(t, resp); strings.Contains(string(m.Result), "may join these") {
		t.Errorf("%s", m.Result)
	}
	c.post(initialized).Body.Close()
	begun := time.Now()
	c.result("tools/list", nil, nil)
	if took := time.Since(begun); took > 15*time.Second {
		t.Errorf("it waited %v", took)
	}
}
