package mcpserver

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serveSession serves a POST of the versions that have sessions.
func (h *HTTP) serveSession(w http.ResponseWriter, r *http.Request, s sent, c caller) {
	id := r.Header.Get("Mcp-Session-Id")
	switch {
	case id != "":
		leave := h.handshakes.enter(id)
		taken := h.pass(w, r, h.legacy, s)
		leave(taken && s.method == "notifications/initialized")
	case s.method == "initialize" && s.id != nil:
		h.create(w, r, s, c)
	default:
		// The SDK would make a session, refuse, and log it as an error of its own.
		refuseRPC(w, http.StatusBadRequest, s.id, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest,
			Message: "there is no session: send initialize first, then its Mcp-Session-Id with every request"})
	}
}

// create makes a session, unless there are enough that are in use.
func (h *HTTP) create(w http.ResponseWriter, r *http.Request, s sent, c caller) {
	if r.ContentLength > maxInitialize { // the body is here, and that is its length
		refuseRPC(w, http.StatusRequestEntityTooLarge, s.id, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest,
			Message: fmt.Sprintf("initialize is over %d bytes, which a session would have to keep", maxInitialize)})
		return
	}
	h.creating.Lock()
	client := h.sharer(c)
	n, own := h.sessionsOf(client)
	if overShare(client, own, n, h.o.MaxSessions) && !h.handshakes.evict(client) {
		h.creating.Unlock()
		refuseBusy(w, http.StatusTooManyRequests, s.id, fmt.Sprintf("you have %d of the %d sessions that there are, and the rest is for others: end one that is not needed (DELETE with its Mcp-Session-Id), or try again later", own, n))
		return
	}
	if n >= h.o.MaxSessions && !h.handshakes.evict("") {
		h.creating.Unlock()
		refuseBusy(w, http.StatusTooManyRequests, s.id, fmt.Sprintf("there are %d sessions, and no more can be had: end one that is not needed (DELETE with its Mcp-Session-Id), or try again later", n))
		return
	}
	// The session exists once the SDK begins to answer.
	begins := sync.OnceFunc(func() {
		defer h.creating.Unlock()
		if id := w.Header().Get("Mcp-Session-Id"); id != "" {
			for ss := range h.server.mcp.Sessions() {
				if ss.ID() == id {
					h.owners[id] = client
					h.handshakes.begin(ss, client)
				}
			}
		}
	})
	defer begins()
	h.pass(&firstByte{w, begins}, r, h.legacy, s)
}

// handshakes are the sessions whose clients have not yet sent
// notifications/initialized. A client that never does has left, or means to take
// places from others: its session ends soon where nothing comes, and gives way
// where there are too many. One that goes on calling without it keeps its session.
type handshakes struct {
	timeout time.Duration
	mu      sync.Mutex
	of      map[string]*handshake // by the session's id
}

type handshake struct {
	session *mcp.ServerSession
	client  string // whose it is
	timer   *time.Timer
	last    time.Time // of a request
	busy    int       // requests that are being answered
}

func (h *handshakes) begin(ss *mcp.ServerSession, client string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.of == nil {
		h.of = map[string]*handshake{}
	}
	h.of[ss.ID()] = &handshake{session: ss, client: client, last: time.Now(), timer: time.AfterFunc(h.timeout, func() { h.expire(ss.ID()) })}
}

// enter notes a request; what it returns notes its end, and whether it was the one
// that ends the handshake.
func (h *handshakes) enter(id string) func(initialized bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	shake := h.of[id]
	if shake == nil {
		return func(bool) {}
	}
	shake.busy++
	return func(initialized bool) {
		h.mu.Lock()
		defer h.mu.Unlock()
		shake.busy--
		shake.last = time.Now()
		if initialized {
			shake.timer.Stop()
			delete(h.of, id)
		} else if h.of[id] == shake {
			shake.timer.Reset(h.timeout)
		}
	}
}

// expire ends a session, unless a request is being answered: its end sets the
// timer anew.
func (h *handshakes) expire(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if shake := h.of[id]; shake != nil && shake.busy == 0 {
		h.end(id)
	}
}

// evict ends the session that has been silent for longest, if there is one: a
// client's, or with "" any.
func (h *handshakes) evict(client string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	oldest := ""
	for id, shake := range h.of {
		if shake.busy == 0 && (client == "" || shake.client == client) && (oldest == "" || shake.last.Before(h.of[oldest].last)) {
			oldest = id
		}
	}
	if oldest == "" {
		return false
	}
	h.end(oldest)
	return true
}

// end is called with the lock held. Closing waits for handlers.
func (h *handshakes) end(id string) {
	shake := h.of[id]
	shake.timer.Stop()
	delete(h.of, id)
	go func() { _ = shake.session.Close() }()
}
