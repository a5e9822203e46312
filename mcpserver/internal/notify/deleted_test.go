package notify

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/test/skilltest"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/skill"
)

// subjects is a verifier that accepts each token as the name of its subject.
type subjects struct{}

func (subjects) Verify(_ context.Context, token string) (access.Subject, bool) {
	return access.Subject{Name: token}, true
}

// TestDeletedIsToldToSubscribers checks two sessions that subscribed to a file. One of them may no
// longer see it, because of other rules or of a denied skill inside. Then the skill is deleted, and
// only the session that could still see the file is notified.
func TestDeletedIsToldToSubscribers(t *testing.T) {
	t.Run("by other rules", func(t *testing.T) {
		testDeleted(t, access.NewPolicy(true, nil), func(_ *testing.T, n *Notifier, _ *skilltest.Memory) {
			n.SetAccess(access.State{Verifier: subjects{}, Policy: losing(t, "skill://claude-project/a/**")})
		})
	})
	t.Run("by a skill inside", func(t *testing.T) {
		testDeleted(t, losing(t, "skill://claude-project/a/inner"), func(t *testing.T, n *Notifier, root *skilltest.Memory) {
			root.Put("a/inner/SKILL.md", skilltest.Document("inner", "d"))
			must(t, n.Catalog.Refresh(t.Context()))
		})
	})
}

// losing returns a policy that denies the subject "loses" a pattern.
func losing(t *testing.T, pattern string) *access.Policy {
	t.Helper()
	p, err := access.ParsePattern(pattern)
	must(t, err)
	return access.NewPolicy(true, []access.Rule{{Subjects: []string{"loses"}, Deny: []access.Pattern{p}}})
}

func testDeleted(t *testing.T, policy *access.Policy, hide func(*testing.T, *Notifier, *skilltest.Memory)) {
	synctest.Test(t, func(t *testing.T) {
		const text = "skill://claude-project/a/notes.txt"
		root := skilltest.Project(map[string]string{"a/SKILL.md": skilltest.Document("a", "d"), "a/notes.txt": "notes", "b/SKILL.md": skilltest.Document("b", "d")})
		c := skilltest.Catalog(t, root)
		open := access.State{Verifier: subjects{}, Policy: policy}
		n := &Notifier{Catalog: c, Access: access.NewGate(open)}
		n.Files = New(Options[*Listener]{Period: time.Hour, MaxFiles: 8, MaxOwn: 8, View: c.View, Changed: n.FileChanged})
		c.Subscribe(func(catalog.Diff) { n.CheckFiles() })
		uri, err := skill.ParseURI(text)
		must(t, err)
		heard := map[string]int{}
		var listeners []*Listener
		for _, name := range []string{"keeps", "loses"} {
			l := &Listener{Token: name, Share: name, Send: func(message []byte) {
				if string(message) != `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"`+text+`"}}` {
					t.Errorf("%s", message)
				}
				heard[name]++
			}}
			listeners = append(listeners, l)
			who, _ := n.Access.Now().Authenticate(t.Context(), name)
			n.Subscribe(l, who)
			must(t, n.Files.Add(t.Context(), l, name, skilltest.View(t, c), uri, text))
		}
		expect := func(when string, want map[string]int) {
			t.Helper()
			n.CheckFiles()
			synctest.Wait()
			if diff := cmp.Diff(want, heard); diff != "" {
				t.Errorf("%s: %s", when, diff)
			}
			clear(heard)
		}
		root.Put("a/notes.txt", "at first")
		expect("at first", map[string]int{"keeps": 1, "loses": 1})
		hide(t, n, root)
		n.FileChanged(listeners[1], text) // a check of the files that was running
		expect("nothing has changed", map[string]int{})
		root.Put("a/notes.txt", "out of sight")
		expect("out of sight", map[string]int{"keeps": 1})
		delete(root.Files, "a/SKILL.md")
		delete(root.Files, "a/notes.txt")
		delete(root.Files, "a/inner/SKILL.md")
		must(t, c.Refresh(t.Context()))
		expect("deleted", map[string]int{"keeps": 1})
		for _, l := range listeners {
			n.End(l)
		}
		testwait.Advance(2 * time.Hour) // the checks of the table end
	})
}
