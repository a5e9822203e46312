package httpd

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/internal/server/httpguard"
	"github.com/knack-dev/knack/mcpserver/internal/wire"
)

// sessions is the table of the sessions of protocol versions before 2026-07-28.
//
// A client that never sends notifications/initialized has left, or tries to take the places of
// other clients. Its session ends soon if no request arrives, and is evicted first if there are too
// many sessions. A client that keeps sending calls without that notification keeps its session.
type sessions struct {
	idle, handshake time.Duration // maximum time without a request; handshake applies before notifications/initialized
	room            *limit.Budget // of sessions, including those being created

	mu   sync.Mutex
	byID map[string]*session // by id
}

type session struct {
	in    *sessions
	id    string
	core  Session
	out   *outbox
	token string         // token with which the session began; empty if none was needed
	owner string         // the client against whose share the session counts
	place *limit.Account // the session's place in the table's room
	ended context.Context
	end   context.CancelFunc

	// Guarded by the table's mu.
	initialized bool
	busy        int // requests being answered
	last        time.Time
	timer       *time.Timer
	calls       map[string]*context.CancelFunc // the calls being answered, by [wire.Message.Key]
}

// new makes a session, which is not in the table yet.
func (t *sessions) new(core Core, from httpguard.Caller, place *limit.Account) *session {
	s := &session{in: t, id: rand.Text(), out: newOutbox(), token: from.Token, owner: from.Share, place: place, calls: map[string]*context.CancelFunc{}}
	s.ended, s.end = context.WithCancel(context.Background())
	s.core = core.NewSession(from, s.out)
	return s
}

// add registers a session until it ends.
func (t *sessions) add(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.last = time.Now()
	t.byID[s.id] = s
	s.timer = time.AfterFunc(t.handshake, s.expire)
}

// remove ends a session.
func (t *sessions) remove(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.close()
}

// close ends the session. The caller holds mu. Calls that are being answered are not cancelled.
func (s *session) close() {
	if s.in.byID[s.id] == s {
		delete(s.in.byID, s.id)
		s.timer.Stop()
	}
	s.end()
	s.core.End()
	s.place.Close()
}

// timeout returns how long the session may go without a request.
func (s *session) timeout() time.Duration {
	if s.initialized {
		return s.in.idle
	}
	return s.in.handshake
}

// expire ends the session if its time has run out.
func (s *session) expire() {
	s.in.mu.Lock()
	defer s.in.mu.Unlock()
	left := time.Until(s.last.Add(s.timeout()))
	switch {
	case s.in.byID[s.id] != s:
	case s.busy > 0:
		s.timer.Reset(s.timeout()) // its last request has not ended yet
	case left > 0:
		s.timer.Reset(left)
	default:
		s.close()
	}
}

// find returns the session of a request's headers and token. Without a session, it returns the HTTP
// status and the error.
func (t *sessions) find(h http.Header, token string) (s *session, status int, no *jsonrpc.Error) {
	id := h.Get("Mcp-Session-Id")
	t.mu.Lock()
	defer t.mu.Unlock()
	switch s = t.byID[id]; {
	case id == "":
		return nil, http.StatusBadRequest, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "the Mcp-Session-Id header is missing"}
	case s == nil:
		return nil, http.StatusNotFound, &jsonrpc.Error{Code: wire.CodeNoSession, Message: "session not found; initialize a new one"}
	case subtle.ConstantTimeCompare([]byte(s.token), []byte(token)) == 0:
		// Two tokens of one subject have two sessions, since either may be revoked.
		return nil, http.StatusForbidden, &jsonrpc.Error{Code: wire.CodeNoSession, Message: "the session belongs to another token"}
	}
	return s, 0, nil
}

// enter records the start of a request to a session; [sessions.leave] must follow.
func (t *sessions) enter(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.busy++
}

// leave records the end of a request, and whether that request completed the handshake.
func (t *sessions) leave(s *session, initialized bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.busy--
	s.last = time.Now()
	if initialized && !s.initialized {
		s.initialized = true
		s.timer.Reset(t.idle)
	}
}

// beginCall records a call that the core answers. It reports false if the session already has a
// call with that id.
func (s *session) beginCall(key string, cancel *context.CancelFunc) bool {
	s.in.mu.Lock()
	defer s.in.mu.Unlock()
	if s.calls[key] != nil {
		return false
	}
	s.calls[key] = cancel
	return true
}

