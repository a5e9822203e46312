package mcpserver_test

//lint:file-ignore SA1019 roots are deprecated by the specification and spoken by the clients in use

import (
	"context"
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

// The roots that a client names are its project: their skills are in the first
// lists it gets, and another choice switches them.
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
	here, there := mcp.NewInMemoryTransports()
	_, err := s.MCP().Connect(t.Context(), there, nil)
	must(t, err)
	changed := make(chan struct{}, 16)
	client := mcp.NewClient(&mcp.Implementation{Name: "test"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
	})
	client.AddRoots(&mcp.Root{URI: "file://" + filepath.ToSlash(one)}, &mcp.Root{URI: "https://example.com/x"}, &mcp.Root{URI: "file:relative"})
	session, err := client.Connect(t.Context(), here, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	must(t, err)
	defer session.Close()

	listed := func() string {
		res, err := session.ListTools(t.Context(), nil)
		must(t, err)
		return res.Tools[0].Description
	}
	if d := listed(); !strings.Contains(d, "Of one.") || strings.Contains(d, "Of two.") {
		t.Errorf("the first list: %s", d)
	}
	if got := asked.Load().([]string); !slices.Equal(got, []string{one}) {
		t.Errorf("roots: %q", got)
	}
	await := func(what string, ok func(string) bool) {
		t.Helper()
		for timeout := time.After(10 * time.Second); !ok(listed()); {
			select {
			case <-changed:
			case <-timeout:
				t.Fatalf("%s: %s", what, listed())
			}
		}
	}
	client.RemoveRoots("file://" + filepath.ToSlash(one))
	client.AddRoots(&mcp.Root{URI: "file://localhost" + filepath.ToSlash(two)})
	await("switched", func(d string) bool { return strings.Contains(d, "<name>tar</name>") && !strings.Contains(d, "Of one.") })
	client.RemoveRoots("file://localhost" + filepath.ToSlash(two))
	await("none any more", func(d string) bool { return strings.Contains(d, "(none)") })
}
