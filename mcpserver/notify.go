package mcpserver

import (
	"context"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
)

// The SDK sends notifications to all its sessions. Each passes [Server.tell], which keeps
// back what speaks of skills that the session's caller does not see.

// The notifications that speak of skills.
const (
	toolsChanged     = "notifications/tools/list_changed"
	promptsChanged   = "notifications/prompts/list_changed"
	resourcesChanged = "notifications/resources/list_changed"
	resourceUpdated  = "notifications/resources/updated"
)

// SetAccess puts another state of access in force: for requests that ask from now on, and
// for all notifications. Sessions that see something else than before are told which
// lists have changed.
func (s *Server) SetAccess(state access.State) {
	if state.Policy != nil {
		// Until here, sessions that saw everything were told of everything.
		if whole, ready := s.catalog.Now(nil); ready {
			s.subscribers.begin(whole)
		}
	}
	s.access.Set(state)
	s.subscriptions.forgetHidden(context.Background())
	if f := s.accessChanged.Load(); f != nil {
		(*f)()
	}
	if s.subscribers.any() {
		s.nudge(true, true, true)
	}
}

// subscribers are the sessions that are told of changes: those that were initialized, and
// those that listen.
type subscribers struct {
	mu sync.Mutex
	of map[*mcp.ServerSession]*subscriber
}

type subscriber struct {
	token string // with which it asked; empty if it needed none
	share string // the client that it counts for
	// heard is, by notification, the state that the session was told of last, or began
	// with. It is nil until there is a policy: then it is told of everything.
	heard map[string]catalog.Fingerprints
}

func (u *subscribers) any() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.of) > 0
}

func (u *subscribers) find(session *mcp.ServerSession) *subscriber {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.of[session]
}

// share is the client that a session counts for.
func (u *subscribers) share(session *mcp.ServerSession) string {
	if n := u.find(session); n != nil {
		return n.share
	}
	return ""
}

// begin notes the state that the sessions know that were told of everything.
func (u *subscribers) begin(v catalog.View) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, n := range u.of {
		if n.heard == nil {
			n.hear(v.Fingerprints())
		}
	}
}

func (n *subscriber) hear(now catalog.Fingerprints) {
	n.heard = map[string]catalog.Fingerprints{toolsChanged: now, promptsChanged: now, resourcesChanged: now}
}

// subscribe notes the session of a request, until it ends. It begins with what its caller
// sees now.
func (s *Server) subscribe(r *request) {
	n := &subscriber{token: r.Token, share: r.Share}
	if r.Filter != nil {
		if v, ready := s.catalog.Now(r.Filter); ready {
			n.hear(v.Fingerprints())
		} else {
			n.hear(catalog.Fingerprints{}) // the first list is news
		}
	}
	u := &s.subscribers
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.of == nil {
		u.of = map[*mcp.ServerSession]*subscriber{}
	}
	if u.of[r.session] != nil {
		return
	}
	u.of[r.session] = n
	go func() {
		_ = r.session.Wait()
		u.mu.Lock()
		delete(u.of, r.session)
		u.mu.Unlock()
		s.subscriptions.end(r.session)
	}()
}

// principal returns the subject of a session's token, by the state in force. It reports
// false if the session never asked, or its token is no longer known.
func (s *Server) principal(ctx context.Context, session *mcp.ServerSession) (p access.Principal, ok bool) {
	state, n := s.access.Now(), s.subscribers.find(session)
	switch {
	case n == nil:
		return p, false
	case n.token == "":
		return state.PrincipalOf(access.Subject{}), true
	}
	return state.Authenticate(ctx, n.token)
}

// tell lets a notification pass if it speaks of what the session may see.
func (s *Server) tell(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		session, ok := req.GetSession().(*mcp.ServerSession)
		if ok && !s.mayHear(ctx, session, method, req) {
			return nil, nil
		}
		return next(ctx, method, req)
	}
}

func (s *Server) mayHear(ctx context.Context, session *mcp.ServerSession, method string, req mcp.Request) bool {
	switch method {
	case toolsChanged, promptsChanged, resourcesChanged, resourceUpdated:
	default:
		return true // an answer's part, or a log line, which is written for one session
	}
	who, known := s.principal(ctx, session)
	if !known {
		return false
	}
	v, ready := s.catalog.Now(who.Filter)
	if !ready {
		return false
	}
	if p, ok := req.GetParams().(*mcp.ResourceUpdatedNotificationParams); ok {
		whole, _ := s.catalog.Now(nil)
		// A deleted file was in sight when the session subscribed to it.
		return addresses(v, p.URI) || !addresses(whole, p.URI) && s.subscriptions.has(session, p.URI)
	}
	return s.subscribers.news(session, method, v)
}

// news reports whether a session does not know this state of a list yet, and notes that
// it does now.
func (u *subscribers) news(session *mcp.ServerSession, method string, v catalog.View) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	n := u.of[session]
	if n == nil || n.heard == nil {
		return n != nil
	}
	was, now := n.heard[method], v.Fingerprints()
	n.heard[method] = now
	switch method {
	case toolsChanged:
		return was.Listing != now.Listing
	case promptsChanged:
		return was.Invocable != now.Invocable
	}
	return was.Served != now.Served || was.Listing != now.Listing
}

func addresses(v catalog.View, text string) bool {
	uri, err := skill.ParseURI(text)
	if err != nil {
		return false
	}
	e, _ := v.At(uri)
	return e != nil
}
