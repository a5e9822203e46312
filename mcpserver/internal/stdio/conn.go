package stdio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/mcpserver/internal/wire"
)

// Transport speaks MCP over a pair of pipes, one JSON-RPC message a line. It differs from
// [mcp.StdioTransport]:
//
//   - When In ends, its calls are answered before the session ends (go-sdk#1061).
//   - An invalid line is answered with an error, and the session continues (go-sdk#1209).
//   - Calls beyond MaxInFlight are refused immediately, so that the lines after them, such as a
//     cancellation, are still read.
//   - A client that stops reading cannot block the session: after DrainTimeout the missing
//     answers are given up, and so is a hanging write.
//
// The zero value serves os.Stdin and os.Stdout. It serves one session, and does not close In and
// Out. A running read of In or write to Out cannot be interrupted: after the session a goroutine
// stays in each until it returns, so a process must exit once the session has ended.
type Transport struct {
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
	// not wait. If answers are missing then, the session ends with [ErrUnanswered]. A cancelled
	// call is answered immediately and takes up no place.
	DrainTimeout time.Duration
	// Logger logs refused lines (Debug) and abandoned calls (Warn), without the text of any line;
	// nil is silent.
	Logger *slog.Logger

	connected atomic.Bool
}

// Core answers the messages of one client. Params are valid until a method returns.
type Core interface {
	// Take accepts a call, or returns its refusal. The work may be slow: another goroutine reads
	// further messages meanwhile.
	Take(*wire.Message) (wire.Work, *jsonrpc.Error)
	Hear(*wire.Message) // takes a notification
	// Refused is called with each refusal before it is written. The method may be empty.
	Refused(method string, why *jsonrpc.Error)
}

// defaultMaxInFlight bounds the calls in flight.
const defaultMaxInFlight = 256

// patience bounds the wait for answers at the end, and how long a refusal waits for a client to
// read.
const patience = 10 * time.Second

// ErrUnanswered reports that a session ended before its client had every answer: the calls took too
// long, or the client did not read.
var ErrUnanswered = errors.New("not every call was answered before the session ended")

// Serve serves the session until the input and its calls have ended, or the context ends. It may be
// called once, because one input carries one session.
func (t *Transport) Serve(ctx context.Context, core func(*Conn) Core) error {
	if !t.connected.CompareAndSwap(false, true) {
		return errors.New("stdio transport: already connected")
	}
	c := t.conn()
	c.core = core(c)
	go c.receive()
	if t.Interrupt != nil {
		go func() {
			select {
			case <-t.Interrupt:
				c.finish(io.EOF)
			case <-c.open.Done():
			}
		}()
	}
	select {
	case <-c.over:
	case <-ctx.Done():
	}
	c.close(errClosed)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if c.output.Err() != nil {
		return context.Cause(c.output)
	}
	return c.inputErr
}

// errClosed is the error of a write after the end of a session.
var errClosed = errors.New("the session is over")

func (t *Transport) conn() *Conn {
	o := options{in: t.In, out: t.Out, maxLine: t.MaxLine, drain: t.DrainTimeout, log: t.Logger}
	if o.in == nil {
		o.in = os.Stdin
	}
	if o.out == nil {
		o.out = os.Stdout
	}
	if o.maxLine <= 0 {
		o.maxLine = mcp.DefaultMaxLineLength
	}
	if o.drain == 0 {
		o.drain = patience
	}
	if o.log == nil {
		o.log = slog.New(slog.DiscardHandler)
	}
	most := t.MaxInFlight
	if most <= 0 {
		most = defaultMaxInFlight
	}
	c := &Conn{
		options: o, lines: newLineReader(o.in, o.maxLine), calls: newLedger(most),
		free: make(chan struct{}), turn: make(chan struct{}, 1), over: make(chan struct{}),
	}
	c.end = sync.OnceFunc(func() { close(c.over) })
	c.output, c.failOutput = context.WithCancelCause(context.Background())
	c.open, c.close = context.WithCancelCause(c.output)
	return c
}

