package httpd

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/internal/server/httpguard"
	"github.com/knack-dev/knack/mcpserver/internal/wire"
)

// Core answers messages.
type Core interface {
	// NewSession returns a session of a client that has sent initialize.
	NewSession(from httpguard.Caller, to Client) Session
	// Take accepts a call, or returns the error that refuses it. no is the error of its params, or
	// nil. The session is nil for a call of 2026-07-28, and send sends the notifications that
	// belong to the call.
	Take(m *wire.Message, p *wire.Params, no *jsonrpc.Error, from httpguard.Caller, in Session, send func([]byte)) (wire.Work, *jsonrpc.Error)
	// Hear takes a notification, or returns the error that refuses it.
	Hear(*wire.Message, Session) *jsonrpc.Error
}

// Session is the core's part of a session.
type Session interface{ End() }

// Client is the other end of a session.
type Client interface {
	Send(notification []byte)
	Ready(context.Context) error // waits until the client has read most of the notifications
}

// Handler serves MCP at /mcp, and everything that [httpguard.Guard] serves.
type Handler struct {
	*httpguard.Guard
	o      httpguard.Options
	access *access.Gate
	core   Core

	sessions sessions
	streams  *limit.Budget // of open streams
	open     sync.Map      // of *openStream
}

// New makes a handler. The error names the malformed host, origin or issuer.
func New(o httpguard.Options, server httpguard.Server, core Core) (*Handler, error) {
	o = o.Complete()
	server.Refuse = func(w http.ResponseWriter, status int, message string) {
		code := int64(jsonrpc.CodeInvalidRequest)
		if status == http.StatusTooManyRequests {
			code = wire.CodeBusy
		}
		refuse(w, status, nil, code, message)
	}
	g, err := httpguard.New(o, server)
	if err != nil {
		return nil, err
	}
	h := &Handler{
		Guard: g, o: o, access: server.Access, core: core,
		sessions: sessions{idle: o.SessionTimeout, handshake: o.InitializeTimeout, room: limit.NewBudget(int64(o.MaxSessions), 0), byID: map[string]*session{}},
		streams:  limit.NewBudget(int64(o.MaxStreams), 0),
	}
	g.Handle("/mcp", http.HandlerFunc(h.serveMCP))
	return h, nil
}

// Open returns the number of open sessions and the number of open streams.
func (h *Handler) Open() (sessions, streams int) {
	return h.sessions.count(), int(h.streams.Held())
}

// Serve answers on a listener until the context ends, as [httpguard.Guard.Serve] does, and then
// ends the sessions.
func (h *Handler) Serve(ctx context.Context, ln net.Listener, conf *tls.Config) error {
	defer h.sessions.closeAll()
	return h.Guard.Serve(ctx, ln, conf)
}

// Close ends the streams and the sessions.
func (h *Handler) Close() {
	h.Guard.Close()
	h.sessions.closeAll()
}

// Recheck ends the sign-ins and streams whose tokens are no longer valid.
func (h *Handler) Recheck() {
	h.Guard.Recheck()
	state := h.access.Now()
	for key := range h.open.Range {
		stream := key.(*openStream)
		if _, ok := state.Authenticate(h.Ended(), stream.token); !ok {
			stream.end()
		}
	}
}
