package httpd

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/mcpserver/internal/wire"
	"github.com/knack-dev/knack/skillsext"
)

var (
	reSession = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[!-~]{1,128}$`) })
	reEvent   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9A-Za-z]{0,64}_[0-9]{1,18}$`) })
)

const malformed = "a header of the protocol is malformed or given twice"

// wellFormed refuses headers that the SDK would repeat in its answer.
func wellFormed(h http.Header) bool {
	for name, ok := range map[string]func(string) bool{
		"Mcp-Protocol-Version": wire.IsVersion,
		"Mcp-Session-Id":       func(s string) bool { return reSession().MatchString(s) },
		"Last-Event-Id":        func(s string) bool { return reEvent().MatchString(s) },
	} {
		if v := h[name]; len(v) > 1 || len(v) == 1 && !ok(v[0]) {
			return false
		}
	}
	return true
}

// serveMCP answers at /mcp.
func (h *Handler) serveMCP(w http.ResponseWriter, r *http.Request) {
	switch {
	case h.draining.Load():
		refuseBusy(w, http.StatusServiceUnavailable, nil, "the server is ending")
		return
	case r.Method != http.MethodPost && !wellFormed(r.Header):
		refuse(w, http.StatusBadRequest, malformed)
		return
	}
	modern := r.Header.Get("Mcp-Protocol-Version") >= skillsext.Since
	switch r.Method {
	case http.MethodPost:
		h.servePost(w, r, modern)
	case http.MethodGet, http.MethodDelete:
		if modern {
			w.Header().Set("Allow", "POST")
			refuse(w, http.StatusMethodNotAllowed, "method not allowed: protocol version 2026-07-28 has no sessions")
			return
		}
		c, ok := h.caller(r)
		switch {
		case !ok:
			h.unknown(w, r)
		case r.Method == http.MethodDelete:
			h.pass(w, carry(r, &Visit{Caller: c}), h.legacy, sent{})
		default:
			h.stream(w, carry(r, &Visit{Caller: c}), h.legacy, sent{}, c)
		}
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		refuse(w, http.StatusMethodNotAllowed, "method not allowed")
	}
}

// TooManyCalls refuses a call for which there is no place.
const TooManyCalls = "too many calls at once; try again"

func (h *Handler) servePost(w http.ResponseWriter, r *http.Request, modern bool) {
	if kind := r.Header.Get("Content-Type"); kind != "application/json" {
		if t, _, err := mime.ParseMediaType(kind); err != nil || t != "application/json" {
			refuse(w, http.StatusUnsupportedMediaType, "Content-Type must be application/json")
			return
		}
	}
	// A body that comes slowly must not take a place from a call that could be worked
	// on: it has to be here first.
	body, ok := h.body(w, r)
	if !ok {
		return
	}
	if !take(h.calls) {
		refuseBusy(w, http.StatusTooManyRequests, nil, TooManyCalls)
		return
	}
	visit := &Visit{calls: h.calls, holders: 1}
	defer visit.Leave()
	if visit.Caller, ok = h.caller(r); !ok {
		h.unknown(w, r) // the token was taken back while the body arrived
		return
	}
	if h.answered(w, r, body, visit.Caller, modern) {
		return
	}
	h.serveSDK(w, r, body, visit, modern)
}

// answered answers a call that the core takes, and reports whether it did.
func (h *Handler) answered(w http.ResponseWriter, r *http.Request, body []byte, from Caller, modern bool) bool {
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
		if !in.begin(call.Key(), cancel) {
			return false
		}
		defer in.end(call.Key())
		init = in.init
	}
	work, ok := h.core.Take(call, p, from, init)
	if !ok {
		return false
	}
	if x := exchangeOf(r); x != nil {
		x.method, x.handled = call.Method, true
	}
	a := work(ctx)
	if status := statusOf(a.Error, modern); status != http.StatusOK {
		refuseRPC(w, status, a.ID, a.Error)
		return true
	}
	to := newPaced(w, h.o.WriteTimeout)
	_ = a.Write(&to, "", func(size int64) error { // what fails, fails for a client that has left
		header := w.Header()
		header["Cache-Control"], header["Content-Type"] = noCache, asJSON
		header["Content-Length"] = []string{strconv.FormatInt(size, 10)}
		return nil
	})
	return true
}

// Values of headers, which must not be changed.
var (
	noCache = []string{"no-cache, no-transform"}
	asJSON  = []string{"application/json"}
)

// statusOf is the status of an answer: an error has another one only since 2026-07-28.
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

// accepted reports whether a client takes JSON and events, as the protocol wants it to.
func accepted(values []string) bool {
	if len(values) != 1 {
		return false
	}
	json, events := false, false
	for kind := range strings.SplitSeq(values[0], ",") {
		kind, _, _ = strings.Cut(kind, ";")
		switch strings.TrimSpace(kind) {
		case "application/json":
			json = true
		case "text/event-stream":
			events = true
		case "*/*":
			json, events = true, true
		}
	}
	return json && events
}

