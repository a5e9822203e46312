package httpd

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/internal/server/httpguard"
	"github.com/knack-dev/knack/mcpserver/internal/wire"
)

// Options configures a handler. Every field must be set.
type Options struct {
	Guard             httpguard.Options // its Refuse is set by [New]
	MaxBody           int64             // bytes of a request
	MaxStreams        int               // open at once
	MaxSessions       int               // for protocol versions before 2026-07-28, the last with sessions
	SessionTimeout    time.Duration     // for a session without requests
	InitializeTimeout time.Duration     // the same before notifications/initialized

	SDK  *mcp.Server
	Take Take
}

// Take accepts a call, or leaves it to the SDK. init is the handshake of the call's session, nil
// for a call of 2026-07-28.
type Take func(c wire.Call, p *wire.Params, from httpguard.Caller, init *mcp.InitializeParams) (work wire.Work, ok bool)

// Handler serves MCP at /mcp, and everything that [httpguard.Guard] serves.
type Handler struct {
	*httpguard.Guard
	o              Options
	modern, legacy http.Handler // the SDK's

	sessions sessions
	streams  *limit.Budget // of open streams
	open     sync.Map      // of *openStream
}

// New makes a handler. The error says which host, origin or issuer is malformed.
func New(o Options) (*Handler, error) {
	o.Guard.Refuse = func(w http.ResponseWriter, status int, message string) {
		code := int64(jsonrpc.CodeInvalidRequest)
		if status == http.StatusTooManyRequests {
			code = wire.CodeBusy
		}
		refuse(w, status, nil, code, message)
	}
	g, err := httpguard.New(o.Guard)
	if err != nil {
		return nil, err
	}
	h := &Handler{
		Guard: g, o: o,
		sessions: sessions{idle: o.SessionTimeout, handshake: o.InitializeTimeout, room: limit.NewBudget(int64(o.MaxSessions), 0), of: map[string]*session{}},
		streams:  limit.NewBudget(int64(o.MaxStreams), 0),
	}
	get := func(*http.Request) *mcp.Server { return o.SDK }
	h.modern = mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, PropagateRequestCancellation: true,
		Logger: o.Guard.Log, MaxRequestBodyBytes: o.MaxBody, DisableLocalhostProtection: true, // the guard checks hosts itself
	})
	h.legacy = mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{ // no timeout: the session table ends sessions
		JSONResponse: true, EventStore: &events{of: map[string]*eventLog{}},
		Logger: o.Guard.Log, MaxRequestBodyBytes: o.MaxBody, DisableLocalhostProtection: true,
	})
	g.Handle("/mcp", http.HandlerFunc(h.serveMCP))
	return h, nil
}

// Open returns the numbers of open sessions and open streams.
func (h *Handler) Open() (sessions, streams int) {
	return h.sessions.count(), int(h.streams.Held())
}

// Serve answers on a listener until the context ends, as [httpguard.Guard.Serve] does, and then
// ends the sessions.
func (h *Handler) Serve(ctx context.Context, ln net.Listener, conf *tls.Config) error {
	defer h.sessions.closeAll()
	return h.Guard.Serve(ctx, ln, conf)
}

// Recheck ends the sign-ins and streams whose tokens are no longer valid.
func (h *Handler) Recheck() {
	h.Guard.Recheck()
	state := h.o.Guard.Access.Now()
	for key := range h.open.Range {
		stream := key.(*openStream)
		if _, ok := state.Authenticate(h.Ended(), stream.token); !ok {
			stream.end()
		}
	}
}

// openStream is a request waiting for notifications.
type openStream struct {
	token string
	end   context.CancelFunc
}
