package mcpserver

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/server/audit"
	"github.com/knack-dev/knack/mcpserver/internal/stdio"
	"github.com/knack-dev/knack/mcpserver/internal/wire"
)

// Defaults of [StdioTransport].
const (
	defaultMaxInFlight  = 256
	defaultMaxLine      = mcp.DefaultMaxLineLength
	defaultDrainTimeout = stdio.Patience
)

// ErrUnanswered reports that a session ended before its client had every answer: the calls took too
// long, or the client did not read.
var ErrUnanswered = stdio.ErrUnanswered

// StdioTransport speaks MCP over a pair of pipes, one JSON-RPC message a line. With [Server.Run]
// most calls are answered without the SDK. It differs from [mcp.StdioTransport]:
//
//   - When In ends, its calls are answered before the session ends (go-sdk#1061).
//   - An invalid line is answered with an error, and the session continues (go-sdk#1209).
//   - Calls beyond MaxInFlight are refused at once, so that the lines after them, such as a
//     cancellation, are still read.
//   - A client that stops reading cannot block the session: after DrainTimeout the missing
//     answers are given up, and so is a hanging write.
//
// The zero value serves os.Stdin and os.Stdout. It serves one session, and does not close In and
// Out. A running read of In or write to Out cannot be interrupted: after the session a goroutine
// stays in each until it returns, so a process must exit once [Server.Run] has returned.
type StdioTransport struct {
	// In is the source of the client's messages; nil is os.Stdin.
	In io.Reader
	// Out is the destination of messages to the client, each in one Write if shorter than 64 KiB;
	// nil is os.Stdout. If Out has a method WriteNow([][]byte) int, it is called first, writes as
	// much of the pieces as it can without waiting, and returns the number of bytes.
	Out io.Writer
	// Interrupt, once closed, ends the input: bytes that a running read still returns are dropped.
	Interrupt <-chan struct{}
	// MaxInFlight bounds the unanswered calls and, separately, the open subscriptions; zero or
	// negative means 256.
	MaxInFlight int
	// MaxLine bounds a line in bytes, without its end; zero or negative means the SDK's 16 MiB. A
	// longer line is skipped, not stored.
	MaxLine int
	// DrainTimeout bounds the wait for answers after In has ended; zero means 10 s, negative does
	// not wait. If answers are missing then, the session ends with ErrUnanswered. A cancelled call
	// is answered at once and holds no place. If the SDK has it and does not answer, it holds its
	// place for this time.
	DrainTimeout time.Duration
	// Logger logs refused lines (Debug) and abandoned calls (Warn), without the text of any line;
	// nil is silent.
	Logger *slog.Logger

	once  sync.Once
	pipes *stdio.Transport
}

// Connect starts reading In. A second call fails.
func (t *StdioTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	return t.transport(nil, nil).Connect(ctx)
}

func (t *StdioTransport) transport(core func(wire.Call) (wire.Work, bool), refused func(string, *jsonrpc.Error)) *stdio.Transport {
	t.once.Do(func() {
		o := stdio.Options{
			In: t.In, Out: t.Out, Interrupt: t.Interrupt, MaxInFlight: positive(t.MaxInFlight, defaultMaxInFlight),
			MaxLine: positive(t.MaxLine, defaultMaxLine), Drain: t.DrainTimeout,
			Log: bounded(t.Logger), Core: core, Refused: refused,
		}
		if o.In == nil {
			o.In = os.Stdin
		}
		if o.Out == nil {
			o.Out = os.Stdout
		}
		if o.Drain == 0 {
			o.Drain = defaultDrainTimeout
		}
		t.pipes = stdio.New(o)
	})
	return t.pipes
}

// Run serves one session over a transport until the client ends it. Over a [StdioTransport] it
// returns soon after the session's end even if a handler hangs, for which the SDK would wait.
func (s *Server) Run(ctx context.Context, t mcp.Transport) error {
	pipes, ok := t.(*StdioTransport)
	if !ok {
		return s.mcp.Run(ctx, t)
	}
	p := &pipe{server: s}
	return s.run(ctx, pipes.transport(p.take, p.refused()), p)
}

func (s *Server) run(ctx context.Context, over *stdio.Transport, p *pipe) error {
	session, err := s.mcp.Connect(context.WithValue(ctx, pipeKey{}, p), over, nil)
	if err != nil {
		return err
	}
	p.session.Store(session)
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-over.Over():
	case <-ctx.Done():
		go session.Close()
	}
	select {
	case err := <-ended:
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	case <-time.After(endGrace):
		s.log.Warn("the session has ended, and a call has not")
		return ErrUnanswered
	}
}

// pipeKey is the context key of the pipe for calls that arrive through the SDK.
type pipeKey struct{}

// pipe is the session over stdio as the core sees it.
type pipe struct {
	server  *Server
	session atomic.Pointer[mcp.ServerSession] // nil until the SDK has it
}

// refused returns the function that observes calls which reach no method, or nil without an audit
// log.
func (p *pipe) refused() func(method string, why *jsonrpc.Error) {
	observe := p.server.observeRequest()
	if observe == nil {
		return nil
	}
	return func(method string, why *jsonrpc.Error) {
		e := audit.Event{Surface: audit.MCP, Method: display.RedactURI(method), Result: audit.Failed}
		if why.Code == wire.CodeBusy {
			e.Result = audit.Limited
		}
		if s := p.session.Load(); s != nil && s.InitializeParams() != nil {
			e.Client = clientNamed(s.InitializeParams().ClientInfo).Name
		}
		observe(access.Subject{}, e)
	}
}

// take decodes a call. It declines calls before the end of the handshake, which the SDK must judge.
func (p *pipe) take(c wire.Call) (wire.Work, bool) {
	params, ok := wire.ParseParams(c.Method, c.Params)
	if !ok {
		return nil, false
	}
	r := p.server.read(c, params)
	if r == nil {
		return nil, false
	}
	if r.session = p.session.Load(); r.session == nil || !r.withHandshake(r.session.InitializeParams()) {
		return nil, false
	}
	r.Principal = p.server.access.Now().PrincipalOf(access.Subject{})
	r.params.Arguments = bytes.Clone(r.params.Arguments) // they are part of the line, which is reused
	return r, true
}

// withHandshake completes a request with its session's handshake. It reports false if the request
// needs a handshake that has not taken place.
func (r *request) withHandshake(init *mcp.InitializeParams) bool {
	if init == nil {
		return r.modern
	}
	if r.params.Meta.ClientInfo == nil {
		r.client = clientNamed(init.ClientInfo)
	}
	return true
}