// agrees reports whether a call's headers say what its body says (2026-07-28, Standard
// Request Headers).
func agrees(h http.Header, method string, p wire.Params) bool {
	is := func(header, value string) bool {
		v := h[header]
		return len(v) == 1 && v[0] == value
	}
	if !is("Mcp-Protocol-Version", p.Meta.Version) || !is("Mcp-Method", method) || len(h["Mcp-Session-Id"]) > 0 {
		return false
	}
	name := p.Name
	switch method {
	case "resources/read":
		name = p.URI
	case "tools/call", "prompts/get":
	default:
		return true
	}
	v := h["Mcp-Name"]
	if len(v) != 1 || name == "" {
		return false
	}
	said, no := decodedName(v[0])
	return no == nil && said == name
}

// What a client puts around a name that no header can carry as it is, in Base64
// (2026-07-28, Standard Request Headers).
const (
	encodedBegins = "=?base64?"
	encodedEnds   = "?="
)

// decodedName is what the header Mcp-Name says. The SDK would compare it with the body as
// it came.
func decodedName(value string) (string, *jsonrpc.Error) {
	encoded, ok := strings.CutPrefix(value, encodedBegins)
	if !ok {
		return value, nil
	}
	encoded, ok = strings.CutSuffix(encoded, encodedEnds)
	text, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if !ok || err != nil {
		return "", &jsonrpc.Error{Code: mcp.CodeHeaderMismatch, Message: "header mismatch: Mcp-Name begins with " + encodedBegins + " and does not go on with Base64 and " + encodedEnds}
	}
	return string(text), nil
}

// sent is what must be known of a request before the SDK sees it.
type sent struct {
	id        json.RawMessage // of a call, else nil
	method    string
	version   string // the protocol version in a call's _meta, "" without one
	cancelled string // the key of the call that it takes back
}

// serveSDK leaves a message to the SDK.
func (h *Handler) serveSDK(w http.ResponseWriter, r *http.Request, body []byte, visit *Visit, modern bool) {
	defer func() {
		if x := exchangeOf(r); x != nil && visit.begun() {
			x.handled = true
		}
	}()
	s, ok := peek(w, body)
	if !ok {
		return
	}
	if x := exchangeOf(r); x != nil && s.id != nil {
		x.method = s.method
	}
	if no := h.objection(r.Header, s, modern); no != nil {
		refuseRPC(w, http.StatusBadRequest, s.id, no)
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

// notifications are those that the SDK knows.
var notifications = map[string]bool{
	"notifications/cancelled": true, "notifications/initialized": true, "notifications/progress": true, "notifications/roots/list_changed": true,
}

// ignore takes a notification of an unknown kind, which the SDK would refuse: a client may
// know more of them than this server (JSON-RPC, Notification).
func (h *Handler) ignore(w http.ResponseWriter, r *http.Request, modern bool, from Caller) {
	if !modern {
		in := h.sessions.enter(r.Header, from.Token)
		if in == nil {
			h.serveSession(w, r, sent{}, from) // says what is wrong with the session
			return
		}
		h.sessions.leave(in, false)
	}
	w.WriteHeader(http.StatusAccepted)
}

// objection is what keeps a message from the SDK because of its headers, nil if nothing
// does. It decodes Mcp-Name.
func (h *Handler) objection(header http.Header, s sent, modern bool) *jsonrpc.Error {
	if !wellFormed(header) {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: malformed}
	}
	if no := agreed(header.Get("Mcp-Protocol-Version"), s); no != nil || !modern {
		return no
	}
	names := header["Mcp-Name"]
	switch len(names) {
	case 0:
		return nil
	case 1:
		name, no := decodedName(names[0])
		header.Set("Mcp-Name", name)
		return no
	}
	return &jsonrpc.Error{Code: mcp.CodeHeaderMismatch, Message: "header mismatch: Mcp-Name is given twice"}
}

// Versions are the protocol versions that are served, newest first: all that the SDK
// supports but 2025-03-26, whose servers must take batches.
func Versions() []string {
	return slices.DeleteFunc(mcp.SupportedProtocolVersions(), func(v string) bool { return v == "2025-03-26" })
}

// agreed refuses a request whose header and body name different protocol versions, or one
// that is not served. The SDK's handler for sessions would answer the first as the second,
// with a list of versions that lacks the one which is meant.
//
// Of 2026-07-28, Streamable HTTP, Protocol Version Header: if the two differ,
// HeaderMismatch; if the version is not implemented, UnsupportedProtocolVersion with those
// that are. Both have the status 400.
func agreed(header string, s sent) *jsonrpc.Error {
	versions := Versions()
	switch {
	case s.version != "" && s.version != header:
		return &jsonrpc.Error{Code: mcp.CodeHeaderMismatch, Message: "header mismatch: Mcp-Protocol-Version must say what " + mcp.MetaKeyProtocolVersion + " says in the body"}
	case header == "": // there was none before 2025-06-18
		return nil
	case s.version != "" && header < skillsext.Since:
		// A version that has sessions, in the form of those that have none.
		versions = slices.DeleteFunc(versions, func(v string) bool { return v < skillsext.Since })
	case slices.Contains(versions, header):
		return nil
	}
	data, err := json.Marshal(mcp.UnsupportedProtocolVersionData{Supported: versions, Requested: header})
	if err != nil {
		data = nil // strings always marshal
	}
	return &jsonrpc.Error{Code: mcp.CodeUnsupportedProtocolVersion, Data: data,
		Message: fmt.Sprintf("unsupported protocol version (supported here: %s)", strings.Join(versions, ", "))}
}

// body reads a request's body, which must arrive within BodyTimeout. Small bodies and
// others have separate bounds on how many arrive at once, so that large ones keep no
// small one waiting.
func (h *Handler) body(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	if r.ContentLength > h.o.MaxBody {
		w.Header().Set("Connection", "close") // what comes is not read
		h.tooLarge(w)
		return nil, false
	}
	arriving := h.loading
	if r.ContentLength > 0 && r.ContentLength <= smallBody {
		arriving = h.arriving
	}
	if !take(arriving) {
		refuseBusy(w, http.StatusTooManyRequests, nil, TooManyCalls)
		return nil, false
	}
	defer func() { <-arriving }()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.o.MaxBody))
	if err == nil { // else the connection is to end, and must not be waited for
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	}
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		h.tooLarge(w)
		return nil, false
	case err != nil:
		w.Header().Set("Connection", "close")
		refuse(w, http.StatusRequestTimeout, "the request did not arrive whole")
		return nil, false
	}
	return body, true
}