// endCall removes a finished call. It may be called again, even if another call has the id by then.
func (s *session) endCall(key string, cancel *context.CancelFunc) {
	s.in.mu.Lock()
	defer s.in.mu.Unlock()
	if s.calls[key] == cancel {
		delete(s.calls, key)
	}
}

// cancel cancels a call that the core answers, if there is one.
func (s *session) cancel(key string) {
	s.in.mu.Lock()
	defer s.in.mu.Unlock()
	if cancel := s.calls[key]; cancel != nil {
		(*cancel)()
	}
}

// count returns the number of sessions.
func (t *sessions) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.byID)
}

// reserve takes room for one more session of a client. If no room is left, refusal says why. The
// caller closes the account if no session is created.
func (t *sessions) reserve(owner string) (place *limit.Account, refusal string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	const end = "end one that is not needed (DELETE with its Mcp-Session-Id), or try again later"
	for place = t.room.Open(owner); !place.Try(1); {
		own, over := t.room.Share(owner)
		switch all := t.room.Held(); {
		case over && !t.evict(owner):
			return nil, fmt.Sprintf("you have %d of the %d open sessions, and the remaining places are for other clients: %s", own, all, end)
		case !over && !t.evict(""):
			return nil, fmt.Sprintf("there are %d sessions, and the server allows no more: %s", all, end)
		}
	}
	return place, ""
}

// evict ends the session that has been silent longest among those without
// notifications/initialized, and reports whether there was one. It looks only among the owner's
// sessions, or among all if owner is empty. The caller holds mu.
func (t *sessions) evict(owner string) bool {
	var oldest *session
	for _, s := range t.byID {
		if !s.initialized && s.busy == 0 && (owner == "" || s.owner == owner) && (oldest == nil || s.last.Before(oldest.last)) {
			oldest = s
		}
	}
	if oldest == nil {
		return false
	}
	oldest.close()
	return true
}

// closeAll ends all sessions.
func (t *sessions) closeAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.byID {
		s.close()
	}
}

// sessionOf returns the session of a request. Without a session, it answers with an error and
// returns nil.
func (h *Handler) sessionOf(w http.ResponseWriter, r *http.Request, c httpguard.Caller) *session {
	in, status, no := h.sessions.find(r.Header, c.Token)
	if no != nil {
		writeError(w, status, nil, no)
	}
	return in
}

// serveDelete ends a session.
func (h *Handler) serveDelete(w http.ResponseWriter, r *http.Request, c httpguard.Caller) {
	if in := h.sessionOf(w, r, c); in != nil {
		h.sessions.remove(in)
		w.WriteHeader(http.StatusNoContent)
	}
}

// serveSession answers a message of a version with sessions.
func (x *exchange) serveSession() {
	t := &x.h.sessions
	if x.r.Header.Get("Mcp-Session-Id") == "" {
		if x.m.Method == "initialize" && x.m.Kind == wire.Call {
			x.create()
			return
		}
		refuse(x.w, http.StatusBadRequest, idOf(x.m), jsonrpc.CodeInvalidRequest,
			"there is no session: send initialize first, then its Mcp-Session-Id with every request")
		return
	}
	in, status, no := t.find(x.r.Header, x.caller.Token)
	if no != nil {
		writeError(x.w, status, idOf(x.m), no)
		return
	}
	t.enter(in)
	defer func() { t.leave(in, x.m.Kind == wire.Notification && x.m.Method == "notifications/initialized") }()
	if key := x.m.Cancelled(); key != "" {
		in.cancel(key)
	}
	x.serve(in)
}

// create begins a session, unless the table is full of sessions in use.
func (x *exchange) create() {
	t := &x.h.sessions
	place, no := t.reserve(x.caller.Share)
	if no != "" {
		refuseBusy(x.w, http.StatusTooManyRequests, []byte(x.m.ID), no)
		return
	}
	in := t.new(x.h.core, x.caller, place)
	work, refused := x.h.core.Take(x.m, x.p, x.fault, x.caller, in.core, nil)
	if refused != nil {
		t.remove(in)
		x.refuse(refused)
		return
	}
	httpguard.IsRecorded(x.r)
	defer work.Close()
	a := work.Answer(x.r.Context(), nil)
	if a.Error == nil {
		t.add(in)
		x.w.Header().Set("Mcp-Session-Id", in.id)
	} else {
		t.remove(in) // before the client reads that there is no session
	}
	x.write(a)
}
