// Package notify notifies clients of changed lists and files.
//
// Each client that receives notifications is a [Listener]. [Notifier] sends it none about skills
// that its principal may not see.
package notify

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill"
)

// Lists is a set of the lists whose changes are notified.
type Lists uint8

// The lists.
const (
	Tools Lists = 1 << iota
	Prompts
	Resources
	AllLists = Tools | Prompts | Resources
)

// listMethods are the notifications of changed lists.
var listMethods = [...]struct {
	list   Lists
	method string
}{
	{Tools, "notifications/tools/list_changed"},
	{Prompts, "notifications/prompts/list_changed"},
	{Resources, "notifications/resources/list_changed"},
}

const resourceUpdated = "notifications/resources/updated"

// Listener is a client that receives notifications: a session of a version before 2026-07-28, or
// one call of subscriptions/listen.
type Listener struct {
	Token string // of the subscribing request; empty if none was required
	Share string // client that its subscriptions count against
	Lists Lists  // the lists of whose changes it is notified
	ID    string // of the call, as JSON; empty for a session
	// Send sends a message. It may wait for this client, but never for another one.
	Send func(message []byte)
	// Ready, if set, waits until the client has read most of the earlier messages or has no stream.
	// It returns an error if the context ends first.
	Ready func(context.Context) error
	Warns atomic.Bool // the client wants log messages of the level "warning"

	// reported is the last state of each list that the listener knows: the state at its beginning,
	// or at its last notification. It is nil without a policy; the listener then gets every
	// notification.
	reported map[Lists]catalog.Fingerprints
}

// notify sends a notification. Its params have the URI, unless that is empty.
func (l *Listener) notify(method, uri string) {
	b := append([]byte(`{"jsonrpc":"2.0","method":"`+method+`","params":{`), l.meta()...)
	if uri != "" {
		if l.ID != "" {
			b = append(b, ',')
		}
		b = display.AppendJSONString(append(b, `"uri":`...), uri)
	}
	l.Send(append(b, "}}"...))
}

// meta returns the member _meta of the listener's notifications, or "".
func (l *Listener) meta() string {
	if l.ID == "" {
		return ""
	}
	return `"_meta":{"` + mcp.MetaKeySubscriptionID + `":` + l.ID + `}`
}

