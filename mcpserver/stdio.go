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

// ErrUnanswered says that a session ended before its client had every answer: the calls
// took too long, or the client did not read.
var ErrUnanswered = stdio.ErrUnanswered

// StdioTransport speaks MCP over a pair of pipes, one JSON-RPC message a line. With
// [Server.Run] most calls are answered without the SDK. Unlike a session of
// [mcp.StdioTransport]:
//
//   - When In ends, the calls it brought are answered before the session ends
//     (go-sdk#1061).
//   - A line that is no message is answered with an error, and the session goes on
//     (go-sdk#1209).
//   - Calls beyond MaxInFlight are refused at once, so that the lines behind them, such as a
//     cancellation, are still read.
//   - A client that stops reading cannot hold the session: the answers that are missing when
//     DrainTimeout is over are given up, and so is a write that hangs.
//
// The zero value serves os.Stdin and os.Stdout. It serves one session, and does
// not close In and Out. A read that In has begun cannot be interrupted, nor can a
// write to Out: after the session a goroutine stays in each until it returns, and
// a process that is to end must exit once [Server.Run] has returned.
type StdioTransport struct {
	// In is where the client's messages come from; nil is os.Stdin.
	In io.Reader
	// Out is where messages to the client go, each in one Write if it is shorter than
	// 64 KiB; nil is os.Stdout. If Out has a method WriteNow([][]byte) int, it is called
	// first, writes what it can of the pieces without waiting, and returns how many bytes.
	Out io.Writer
	// Interrupt, once it is closed, ends the input: what a read that is under way then
	// still brings is dropped.
	Interrupt <-chan struct{}
	// MaxInFlight bounds the calls that have no answer yet, and apart from
	// them the open subscriptions; not positive is 256.
	MaxInFlight int
	// MaxLine bounds a line in bytes, its end not counted; not positive is
	// the SDK's 16 MiB. A longer line is skipped, not held.
	MaxLine int
	// DrainTimeout bounds the wait for answers after In has ended; zero is
	// 10 s, negative does not wait. If answers are missing then, the
	// session ends with ErrUnanswered. A cancelled call is answered at once and holds
	// no place; if the SDK has it and does not answer, it holds its place so long.
	DrainTimeout time.Duration
	// Logger logs refused lines (Debug) and calls that are given up (Warn), without the
	// text of any line; nil is silent.
	Logger *slog.Logger

	once  sync.Once
	pipes *stdio.Transport
}

// Connect starts to read In. A second call is an error.
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

// Run serves one session over a transport until the client ends it. Over a
// [StdioTransport] it returns soon after the session's end even if a handler hangs: the
// SDK would wait for it.
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

// pipeKey is the key of the pipe in the contexts of the calls that the SDK has from it.
type pipeKey struct{}

// pipe is the session over stdio, as the core knows it.
type pipe struct {
	server  *Server
	session atomic.Pointer[mcp.ServerSession] // nil until the SDK has it
}

// refused returns the function that observes calls which come to no method, nil without an
// audit log.
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

// take decodes a call. It declines calls before the handshake is over, which the SDK has to
// judge.
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
	r.params.Arguments = bytes.Clone(r.params.Arguments) // they are part of the line
	return r, true
}

// withHandshake completes a request with what its session's handshake says. It reports false if the
// request needs a handshake and none was made.
func (r *request) withHandshake(init *mcp.InitializeParams) bool {
	if init == nil {
		return r.modern
	}
	if r.params.Meta.ClientInfo == nil {
		r.client = clientNamed(init.ClientInfo)
	}
	return true
}
