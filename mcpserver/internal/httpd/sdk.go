package httpd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/internal/base/rawjson"
	"github.com/knack-dev/knack/internal/server/httpguard"
	"github.com/knack-dev/knack/mcpserver/internal/wire"
)

// sent describes a request before the SDK sees it.
type sent struct {
	id        json.RawMessage // of a call, else nil
	method    string
	version   string // the protocol version in a call's _meta, "" without one
	params    json.RawMessage
	cancelled string // key of the call that the message cancels
}

// serveSDK leaves a message to the SDK.
func (h *Handler) serveSDK(w http.ResponseWriter, r *http.Request, body []byte, visit *Visit, modern bool) {
	defer func() { httpguard.IsLogged(r, visit.isHandled()) }()
	s, ok := peek(w, body)
	if !ok {
		return
	}
	if s.id != nil {
		httpguard.IsCall(r, s.method)
	}
	if no := objection(r.Header, s, modern); no != nil {
		writeError(w, http.StatusBadRequest, s.id, no)
		return
	}
	if no := keepable(s); no != nil {
		writeError(w, http.StatusRequestEntityTooLarge, s.id, no)
		return
	}
	r = carry(r, visit)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	switch {
	case s.id == nil && strings.HasPrefix(s.method, "notifications/") && !notifications[s.method]:
		h.ignore(w, r, modern, visit.Caller)
	case modern && s.method == "subscriptions/listen":
		visit.wait()
		h.stream(w, r, h.modern, s, visit.Caller)
	case modern:
		h.pass(w, r, h.modern, s)
	default:
		h.serveSession(w, r, s, visit.Caller)
	}
}

// Bounds on the client data that the SDK keeps while a session or a stream is open. A session has
// one copy, a stream up to five. Real handshakes have less than 1 KiB and 60 values.
const (
	maxInitialize = 16 << 10
	maxListen     = 8 << 10
	maxKeptValues = 128
)

// keepable returns why a message is too large for the SDK to keep, or nil.
func keepable(s sent) *jsonrpc.Error {
	kept, most, filter := "session", maxInitialize, json.RawMessage(nil)
	switch s.method {
	case "initialize":
	case "subscriptions/listen":
		kept, most = "stream", maxListen
		rawjson.Members(s.params, func(key, value []byte) bool {
			if string(key) == `"notifications"` { // the filter is bounded separately
				filter = value
			}
			return true
		})
	default:
		return nil
	}
	much := ""
	if n := len(s.params) - len(filter); n > most {
		much = fmt.Sprintf("%d bytes, and at most %d", n, most)
	} else if n := rawjson.Values(s.params) - rawjson.Values(filter); n > maxKeptValues {
		much = fmt.Sprintf("%d JSON values, and at most %d", n, maxKeptValues)
	} else {
		return nil
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: fmt.Sprintf("the params of %s have %s are taken, because the %s would have to keep them", s.method, much, kept)}
}

// notifications are the notifications that the SDK knows.
var notifications = map[string]bool{
	"notifications/cancelled": true, "notifications/initialized": true, "notifications/progress": true, "notifications/roots/list_changed": true,
}

// ignore accepts a notification of an unknown kind, which the SDK would refuse: a client may know
// more kinds than this server (JSON-RPC, Notification).
func (h *Handler) ignore(w http.ResponseWriter, r *http.Request, modern bool, from httpguard.Caller) {
	if !modern {
		in := h.sessions.enter(r.Header, from.Token)
		if in == nil {
			h.serveSession(w, r, sent{}, from) // reports the fault of the session
			return
		}
		h.sessions.leave(in, false)
	}
	w.WriteHeader(http.StatusAccepted)
}

// peek reads the fields needed to refuse a message, and answers a body that is no message. It
// checks as stdio does: the SDK would ignore a message without a method, and round an id.
func peek(w http.ResponseWriter, body []byte) (s sent, ok bool) {
	if len(bytes.Trim(body, " \t\r\n")) == 0 {
		refuse(w, http.StatusBadRequest, nil, jsonrpc.CodeParseError, "parse error: the body is empty")
		return s, false
	}
	m, no := wire.Parse(body)
	if no != nil {
		writeError(w, http.StatusBadRequest, no.ID, &no.Error)
		return s, false
	}
	if m == nil {
		invalid(w, http.StatusBadRequest, "a result or an error without an id answers no call")
		return s, false
	}
	if req, ok := m.(*jsonrpc.Request); ok {
		s.method, s.cancelled, s.params = req.Method, wire.Cancelled(req), req.Params
		if req.IsCall() {
			s.id, s.version = wire.EncodeID(req.ID), metaVersion(req.Params)
		}
	}
	return s, true
}

// metaVersion returns the protocol version in a call's _meta; every call has one since 2026-07-28.
func metaVersion(params json.RawMessage) (version string) {
	// Maps, because struct fields match keys in any case. A missing member gives "".
	var p, meta map[string]json.RawMessage
	_ = json.Unmarshal(params, &p)
	_ = json.Unmarshal(p["_meta"], &meta)
	_ = json.Unmarshal(meta[mcp.MetaKeyProtocolVersion], &version)
	return version
}

// stream serves a request that waits for notifications until the client leaves or the server ends.
func (h *Handler) stream(w http.ResponseWriter, r *http.Request, next http.Handler, s sent, c httpguard.Caller) {
	place := h.streams.Open(c.Share)
	defer place.Close()
	if !place.Try(1) {
		refuseBusy(w, http.StatusTooManyRequests, s.id, httpguard.Full(h.streams, c.Share, "streams"))
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(h.Ended(), cancel)()
	open := &openStream{c.Token, cancel}
	h.open.Store(open, nil)
	defer h.open.Delete(open)
	if _, ok := h.o.Guard.Access.Now().Authenticate(ctx, c.Token); !ok {
		cancel() // the token was revoked after it was checked
	}
	h.pass(w, r.WithContext(ctx), next, s)
}

// pass lets the SDK answer a request, and reports whether the SDK accepted it.
func (h *Handler) pass(w http.ResponseWriter, r *http.Request, next http.Handler, s sent) bool {
	a := newAnswer(w, h.o.Guard.WriteTimeout, s)
	next.ServeHTTP(a, r)
	a.finish()
	return a.refused == 0
}
