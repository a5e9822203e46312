package notify

import (
	"context"
	"io/fs"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
)

// two is a source with the skills a and b.
type two struct{}

func (two) Root() skill.Root { return skill.Root{Label: "r"} }

func (two) Scan(context.Context) (skill.Scan, error) {
	var s skill.Scan
	for _, name := range []string{"a", "b"} {
		files := fstest.MapFS{"SKILL.md": {Data: []byte("---\nname: " + name + "\ndescription: D.\n---\n")}}
		info, err := fs.Stat(files, "SKILL.md")
		if err != nil {
			return s, err
		}
		s.Bundles = append(s.Bundles, &skill.Bundle{Path: name, Entry: "SKILL.md", FS: files, Stamp: skill.StampOf(info)})
	}
	return s, nil
}

// denying returns a state of access in which no client sees the skill.
func denying(t *testing.T, uri string) access.State {
	t.Helper()
	p, err := access.ParsePattern(uri)
	must(t, err)
	return access.State{Policy: access.NewPolicy(true, []access.Rule{{Deny: []access.Pattern{p}}})}
}

// TestAccessRenewedBeforeSubscription checks a session that subscribes after its access state was
// replaced by another one. It is notified if it now sees different skills, and not otherwise.
func TestAccessRenewedBeforeSubscription(t *testing.T) {
	for name, row := range map[string]struct {
		was, now access.State
		news     bool
	}{
		"the same":              {denying(t, "skill://a"), denying(t, "skill://a"), false},
		"another skill":         {denying(t, "skill://a"), denying(t, "skill://b"), true},
		"the first policy":      {access.State{}, denying(t, "skill://a"), true},
		"no policy, as before":  {access.State{}, access.State{}, false},
		"a policy is withdrawn": {denying(t, "skill://a"), access.State{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := catalog.New([]catalog.Source{two{}}, catalog.Options{})
				must(t, c.Refresh(t.Context()))
				gate := access.NewGate(row.was)
				n := &Notifier{Catalog: c, Access: gate, Files: New(Options[*Listener]{})}
				var heard atomic.Int64
				l := &Listener{Lists: Tools, Send: func(message []byte) {
					if string(message) != `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{}}` {
						t.Errorf("%s", message)
					}
					heard.Add(1)
				}}
				who := gate.Now().PrincipalOf(access.Subject{})
				gate.Set(row.now)
				n.Subscribe(l, who)
				<-time.After(time.Minute)
				synctest.Wait()
				if news := heard.Load() > 0; news != row.news {
					t.Errorf("notified: %v, want %v", news, row.news)
				}
				// A further notification without a change is dropped if there is a policy.
				before := heard.Load()
				n.ListsChanged(AllLists)
				<-time.After(time.Minute)
				synctest.Wait()
				if again := heard.Load() > before; again != (row.was.Policy == nil && row.now.Policy == nil) {
					t.Errorf("without a change: notified again: %v", again)
				}
				n.End(l)
				before = heard.Load()
				n.ListsChanged(AllLists)
				<-time.After(time.Minute)
				if heard.Load() > before {
					t.Error("notified after its end")
				}
			})
		})
	}
}
