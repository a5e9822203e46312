package mcpserver_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/server/event"
	"github.com/knack-dev/knack/mcpserver"
	"github.com/knack-dev/knack/skill"
)

// stuck is a source that does not list its folders while stop is set.
type stuck struct {
	catalog.Source
	stop *atomic.Pointer[chan struct{}]
}

func (s stuck) Folders(func(string) bool) []skill.Folder {
	if stop := s.stop.Load(); stop != nil {
		<-*stop
	}
	return nil
}

// TestBusyIsNotMissing checks that events distinguish a lookup that took too long from a name that
// does not exist.
func TestBusyIsNotMissing(t *testing.T) {
	root := tree(t, map[string]string{"git/SKILL.md": skillMD("git", "Git.", "")})
	for _, era := range eras {
		synctest.Test(t, func(t *testing.T) {
			var stop atomic.Pointer[chan struct{}]
			c := catalog.New([]catalog.Source{stuck{folder(root), &stop}}, catalog.Options{Patience: 2 * time.Second})
			must(t, c.Refresh(t.Context()))
			var events eventLog
			client := connect(t, serve(t, c, func(o *mcpserver.Options) { o.Events, o.Audit = []mcpserver.Sink{&events}, true }), era, nil)
			ask := func(want event.Result) {
				t.Helper()
				<-time.After(time.Minute) // a lookup is due
				events.take()
				_, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "skill", Arguments: map[string]any{"name": "absent"}})
				must(t, err)
				_, _ = client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "skill://absent/SKILL.md"})
				synctest.Wait()
				all := events.take()
				for _, e := range all {
					if e.Result != want {
						t.Errorf("%s: %s is %q, want %q", era, e.Method, e.Result, want)
					}
				}
				if len(all) != 2 {
					t.Errorf("%s: %d events", era, len(all))
				}
			}
			ask(event.NotFound)
			wait := make(chan struct{})
			stop.Store(&wait)
			ask(event.Busy)
			stop.Store(nil)
			close(wait)
			ask(event.NotFound)
			must(t, client.Close())
		})
	}
}
