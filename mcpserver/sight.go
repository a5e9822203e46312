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
	"github.com/knack-dev/knack/mcpserver/internal/wire"
	"github.com/knack-dev/knack/skill"
)

// Restrict lets every request see what a policy shows to its subject, from now
// on; nil lets all see everything. Who sends no token, where none is required, is
// the subject without name and groups. Sessions that see something else than before
// are told at once which lists have changed.
func (s *Server) Restrict(p *access.Policy) {
	a := &s.audience
	whole, ready := s.catalog.Now(nil)
	a.mu.Lock()
	was := a.policy.Swap(p)
	if was == nil && p != nil && len(a.of) > 0 {
		var now catalog.Marks
		if ready {
			now = whole.Marks()
		}
		for _, l := range a.of {
			if l.heard == nil {
				l.hear(now) // until here it was told of everything
			}
		}
	}
	listens := len(a.of) > 0
	a.mu.Unlock()
	if listens && ready && was != p {
		s.nudge(true, true, true)
	}
}

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
	// heard is, by notification, the state that it was told of, or began with. It is
	// nil where it is told of everything: there has been no policy in its time.
	heard map[string]catalog.Marks
}

// hear notes that a listener was told of everything up to now.
func (l *listener) hear(now catalog.Marks) {
	l.heard = map[string]catalog.Marks{toolsChanged: now, promptsChanged: now, resourcesChanged: now}
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
		who := holderOf(req)
		if p := s.audience.policy.Load(); p != nil {
			ctx = catalog.WithSight(ctx, p.Sight(who.subject))
		}
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
	l = &listener{holder: who}
	if a.policy.Load() != nil {
		v, err := s.view(ctx)
		if err != nil {
			return err
		}
		l.hear(v.Marks())
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if l.heard == nil && a.policy.Load() != nil {
		return &jsonrpc.Error{Code: wire.CodeBusy, Message: askAgain} // the request is older than the policy
	}
	if !who.holds(ctx) { // the request is older than what renew has read
		return &jsonrpc.Error{Code: wire.CodeBusy, Message: askAgain}
	}
	was := a.of[session]
	if was != nil && sameSubject(was.holder.subject, who.subject) {
		return nil
	}
	if a.of == nil {
		a.of = map[*mcp.ServerSession]*listener{}
	}
	a.of[session] = l
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

const askAgain = "what you may see has changed; ask again"

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
	l := &listener{holder: who}
	if p := s.audience.policy.Load(); p != nil {
		v, ok := s.catalog.Now(p.Sight(who.subject))
		if !ok {
			return
		}
		l.hear(v.Marks())
	}
	s.audience.of[session] = l
}

// sightOf is what a session may hear of: where there is a policy, nothing if the
// session is unknown. all: whatever it is, and nobody notes what it was told.
func (a *audience) sightOf(session *mcp.ServerSession) (sight *catalog.Sight, known, all bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p, l := a.policy.Load(), a.of[session]
	switch {
	case p == nil:
		return nil, true, l == nil || l.heard == nil
	case l == nil:
		return nil, false, false
	}
	return p.Sight(l.holder.subject), true, false
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
	sight, known, all := s.audience.sightOf(session)
	if !known || all {
		return all
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