func (h *Handler) tooLarge(w http.ResponseWriter) {
	refuse(w, http.StatusRequestEntityTooLarge, "the request is over "+strconv.FormatInt(h.o.MaxBody, 10)+" bytes")
}

// peek looks into a message as far as a refusal needs it.
func peek(w http.ResponseWriter, body []byte) (s sent, ok bool) {
	trimmed := bytes.TrimSpace(body)
	if len(trimmed) > 0 && trimmed[0] == '[' && json.Valid(trimmed) {
		refuseRPC(w, http.StatusBadRequest, nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "batches are not supported"})
		return s, false
	}
	if len(trimmed) == 0 || trimmed[0] != '{' || !json.Valid(trimmed) {
		refuseRPC(w, http.StatusBadRequest, nil, &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "the body is not one valid JSON-RPC message"})
		return s, false
	}
	// The same check as over stdio: the SDK would take a message without a method
	// for nothing to answer, and round an id.
	m, no := wire.Parse(trimmed)
	if no != nil {
		refuseRPC(w, http.StatusBadRequest, no.ID, &no.Error)
		return s, false
	}
	if req, ok := m.(*jsonrpc.Request); ok {
		s.method, s.cancelled = req.Method, wire.Cancelled(req)
		if req.IsCall() {
			s.id, s.version = wire.EncodeID(req.ID), metaVersion(req.Params)
		}
	}
	return s, true
}

// metaVersion is the protocol version that a call names in its _meta, as every one
// does since 2026-07-28.
func metaVersion(params json.RawMessage) string {
	// Maps, because the fields of a struct would match in any case.
	var p, meta map[string]json.RawMessage
	var version string
	if json.Unmarshal(params, &p) != nil || json.Unmarshal(p["_meta"], &meta) != nil || json.Unmarshal(meta[mcp.MetaKeyProtocolVersion], &version) != nil {
		return ""
	}
	return version
}

// stream serves what waits for news until the client or the server ends.
func (h *Handler) stream(w http.ResponseWriter, r *http.Request, next http.Handler, s sent, c Caller) {
	client := h.sharer(c)
	if no := h.streams.take(client); no != "" {
		refuseBusy(w, http.StatusTooManyRequests, s.id, no)
		return
	}
	defer h.streams.leave(client)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(h.ended, cancel)()
	open := &openStream{c.Token, cancel}
	h.streams.open.Store(open, nil)
	defer h.streams.open.Delete(open)
	if _, ok := h.know(r, open.token); !ok {
		cancel() // the token was taken back after it was asked for
	}
	h.pass(w, r.WithContext(ctx), next, s)
}

// pass reports whether the SDK took the request.
func (h *Handler) pass(w http.ResponseWriter, r *http.Request, next http.Handler, s sent) bool {
	a := newAnswer(w, h.o.WriteTimeout, s)
	next.ServeHTTP(a, r)
	a.finish()
	return a.refused == 0
}
