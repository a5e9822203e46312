package httpd

import (
	"context"
	"crypto/subtle"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/internal/server/httpguard"
	"github.com/knack-dev/knack/skillsext"
)

// sessions is the table of the sessions of protocol versions before 2026-07-28. The SDK begins them
// but does not see the calls that the core answers, so the table times them out.
//
// A client that never sends notifications/initialized has left, or tries to take places from
// others: its session ends soon if no request comes, and is the first to be evicted if there are
// too many. A client that keeps calling without it keeps its session.
type sessions struct {
	idle, handshake time.Duration // maximum time without a request; handshake applies before notifications/initialized
	room            *limit.Budget // of sessions, including those being created

	mu sync.Mutex
	of map[string]*session // by id
}

type session struct {
	in    *sessions
	ss    *mcp.ServerSession
	init  *mcp.InitializeParams
	token string         // began the session; empty if none was needed
	owner string         // client whose share the session counts against
	place *limit.Account // of the table's room

	// Guarded by the table's mu.
	initialized bool
	busy        int // requests being answered
	last        time.Time
	timer       *time.Timer
	calls       map[string]*context.CancelFunc // of the core, by [wire.Key]
}

// add registers a session until it ends.
func (t *sessions) add(ss *mcp.ServerSession, from httpguard.Caller, place *limit.Account) {
	s := &session{
		in: t, ss: ss, init: ss.InitializeParams(), token: from.Token, owner: from.Share, place: place,
		last: time.Now(), calls: map[string]*context.CancelFunc{},
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of[ss.ID()] = s
	s.timer = time.AfterFunc(t.handshake, s.expire)
	go func() {
		_ = ss.Wait()
		t.remove(ss.ID())
	}()
}

// forget removes a session that the SDK has ended. It runs before the client gets the answer, so
// that the client can use the freed room at once.
func (t *sessions) forget(id string, sdk *mcp.Server) {
	for ss := range sdk.Sessions() {
		if ss.ID() == id {
			return
		}
	}
	t.remove(id)
}

func (t *sessions) remove(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.of[id]; s != nil {
		s.remove()
	}
}

// remove takes the session out of the table. The caller holds mu.
func (s *session) remove() {
	delete(s.in.of, s.ss.ID())
	s.timer.Stop()
	s.place.Close()
}

// close ends the session. The caller holds mu. Closing waits for handlers.
func (s *session) close() {
	s.remove()
	go func() { _ = s.ss.Close() }()
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
	case s.in.of[s.ss.ID()] != s:
	case s.busy > 0:
		s.timer.Reset(s.timeout()) // its last request has not ended yet
	case left > 0:
		s.timer.Reset(left)
	default:
		s.close()
	}
}

// enter records the start of a request to the session of its headers and token. It returns nil
// without such a session; else [sessions.leave] must follow.
func (t *sessions) enter(h http.Header, token string) *session {
	ids := h["Mcp-Session-Id"]
	if len(ids) != 1 {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.of[ids[0]]
	if s == nil || subtle.ConstantTimeCompare([]byte(s.token), []byte(token)) == 0 {
		return nil
	}
	s.busy++
	return s
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

// speaks reports whether a request of the session may name this version in its header.
func (s *session) speaks(version []string) bool {
	return len(version) == 0 || len(version) == 1 && version[0] < skillsext.Since && slices.Contains(Versions(), version[0])
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
	return len(t.of)
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

// evict ends the longest silent session without notifications/initialized, if any: among the
// client's, or among all if owner is empty. The caller holds mu.
func (t *sessions) evict(owner string) bool {
	var oldest *session
	for _, s := range t.of {
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
	for _, s := range t.of {
		s.close()
	}
}

// serveSession passes a POST of a version with sessions to the SDK.
func (h *Handler) serveSession(w http.ResponseWriter, r *http.Request, s sent, from httpguard.Caller) {
	switch {
	case r.Header.Get("Mcp-Session-Id") != "":
		in := h.sessions.enter(r.Header, from.Token)
		if in == nil { // the SDK reports the fault
			h.pass(w, r, h.legacy, s)
			return
		}
		if s.cancelled != "" {
			in.cancel(s.cancelled)
		}
		taken := h.pass(w, r, h.legacy, s)
		h.sessions.leave(in, taken && s.method == "notifications/initialized")
	case s.method == "initialize" && s.id != nil:
		h.create(w, r, s, from)
	default:
		// The SDK would create a session, refuse, and log it as its own error.
		refuse(w, http.StatusBadRequest, s.id, jsonrpc.CodeInvalidRequest,
			"there is no session: send initialize first, then its Mcp-Session-Id with every request")
	}
}

// create begins a session, unless the table is full of sessions in use.
func (h *Handler) create(w http.ResponseWriter, r *http.Request, s sent, from httpguard.Caller) {
	place, no := h.sessions.reserve(from.Share)
	if no != "" {
		refuseBusy(w, http.StatusTooManyRequests, s.id, no)
		return
	}
	made := false
	defer func() {
		if !made {
			place.Close()
		}
	}()
	a := newAnswer(w, h.o.Guard.WriteTimeout, s)
	a.beforeWrite = func() { // the SDK has answered, but nothing is written yet
		id := w.Header().Get("Mcp-Session-Id")
		for ss := range h.o.SDK.Sessions() {
			if id != "" && ss.ID() == id && ss.InitializeParams() != nil && !a.isError() {
				h.sessions.add(ss, from, place)
				made = true
				return
			}
		}
		place.Close() // before the client reads that there is no session
		w.Header().Del("Mcp-Session-Id")
	}
	h.legacy.ServeHTTP(a, r)
	a.finish()
}