// Acknowledge sends the listener the list of notifications that it will get.
func (l *Listener) Acknowledge(accepted []byte) {
	l.Send(append(append([]byte(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{`+l.meta()+`,"notifications":`), accepted...), "}}"...))
}

func (l *Listener) report(v catalog.View) {
	var now catalog.Fingerprints
	if v.Snapshot != nil {
		now = v.Fingerprints()
	}
	l.reported = map[Lists]catalog.Fingerprints{Tools: now, Prompts: now, Resources: now}
}

// Notifier notifies the listeners of one server.
type Notifier struct {
	Catalog *catalog.Catalog
	Access  *access.Gate
	Files   *Table[*Listener]

	mu        sync.Mutex
	listeners map[*Listener]bool
	pending   Lists // changed, and not notified yet
	sending   bool  // changed lists are being notified
}

// Subscribe adds a listener until [Notifier.End]. The listener is notified of changes from the
// present view of its caller.
func (n *Notifier) Subscribe(l *Listener, who access.Principal) {
	if who.Filter != nil {
		v, _ := n.Catalog.Now(who.Filter)
		l.report(v) // without a snapshot, the first list counts as a change
	}
	n.mu.Lock()
	if n.listeners == nil {
		n.listeners = map[*Listener]bool{}
	}
	n.listeners[l] = true
	n.mu.Unlock()
	n.catchUp(l)
}

// End removes a listener and its subscriptions.
func (n *Notifier) End(l *Listener) {
	n.mu.Lock()
	delete(n.listeners, l)
	n.mu.Unlock()
	n.Files.End(l)
}

// All returns the listeners.
func (n *Notifier) All() []*Listener {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Collect(maps.Keys(n.listeners))
}

// catchUp notifies a listener whose view has changed since its request. A new access state may have
// come into force before the listener was added, so that only other listeners were notified.
func (n *Notifier) catchUp(l *Listener) {
	who, known := n.Principal(context.Background(), l)
	v, ready := n.Catalog.Now(who.Filter)
	if !known || !ready {
		return
	}
	n.mu.Lock()
	changed := l.reported == nil && who.Filter != nil || l.reported != nil && l.reported[Tools] != v.Fingerprints()
	n.mu.Unlock()
	if changed {
		n.ListsChanged(AllLists)
	}
}

// Principal returns the principal of a listener's token under the access state in force. It reports
// false if the listener has ended or its token is no longer valid.
func (n *Notifier) Principal(ctx context.Context, l *Listener) (p access.Principal, ok bool) {
	n.mu.Lock()
	known := n.listeners[l]
	n.mu.Unlock()
	state := n.Access.Now()
	switch {
	case !known:
		return p, false
	case l.Token == "":
		return state.PrincipalOf(access.Subject{}), true
	}
	return state.Authenticate(ctx, l.Token)
}

// SetAccess puts an access state in force for all notifications. It notifies listeners whose view
// changes of the changed lists.
func (n *Notifier) SetAccess(state access.State) {
	if whole, ready := n.Catalog.Now(nil); ready && state.Policy != nil {
		n.mu.Lock()
		for l := range n.listeners {
			if l.reported == nil { // it got every notification until now
				l.report(whole)
			}
		}
		n.mu.Unlock()
	}
	n.Access.Set(state)
	n.prune(false)
	n.ListsChanged(AllLists)
}

// CheckFiles looks for changed files after a change of the catalogue. The change can also hide a
// file from a listener: a skill that contains a denied skill is hidden too.
func (n *Notifier) CheckFiles() {
	if n.Access.Now().Policy != nil {
		n.prune(true)
	}
	n.Files.Poke()
}

// prune ends the subscriptions to files that a listener may no longer see. The listener must learn
// nothing more of them, not even their deletion. If deleted is set, subscriptions to files that no
// longer exist stay, since the listener is notified of their deletion and of their return.
func (n *Notifier) prune(deleted bool) {
	whole, ready := n.Catalog.Now(nil)
	if !ready {
		return
	}
	views := map[*Listener]catalog.View{} // without a snapshot for an unknown token
	n.Files.Prune(func(l *Listener, uri string) bool {
		v, again := views[l]
		if !again {
			if who, known := n.Principal(context.Background(), l); known {
				v, _ = n.Catalog.Now(who.Filter)
			}
			views[l] = v
		}
		return v.Snapshot != nil && (leads(v, uri) || deleted && !leads(whole, uri))
	})
}

// pause is the delay of notifications of changed lists, which joins changes in quick succession.
const pause = 10 * time.Millisecond

// ListsChanged notifies the listeners of changed lists, after a [pause].
func (n *Notifier) ListsChanged(which Lists) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if which == 0 || len(n.listeners) == 0 {
		return
	}
	if n.pending == 0 && !n.sending {
		time.AfterFunc(pause, n.notifyLists)
	}
	n.pending |= which
}

// notifyLists notifies the listeners of the pending lists. A slow client can delay it. The next
// call handles the lists that change meanwhile.
func (n *Notifier) notifyLists() {
	n.mu.Lock()
	which := n.pending
	n.pending, n.sending = 0, true
	n.mu.Unlock()
	defer func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.sending = false; n.pending != 0 {
			time.AfterFunc(pause, n.notifyLists)
		}
	}()
	for _, l := range n.All() {
		who, known := n.Principal(context.Background(), l)
		v, ready := n.Catalog.Now(who.Filter)
		if !known || !ready {
			continue
		}
		for _, m := range listMethods {
			if m.list&which&l.Lists != 0 && n.isNew(l, m.list, v, who.Filter != nil) {
				l.notify(m.method, "")
			}
		}
	}
}

// isNew reports whether a listener has not yet been notified of this state of a list, and records
// that it now has.
func (n *Notifier) isNew(l *Listener, list Lists, v catalog.View, filtered bool) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case l.reported == nil && !filtered:
		return true
	case l.reported == nil: // it subscribed just before a policy came into force
		l.report(catalog.View{})
	}
	was, now := l.reported[list], v.Fingerprints()
	l.reported[list] = now
	switch list {
	case Tools:
		return was.Listing != now.Listing
	case Prompts:
		return was.Invocable != now.Invocable
	}
	return was.Served != now.Served || was.Listing != now.Listing
}

// FileChanged notifies a listener of a changed file, unless the listener may no longer see the
// file.
func (n *Notifier) FileChanged(l *Listener, uri string) {
	who, known := n.Principal(context.Background(), l)
	v, ready := n.Catalog.Now(who.Filter)
	if !known || !ready {
		return
	}
	// The listener could see a deleted file when it subscribed.
	if whole, _ := n.Catalog.Now(nil); leads(v, uri) || !leads(whole, uri) {
		l.notify(resourceUpdated, uri)
	}
}

// leads reports whether a URI leads to a skill.
func leads(v catalog.View, text string) bool {
	uri, err := skill.ParseURI(text)
	if err != nil {
		return false
	}
	e, _ := v.At(uri)
	return e != nil
}
