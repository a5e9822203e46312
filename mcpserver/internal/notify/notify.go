// Package notify notifies sessions of changed lists and files.
//
// The SDK sends a notification to all its sessions. Each passes through [Notifier], which drops
// notifications about skills that the session's principal may not see.
package notify

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
)

// Notifications about skills.
const (
	toolsChanged     = "notifications/tools/list_changed"
	promptsChanged   = "notifications/prompts/list_changed"
	resourcesChanged = "notifications/resources/list_changed"
	resourceUpdated  = "notifications/resources/updated"
)

// Notifier notifies the sessions of one server.
type Notifier struct {
	Catalog *catalog.Catalog
	Access  *access.Gate
	SDK     *mcp.Server
	Files   *Table[*mcp.ServerSession]

	mu          sync.Mutex
	subscribers map[*mcp.ServerSession]*subscriber

	toggling                  sync.Mutex
	tools, prompts, templates bool // registered with the SDK, see ListsChanged
}

// subscriber is a session that gets notifications: it is initialized, or it listens.
type subscriber struct {
	token string // of the subscribing request; empty if none was required
	share string // client that its subscriptions count against
	// reported is the state of each list that the session was last notified of, or began with, by
	// notification. It is nil without a policy; the session then gets every notification.
	reported map[string]catalog.Fingerprints
}

// Subscribe adds a session until it ends. It begins with its caller's present view.
func (n *Notifier) Subscribe(session *mcp.ServerSession, token, share string, who access.Principal) {
	s := &subscriber{token: token, share: share}
	if who.Filter != nil {
		v, _ := n.Catalog.Now(who.Filter)
		s.report(v) // without a snapshot, the first list counts as a change
	}
	if n.add(session, s) {
		n.catchUp(session, s)
	}
}

// add reports false if the session has subscribed before.
func (n *Notifier) add(session *mcp.ServerSession, s *subscriber) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.subscribers == nil {
		n.subscribers = map[*mcp.ServerSession]*subscriber{}
	}
	if n.subscribers[session] != nil {
		return false
	}
	n.subscribers[session] = s
	go func() {
		_ = session.Wait()
		n.mu.Lock()
		delete(n.subscribers, session)
		n.mu.Unlock()
		n.Files.End(session)
	}()
	return true
}

// catchUp notifies a session whose view has changed since its request. A new access state may have
// come into force in between, which notified other sessions only.
func (n *Notifier) catchUp(session *mcp.ServerSession, s *subscriber) {
	who, known := n.Principal(context.Background(), session)
	v, ready := n.Catalog.Now(who.Filter)
	if !known || !ready {
		return
	}
	n.mu.Lock()
	changed := s.reported == nil && who.Filter != nil || s.reported != nil && s.reported[toolsChanged] != v.Fingerprints()
	n.mu.Unlock()
	if changed {
		n.ListsChanged(true, true, true)
	}
}

func (s *subscriber) report(v catalog.View) {
	var now catalog.Fingerprints
	if v.Snapshot != nil {
		now = v.Fingerprints()
	}
	s.reported = map[string]catalog.Fingerprints{toolsChanged: now, promptsChanged: now, resourcesChanged: now}
}

func (n *Notifier) find(session *mcp.ServerSession) *subscriber {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.subscribers[session]
}

// Share returns the client that a session's subscriptions count against.
func (n *Notifier) Share(session *mcp.ServerSession) string {
	if s := n.find(session); s != nil {
		return s.share
	}
	return ""
}

// Principal returns the principal of a session's token under the access state in force. It reports
// false if the session did not subscribe or its token is no longer valid.
func (n *Notifier) Principal(ctx context.Context, session *mcp.ServerSession) (p access.Principal, ok bool) {
	state, s := n.Access.Now(), n.find(session)
	switch {
	case s == nil:
		return p, false
	case s.token == "":
		return state.PrincipalOf(access.Subject{}), true
	}
	return state.Authenticate(ctx, s.token)
}

// SetAccess puts an access state in force for all notifications. It notifies sessions whose view
// changes of the changed lists.
func (n *Notifier) SetAccess(state access.State) {
	if whole, ready := n.Catalog.Now(nil); ready && state.Policy != nil {
		n.mu.Lock()
		for _, s := range n.subscribers {
			if s.reported == nil { // the session got every notification until now
				s.report(whole)
			}
		}
		n.mu.Unlock()
	}
	n.Access.Set(state)
	n.prune(false)
	n.ListsChanged(true, true, true)
}

