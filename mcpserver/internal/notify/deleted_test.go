package notify

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/test/skilltest"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/skill"
)

// subjects knows each token as the subject of that name.
type subjects struct{}

func (subjects) Verify(_ context.Context, token string) (access.Subject, bool) {
	return access.Subject{Name: token}, true
}

// TestDeletedIsToldToSubscribers checks two sessions that subscribed to a file. One loses
// sight of it, by other rules or by a denied skill inside, then the skill is deleted. Only the
// session that could see it is notified.
func TestDeletedIsToldToSubscribers(t *testing.T) {
	t.Run("by other rules", func(t *testing.T) {
		testDeleted(t, access.NewPolicy(true, nil), func(_ *testing.T, n *Notifier, _ *skilltest.Memory) {
			n.SetAccess(access.State{Verifier: subjects{}, Policy: losing(t, "skill://claude-project/a/**")})
		})
	})
	t.Run("by a skill inside", func(t *testing.T) {
		testDeleted(t, losing(t, "skill://claude-project/a/inner"), func(t *testing.T, n *Notifier, root *skilltest.Memory) {
			root.Put("a/inner/SKILL.md", skilltest.Document("inner", "d"))
			if err := n.Catalog.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
	})
}

// losing returns a policy that denies the subject "loses" a pattern.
func losing(t *testing.T, pattern string) *access.Policy {
	t.Helper()
	p, err := access.ParsePattern(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return access.NewPolicy(true, []access.Rule{{Subjects: []string{"loses"}, Deny: []access.Pattern{p}}})
}

func testDeleted(t *testing.T, policy *access.Policy, hide func(*testing.T, *Notifier, *skilltest.Memory)) {
	synctest.Test(t, func(t *testing.T) {
		const text = "skill://claude-project/a/notes.txt"
		root := skilltest.Project(map[string]string{"a/SKILL.md": skilltest.Document("a", "d"), "a/notes.txt": "notes", "b/SKILL.md": skilltest.Document("b", "d")})
		c := skilltest.Catalog(t, root)
		sdk := mcp.NewServer(&mcp.Implementation{Name: "test"}, nil)
		open := access.State{Verifier: subjects{}, Policy: policy}
		n := &Notifier{Catalog: c, Access: access.NewGate(open), SDK: sdk, Files: New[*mcp.ServerSession](Options{
			Period: time.Hour, MaxFiles: 8, MaxOwn: 8, View: c.View, Changed: func(context.Context, string) {},
		})}
		c.Subscribe(func(catalog.Diff) { n.CheckFiles() })
		uri, err := skill.ParseURI(text)
		if err != nil {
			t.Fatal(err)
		}
		sessions := map[string]*mcp.ServerSession{}
		var clients []*mcp.ClientSession
		for _, name := range []string{"keeps", "loses"} {
			here, there := mcp.NewInMemoryTransports()
			if sessions[name], err = sdk.Connect(t.Context(), there, nil); err != nil {
				t.Fatal(err)
			}
			client, err := mcp.NewClient(&mcp.Implementation{Name: name}, nil).Connect(t.Context(), here, &mcp.ClientSessionOptions{ProtocolVersion: "2025-06-18"})
			if err != nil {
				t.Fatal(err)
			}
			clients = append(clients, client)
			who, _ := n.Access.Now().Authenticate(t.Context(), name)
			n.Subscribe(sessions[name], name, name, who)
			if _, err := n.Files.Add(sessions[name], name, skilltest.View(t, c), uri, text); err != nil {
				t.Fatal(err)
			}
		}
		told := func(name string) bool {
			return n.allows(t.Context(), sessions[name], resourceUpdated, &mcp.ServerRequest[*mcp.ResourceUpdatedNotificationParams]{
				Session: sessions[name], Params: &mcp.ResourceUpdatedNotificationParams{URI: text},
			})
		}
		expect := func(when string, want map[string]bool) {
			t.Helper()
			for name, want := range want {
				if got := told(name); got != want {
					t.Errorf("%s: %s is notified: %v, want %v", when, name, got, want)
				}
			}
		}
		expect("at first", map[string]bool{"keeps": true, "loses": true})
		hide(t, n, root)
		expect("out of sight", map[string]bool{"keeps": true, "loses": false})
		synctest.Wait() // for the checks of the files, which the deletion would race with
		delete(root.Files, "a/SKILL.md")
		delete(root.Files, "a/notes.txt")
		delete(root.Files, "a/inner/SKILL.md")
		if err := c.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		expect("deleted", map[string]bool{"keeps": true, "loses": false})
		for _, client := range clients {
			if err := client.Close(); err != nil {
				t.Error(err)
			}
		}
		testwait.Advance(2 * time.Hour) // the checks of the table end
	})
}
