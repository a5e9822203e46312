package mcpserver

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
)

// Restrict lets every request see what a policy shows to its subject, from now
// on; nil lets all see everything. Who sends no token, where none is required, is
// the subject without name and groups.
func (s *Server) Restrict(p *access.Policy) { s.audience.policy.Store(p) }

// audience knows who hears of changes, so that nobody hears of what is out of
// sight.
type audience struct {
	policy atomic.Pointer[access.Policy]

	mu sync.Mutex
	of map[*mcp.ServerSession]*listener
}

// listener is a session that can be told of changes.
type listener struct {
	subject access.Subject
	heard   map[string]catalog.Marks // by notification: the state that it was told of, or began with
}

// subjectKey is where the SDK's note on a token has the subject.
const subjectKey = "subject"

func subjectOf(req mcp.Request) access.Subject {
	if extra := req.GetExtra(); extra != nil && extra.TokenInfo != nil {
		subject, _ := extra.TokenInfo.Extra[subjectKey].(access.Subject)
		return subject
	}
	return access.Subject{}
}

// see gives a request its sight: whatever is read while it is answered is what its
// subject may see.
func (s *Server) see(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		p := s.audience.policy.Load()
		if p == nil {
			return next(ctx, method, req)
		}
		subject := subjectOf(req)
		ctx = catalog.WithSight(ctx, p.Sight(subject))
		if session, ok := req.GetSession().(*mcp.ServerSession); ok && (session.ID() != "" || method == "subscriptions/listen") {
			if err := s.listen(ctx, session, subject); err != nil {
				return nil, err
			}
		}
		return next(ctx, method, req)
	}
}

// listen notes a session at its first request. A later one may know another
// subject for its token, after the configuration has changed.
func (s *Server) listen(ctx context.Context, session *mcp.ServerSession, subject access.Subject) error {
	a := &s.audience
	a.mu.Lock()
	if l := a.of[session]; l != nil {
		l.subject = subject
		a.mu.Unlock()
		return nil
	}
	a.mu.Unlock()
	v, err := s.view(ctx)
	if err != nil {
		return err
	}
	now := v.Marks()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of[session] != nil {
		return nil
	}
	if a.of == nil {
		a.of = map[*mcp.ServerSession]*listener{}
	}
	a.of[session] = &listener{subject, map[string]catalog.Marks{toolsChanged: now, promptsChanged: now, resourcesChanged: now}}
	go func() {
		_ = session.Wait()
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.of, session)
	}()
	return nil
}

// sightOf is what a session may hear of: everything where there is no policy, and
// nothing where the session is unknown.
func (a *audience) sightOf(session *mcp.ServerSession) (sight *catalog.Sight, known bool) {
	p := a.policy.Load()
	if p == nil {
		return nil, true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.of[session]
	if l == nil {
		return nil, false
	}
	return p.Sight(l.subject), true
}

// The notifications that speak of skills.
const (
	toolsChanged     = "notifications/tools/list_changed"
	promptsChanged   = "notifications/prompts/list_changed"
	resourcesChanged = "notifications/resources/list_changed"
	resourceUpdated  = "notifications/resources/updated"
)

// tell lets a notification pass where it speaks of what the session may see.
func (s *Server) tell(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		session, ok := req.GetSession().(*mcp.ServerSession)
		if ok && s.audience.policy.Load() != nil && !s.mayHear(ctx, session, method, req) {
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
	sight, known := s.audience.sightOf(session)
	if !known {
		return false
	}
	v, err := s.catalog.View(catalog.WithSight(ctx, sight))
	if err != nil {
		return false
	}
	if p, ok := req.GetParams().(*mcp.ResourceUpdatedNotificationParams); ok {
		whole, err := s.catalog.View(context.WithoutCancel(catalog.WithSight(ctx, nil)))
		return err == nil && (addresses(v, p.URI) || !addresses(whole, p.URI)) // what is gone was in sight when it was subscribed to
	}
	return s.audience.news(session, method, v.Marks())
}

// news reports whether a session does not know this state of a list yet, and
// notes that it does now.
func (a *audience) news(session *mcp.ServerSession, method string, now catalog.Marks) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.of[session]
	if l == nil {
		return false
	}
	was := l.heard[method]
	l.heard[method] = now
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