// options are the options of a [Transport], with the defaults filled in.
type options struct {
	in      io.Reader
	out     io.Writer
	maxLine int
	drain   time.Duration
	log     *slog.Logger
}

// Conn is the session of a Transport.
type Conn struct {
	options
	core  Core
	lines *lineReader
	calls *ledger
	free  chan struct{} // accepts a token if a goroutine waits to read lines
	turn  chan struct{} // has a token while a message is written

	finished atomic.Bool   // no more input is read
	inputErr error         // the error that ended the input, or nil at its normal end; set before over is closed
	over     chan struct{} // closed when the session must end
	end      func()        // closes over
	idle     atomic.Int64  // goroutines waiting for their turn to read

	open       context.Context // ends with the session; the calls depend on it
	close      context.CancelCauseFunc
	output     context.Context // ends if the output fails or is given up; its cause is the reason
	failOutput context.CancelCauseFunc
}

// Send sends a notification.
func (c *Conn) Send(message []byte) { _ = c.send(append(message, '\n'), nil) } // a failed write has ended the session

// Ask sends a call without params to the client, and returns the result. If the context ends
// first, it cancels the call.
func (c *Conn) Ask(ctx context.Context, method string) (json.RawMessage, error) {
	id, answer := c.calls.ask()
	if answer == nil {
		return nil, errors.New("the client has closed its input and cannot answer")
	}
	defer c.calls.forget(id)
	if err := c.send(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":%q,"params":{}}`+"\n", id, method), nil); err != nil {
		return nil, err
	}
	select {
	case a := <-answer:
		return a.Result, a.Err
	case <-c.open.Done():
		return nil, context.Cause(c.open)
	case <-ctx.Done():
		c.Send(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s,"reason":"it took too long"}}`, id))
		return nil, ctx.Err()
	}
}

// respond does the work of a call and sends the answer, unless the call was cancelled and therefore
// already answered.
func (c *Conn) respond(call *working) {
	defer call.work.Close()
	defer call.cancel()
	begun := false
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("panic while answering", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			if begun { // part of the answer is written, so an error would not be a line of its own
				_ = c.giveUp(errors.New("an answer could not be written"))
				return
			}
			if call.mine || call.Claim() {
				c.reply(call, wire.Answer{ID: call.id, Error: &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error"}}, &begun)
			}
		}
	}()
	a := call.work.Answer(call, call)
	if call.mine || call.Claim() {
		c.reply(call, a, &begun)
	}
}

// reply sends an answer and removes its call from the ledger. It encodes a small answer before it
// waits for the turn to write; a large one is never in memory as a whole. If a write fails, the
// session has ended.
//
// The call gives up its place and its id before the client can see the answer, because the client
// may then reuse both. The answer counts as owed until its bytes are written, because until then
// they can be lost.
func (c *Conn) reply(call *working, a wire.Answer, begun *bool) {
	var weight int64
	if a.Result != nil {
		weight = int64(a.Result.Weight())
	}
	c.calls.unwritten.Add(weight)
	defer c.calls.unwritten.Add(-weight)
	owed := false
	_ = a.Write(pieces{c}, "\n", func(int64) error {
		if err := c.takeTurn(nil); err != nil {
			return err
		}
		*begun, owed = true, c.calls.answering(call.key)
		if call.first {
			c.readOn()
		}
		return nil
	})
	if *begun {
		c.giveTurn()
	} else {
		owed = c.calls.answering(call.key)
	}
	if owed {
		c.calls.finish()
	}
}

// pieces writes a message piece by piece. The caller has the turn to write.
type pieces struct{ *Conn }

func (p pieces) Write(b []byte) (int, error) {
	if err := p.line([][]byte{b}, nil); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (p pieces) WriteMany(all [][]byte) error { return p.line(all, nil) }
