package httpd

import (
	"bytes"
	"context"
	"mime"
	"net/http"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/internal/server/httpguard"
	"github.com/knack-dev/knack/mcpserver/internal/wire"
	"github.com/knack-dev/knack/skillsext"
)

// serveMCP answers at /mcp.
func (h *Handler) serveMCP(w http.ResponseWriter, r *http.Request) {
	switch {
	case h.Ended().Err() != nil:
		refuseBusy(w, http.StatusServiceUnavailable, nil, "the server is ending")
		return
	case r.Method != http.MethodPost && !wellFormed(r.Header):
		invalid(w, http.StatusBadRequest, malformed)
		return
	}
	modern := r.Header.Get("Mcp-Protocol-Version") >= skillsext.Since
	switch r.Method {
	case http.MethodPost:
		h.servePost(w, r, modern)
	case http.MethodGet, http.MethodDelete:
		if modern {
			w.Header().Set("Allow", "POST")
			invalid(w, http.StatusMethodNotAllowed, "method not allowed: protocol version 2026-07-28 has no sessions")
			return
		}
		caller, ok := h.Caller(r)
		if !ok {
			h.Unauthorized(w, r)
			return
		}
		if no := agreed(r.Header.Get("Mcp-Protocol-Version"), ""); no != nil {
			writeError(w, http.StatusBadRequest, nil, no)
			return
		}
		if r.Method == http.MethodDelete {
			h.serveDelete(w, r, caller)
		} else {
			h.serveGet(w, r, caller)
		}
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		invalid(w, http.StatusMethodNotAllowed, "method not allowed")
	}
}

func (h *Handler) servePost(w http.ResponseWriter, r *http.Request, modern bool) {
	if kind := r.Header.Get("Content-Type"); kind != "application/json" {
		if t, _, err := mime.ParseMediaType(kind); err != nil || t != "application/json" {
			invalid(w, http.StatusUnsupportedMediaType, "Content-Type must be application/json")
			return
		}
	}
	// The body is read before the request takes a place, because a body that arrives slowly must
	// not keep another call from running.
	body, free, ok := h.Body(w, r, h.o.MaxBody)
	defer free()
	if !ok {
		return
	}
	caller, ok := h.Caller(r)
	if !ok {
		h.Unauthorized(w, r) // the token was revoked while the body arrived
		return
	}
	place, no := h.Begin(caller.Share)
	if no != "" {
		refuseBusy(w, http.StatusTooManyRequests, nil, no)
		return
	}
	defer place.Close()
	m, ok := parse(w, body)
	if !ok {
		return
	}
	if m.Kind == wire.Call {
		httpguard.IsCall(r, m.Method)
	}
	p, fault := wire.ParseParams(m.Method, m.Params)
	if no := objection(r.Header, m, p, modern); no != nil {
		writeError(w, http.StatusBadRequest, idOf(m), no)
		return
	}
	x := &exchange{h: h, w: w, r: r, m: m, p: p, fault: fault, caller: caller, place: place, free: free, modern: modern}
	if modern {
		x.serve(nil)
	} else {
		x.serveSession()
	}
}

// parse reads a message from a body. If the body is not a message, parse answers with an error and
// returns false.
func parse(w http.ResponseWriter, body []byte) (*wire.Message, bool) {
	m, no := wire.Parse(body)
	switch {
	case no != nil:
		writeError(w, http.StatusBadRequest, no.ID, &no.Error)
	case m.Kind == wire.Nothing && len(bytes.TrimSpace(body)) == 0:
		refuse(w, http.StatusBadRequest, nil, jsonrpc.CodeParseError, "parse error: the body is empty")
	case m.Kind == wire.Nothing:
		invalid(w, http.StatusBadRequest, "a result or an error without an id answers no call")
	default:
		return &m, true
	}
	return nil, false
}

// idOf returns the id for the answer to a message, or nil if it is not a call.
func idOf(m *wire.Message) []byte {
	if m.Kind != wire.Call {
		return nil
	}
	return []byte(m.ID)
}

// exchange is one message and its answer.
type exchange struct {
	h      *Handler
	w      http.ResponseWriter
	r      *http.Request
	m      *wire.Message
	p      *wire.Params
	fault  *jsonrpc.Error // of the params
	caller httpguard.Caller
	place  *httpguard.Work
	free   func() // releases the memory of the body
	modern bool
}

// serve answers a message, which belongs to a session unless in is nil.
func (x *exchange) serve(in *session) {
	var core Session
	if in != nil {
		core = in.core
	}
	if x.m.Kind != wire.Call {
		if x.m.Kind == wire.Notification {
			if no := x.h.core.Hear(x.m, core); no != nil {
				writeError(x.w, http.StatusBadRequest, nil, no)
				return
			}
		}
		x.w.WriteHeader(http.StatusAccepted)
		return
	}
	if x.modern && x.m.Method == "subscriptions/listen" {
		x.listen()
		return
	}
	work, no := x.h.core.Take(x.m, x.p, x.fault, x.caller, core, nil)
	if no != nil {
		x.refuse(no)
		return
	}
	ctx := x.r.Context()
	ended := func() {}
	if in != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		if !in.beginCall(x.m.Key, &cancel) {
			writeError(x.w, http.StatusBadRequest, []byte(x.m.ID), wire.InvalidRequest(wire.InFlight))
			return
		}
		ended = func() { in.endCall(x.m.Key, &cancel) }
		defer ended()
	}
	httpguard.IsRecorded(x.r)
	defer work.Close()
	a := work.Answer(ctx, nil)
	ended() // a client that has the answer may reuse the id immediately
	x.write(a)
}

// refuse answers a call that was not accepted.
func (x *exchange) refuse(no *jsonrpc.Error) {
	status := statusOf(no, x.modern)
	if no.Code == jsonrpc.CodeInvalidRequest {
		status = http.StatusBadRequest
	}
	x.writeAs(status, wire.Answer{ID: x.m.ID, Error: no})
}

// write writes an answer.
func (x *exchange) write(a wire.Answer) {
	if a.Busy {
		refuseBusy(x.w, http.StatusTooManyRequests, []byte(a.ID), a.Error.Message)
		return
	}
	x.writeAs(statusOf(a.Error, x.modern), a)
}

func (x *exchange) writeAs(status int, a wire.Answer) {
	if status != http.StatusOK {
		writeError(x.w, status, []byte(a.ID), a.Error)
		return
	}
	to := httpguard.NewPacedWriter(x.w, x.h.o.WriteTimeout)
	_ = a.Write(&to, "", func(size int64) error { // it fails only if the client has left
		header := x.w.Header()
		header["Cache-Control"], header["Content-Type"] = noCache, asJSON
		header["Content-Length"] = []string{strconv.FormatInt(size, 10)}
		return nil
	})
}

// Header values shared by all answers; they must not be changed.
var (
	noCache = []string{"no-cache, no-transform"}
	asJSON  = []string{"application/json"}
)

// statusOf returns the HTTP status of an answer. Errors have their own status only since
// 2026-07-28.
func statusOf(err *jsonrpc.Error, modern bool) int {
	if err != nil && modern {
		switch err.Code {
		case jsonrpc.CodeMethodNotFound:
			return http.StatusNotFound
		case jsonrpc.CodeInvalidParams, mcp.CodeUnsupportedProtocolVersion, mcp.CodeMissingRequiredClientCapabilities:
			return http.StatusBadRequest
		}
	}
	return http.StatusOK
}
