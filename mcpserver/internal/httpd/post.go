package httpd

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/limit"
	"github.com/knack-dev/knack/mcpserver/internal/wire"
	"github.com/knack-dev/knack/skillsext"
)

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
			h.sessions.forget(r.Header.Get("Mcp-Session-Id"), h.core.SDK)
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
	room := h.core.Room.Open("")
	if size := r.ContentLength; size > smallBody || size < 0 {
		early, _ := h.caller(r)
		room = h.core.Room.Open(early.Share)
	}
	defer room.Close()
	// A body that comes slowly must not take a place from a call that could be worked
	// on: it has to be here first.
	body, ok := h.body(w, r, room)
	if !ok {
		return
	}
	caller, ok := h.caller(r)
	if !ok {
		h.unknown(w, r) // the token was taken back while the body arrived
		return
	}
	if no := h.calls.take(caller.Share); no != "" {
		refuseBusy(w, http.StatusTooManyRequests, nil, no)
		return
	}
	visit := &Visit{Caller: caller, Room: h.core.Room.Open(caller.Share), rooms: h.core.Room, calls: h.calls, holders: 1}
	defer visit.Leave()
	if h.answered(w, r, body, caller, modern) {
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
	defer a.Done()
	if a.Busy {
		refuseBusy(w, http.StatusTooManyRequests, a.ID, a.Error.Message)
		return true
	}
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

// body reads a request's body, which must arrive within BodyTimeout. Small bodies and
// others have separate bounds on how many arrive at once, so that large ones keep no
// small one waiting; large ones take room.
func (h *Handler) body(w http.ResponseWriter, r *http.Request, room *limit.Account) ([]byte, bool) {
	if r.ContentLength > h.o.MaxBody {
		w.Header().Set("Connection", "close") // what comes is not read
		h.tooLarge(w)
		return nil, false
	}
	size := r.ContentLength
	if size < 0 {
		size = h.o.MaxBody // it is not said
	}
	arriving := h.arriving
	if size > smallBody {
		arriving = h.loading
	}
	took := take(arriving)
	if took {
		defer func() { <-arriving }()
	}
	if !took || size > smallBody && !room.Try(bodyCopies*size) {
		w.Header().Set("Connection", "close") // else the rest is waited for
		refuseBusy(w, http.StatusTooManyRequests, nil, TooManyCalls)
		return nil, false
	}
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
