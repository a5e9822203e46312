package httpd

import (
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
		c, ok := h.Caller(r)
		switch {
		case !ok:
			h.Unauthorized(w, r)
		case r.Method == http.MethodDelete:
			h.pass(w, carry(r, &Visit{Caller: c}), h.legacy, sent{})
			h.sessions.forget(r.Header.Get("Mcp-Session-Id"), h.o.SDK)
		default:
			h.stream(w, carry(r, &Visit{Caller: c}), h.legacy, sent{}, c)
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
	// A slowly arriving body must not occupy the place of a call that could run, so it is read
	// completely first.
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
	visit := &Visit{Caller: caller, guard: h.Guard}
	if no := visit.begin(); no != "" {
		refuseBusy(w, http.StatusTooManyRequests, nil, no)
		return
	}
	defer visit.Leave()
	if h.answered(w, r, body, caller, modern) {
		return
	}
	h.serveSDK(w, r, body, visit, modern)
}

// answered answers a call if the core accepts it, and reports whether it did.
func (h *Handler) answered(w http.ResponseWriter, r *http.Request, body []byte, from httpguard.Caller, modern bool) bool {
	if !accepted(r.Header["Accept"]) || len(r.Header["Last-Event-Id"]) > 0 {
		return false
	}
	call, ok := wire.ParseCall(body)
	if !ok {
		return false
	}
	p, ok := wire.ParseParams(call.Method, call.Params)
	if !ok {
		return false
	}
	ctx := r.Context()
	var init *mcp.InitializeParams
	ended := func() {}
	if modern {
		if !agrees(r.Header, call.Method, p) {
			return false
		}
	} else {
		in := h.sessions.enter(r.Header, from.Token)
		if in == nil {
			return false
		}
		defer h.sessions.leave(in, false)
		if p.Meta.Version != "" || !in.speaks(r.Header["Mcp-Protocol-Version"]) {
			return false
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		if !in.beginCall(call.Key(), &cancel) { // the SDK would not know of the core's call
			httpguard.IsCall(r, call.Method)
			no := wire.Invalid(wire.InFlight)
			writeError(w, http.StatusBadRequest, []byte(call.ID), &no.Error)
			return true
		}
		ended = func() { in.endCall(call.Key(), &cancel) }
		defer ended()
		init = in.init
	}
	work, ok := h.o.Take(call, p, from, init)
	if !ok {
		return false
	}
	httpguard.IsLogged(r, true)
	defer work.Close()
	a := work.Answer(ctx, nil)
	ended() // a client that has the answer may reuse the id at once
	if a.Busy {
		refuseBusy(w, http.StatusTooManyRequests, []byte(a.ID), a.Error.Message)
		return true
	}
	if status := statusOf(a.Error, modern); status != http.StatusOK {
		writeError(w, status, []byte(a.ID), a.Error)
		return true
	}
	to := httpguard.NewPacedWriter(w, h.o.Guard.WriteTimeout)
	_ = a.Write(&to, "", func(size int64) error { // it fails only if the client has left
		header := w.Header()
		header["Cache-Control"], header["Content-Type"] = noCache, asJSON
		header["Content-Length"] = []string{strconv.FormatInt(size, 10)}
		return nil
	})
	return true
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