// CheckFiles looks for changed files after a change of the catalogue. The change can also hide a
// file from a session: a skill that contains a denied skill is hidden too.
func (n *Notifier) CheckFiles() {
	if n.Access.Now().Policy != nil {
		n.prune(true)
	}
	n.Files.Poke()
}

// prune ends the subscriptions to files that a session may no longer see. The session must learn
// nothing more of them, not even their deletion. deleted keeps subscriptions to files that no
// longer exist: the session is notified of their deletion and of their return.
func (n *Notifier) prune(deleted bool) {
	whole, ready := n.Catalog.Now(nil)
	if !ready {
		return
	}
	views := map[*mcp.ServerSession]catalog.View{} // without a snapshot for an unknown token
	n.Files.Prune(func(session *mcp.ServerSession, uri string) bool {
		v, again := views[session]
		if !again {
			if who, known := n.Principal(context.Background(), session); known {
				v, _ = n.Catalog.Now(who.Filter)
			}
			views[session] = v
		}
		return v.Snapshot != nil && (leads(v, uri) || deleted && !leads(whole, uri))
	})
}

// ListsChanged notifies every session of the changed lists. The SDK has no public call for it:
// adding or removing a tool, a template or a prompt makes it notify, once each. The added items
// appear in no answer, since knack answers the lists itself. (go-sdk#1238 brings a call for its own
// skills package.)
func (n *Notifier) ListsChanged(tools, prompts, resources bool) {
	n.toggling.Lock()
	defer n.toggling.Unlock()
	toggle := func(changed bool, added *bool, add, remove func()) {
		if !changed {
			return
		}
		if *added = !*added; *added {
			add()
		} else {
			remove()
		}
	}
	const name, template = "changed", "knack-changed:{x}"
	toggle(tools, &n.tools, func() {
		n.SDK.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, nil)
	}, func() { n.SDK.RemoveTools(name) })
	toggle(prompts, &n.prompts, func() { n.SDK.AddPrompt(&mcp.Prompt{Name: name}, nil) }, func() { n.SDK.RemovePrompts(name) })
	toggle(resources, &n.templates, func() {
		n.SDK.AddResourceTemplate(&mcp.ResourceTemplate{Name: name, URITemplate: template}, nil)
	}, func() { n.SDK.RemoveResourceTemplates(template) })
}

// Filter is the SDK's sending middleware. It drops notifications about skills that the session's
// principal may not see.
func (n *Notifier) Filter(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		session, ok := req.GetSession().(*mcp.ServerSession)
		if ok && !n.allows(ctx, session, method, req) {
			return nil, nil
		}
		return next(ctx, method, req)
	}
}

func (n *Notifier) allows(ctx context.Context, session *mcp.ServerSession, method string, req mcp.Request) bool {
	switch method {
	case toolsChanged, promptsChanged, resourcesChanged, resourceUpdated:
	default:
		return true // part of an answer or a log line, written for this session only
	}
	who, known := n.Principal(ctx, session)
	if !known {
		return false
	}
	v, ready := n.Catalog.Now(who.Filter)
	if !ready {
		return false
	}
	if p, ok := req.GetParams().(*mcp.ResourceUpdatedNotificationParams); ok {
		whole, _ := n.Catalog.Now(nil)
		// The session could see a deleted file when it subscribed.
		return leads(v, p.URI) || !leads(whole, p.URI) && n.Files.Has(session, p.URI)
	}
	return n.isNew(session, method, v, who.Filter != nil)
}

// isNew reports whether a session has not yet been notified of this state of a list, and records
// that it now has.
func (n *Notifier) isNew(session *mcp.ServerSession, method string, v catalog.View, filtered bool) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.subscribers[session]
	switch {
	case s == nil:
		return false
	case s.reported == nil && !filtered:
		return true
	case s.reported == nil: // it subscribed just before a policy came into force
		s.report(catalog.View{})
	}
	was, now := s.reported[method], v.Fingerprints()
	s.reported[method] = now
	switch method {
	case toolsChanged:
		return was.Listing != now.Listing
	case promptsChanged:
		return was.Invocable != now.Invocable
	}
	return was.Served != now.Served || was.Listing != now.Listing
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
