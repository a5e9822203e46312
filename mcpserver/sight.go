package mcpserver

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
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
	holder *holder
	heard  map[string]catalog.Marks // by notification: the state that it was told of, or began with
}

// holder is who sends a request: the subject of a token, as it was when the request
// came. The zero value is who sends none where none is needed.
type holder struct {
	subject  access.Subject
	token    string
	verifier access.Verifier // nil: no token is needed
}

// now is whose the token is by what the verifier knows at this moment.
func (h *holder) now(ctx context.Context) (access.Subject, bool) {
	if h.verifier == nil {
		return h.subject, true
	}
	return h.verifier.Verify(ctx, h.token)
}

// holds reports whether the token is still the same subject's.
func (h *holder) holds(ctx context.Context) bool {
	now, ok := h.now(ctx)
	return ok && sameSubject(now, h.subject)
}

func sameSubject(a, b access.Subject) bool {
	return a.Name == b.Name && slices.Equal(a.Groups, b.Groups)
}

// holderKey is where the SDK's note on a token has the holder.
const holderKey = "holder"

var nobody = &holder{}

func holderIn(info *auth.TokenInfo) *holder {
	if info != nil {
		if h, ok := info.Extra[holderKey].(*holder); ok {
			return h
		}
	}
	return nobody
}

func holderOf(req mcp.Request) *holder {
	if extra := req.GetExtra(); extra != nil {
		return holderIn(extra.TokenInfo)
	}
	return nobody
}

// see gives a request its sight: whatever is read while it is answered is what its
// subject may see.
func (s *Server) see(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		p := s.audience.policy.Load()
		if p == nil {
			return next(ctx, method, req)
		}
		who := holderOf(req)
		ctx = catalog.WithSight(ctx, p.Sight(who.subject))
		if session, ok := req.GetSession().(*mcp.ServerSession); ok && (session.ID() != "" || method == "subscriptions/listen") {
			if err := s.listen(ctx, session, who); err != nil {
				return nil, err
			}
		}
		return next(ctx, method, req)
	}
}

// listen notes a session at its first request. A later one may know another
// subject for its token, after the configuration has changed.
func (s *Server) listen(ctx context.Context, session *mcp.ServerSession, who *holder) error {
	a := &s.audience
	a.mu.Lock()
	l := a.of[session]
	known := l != nil && sameSubject(l.holder.subject, who.subject)
	a.mu.Unlock()
	if known {
		return nil
	}
	v, err := s.view(ctx)
	if err != nil {
		return err
	}
	now := v.Marks()
	a.mu.Lock()
	defer a.mu.Unlock()
	if !who.holds(ctx) { // the request is older than what renew has read
		return &jsonrpc.Error{Code: codeBusy, Message: "what you may see has changed; ask again"}
	}
	was := a.of[session]
	if was != nil && sameSubject(was.holder.subject, who.subject) {
		return nil
	}
	if a.of == nil {
		a.of = map[*mcp.ServerSession]*listener{}
	}
	a.of[session] = newListener(who, now)
	if was != nil {
		return nil
	}
	go func() {
		_ = session.Wait()
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.of, session)
	}()
	return nil
}

// newListener is one that was told of everything up to now.
func newListener(who *holder, now catalog.Marks) *listener {
	return &listener{who, map[string]catalog.Marks{toolsChanged: now, promptsChanged: now, resourcesChanged: now}}
}

// renew asks again whose the tokens of all listeners are. Who has become another
// hears from now on of what that one sees, and whose token is not known any more, of
// nothing.
func (s *Server) renew(ctx context.Context) {
	a := &s.audience
	a.mu.Lock()
	sessions := slices.Collect(maps.Keys(a.of))
	a.mu.Unlock()
	for _, session := range sessions {
		a.mu.Lock()
		// Asked with the lock held: a request that came earlier must not undo it.
		if l := a.of[session]; l != nil && !l.holder.holds(ctx) {
			delete(a.of, session)
			if subject, ok := l.holder.now(ctx); ok {
				s.become(session, &holder{subject, l.holder.token, l.holder.verifier})
			}
		}
		a.mu.Unlock()
	}
}

// become makes a session another subject's. It begins with what that one sees now,
// so that no later change of what it does not see is news. Where that cannot be
// known, the next request begins. The caller holds the audience's lock.
func (s *Server) become(session *mcp.ServerSession, who *holder) {
	var sight *catalog.Sight
	if p := s.audience.policy.Load(); p != nil {
		sight = p.Sight(who.subject)
	}
	if v, ok := s.catalog.Now(sight); ok {
		s.audience.of[session] = newListener(who, v.Marks())
	}
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
	return p.Sight(l.holder.subject), true
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
