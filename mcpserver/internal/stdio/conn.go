package stdio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/mcpserver/internal/wire"
)

// Options configures a session. Every field but Core, Refused and Interrupt must be set.
type Options struct {
	In  io.Reader // messages from the client
	Out io.Writer // messages to the client
	// Interrupt, once closed, ends the input: bytes that a running read still returns are dropped.
	Interrupt   <-chan struct{}
	MaxInFlight int           // unanswered calls and, counted separately, open subscriptions
	MaxLine     int           // bytes of a line without its end; a longer one is skipped, not stored
	Drain       time.Duration // wait for answers after In has ended; negative does not wait
	Log         *slog.Logger
	// Refused, if set, is called with each refusal before it is written. The method may be empty.
	Refused func(method string, why *jsonrpc.Error)
	// Core accepts a call, or declines it. The work may take any time, since another goroutine then
	// reads further calls. Params are valid until Core returns.
	Core func(wire.Call) (work wire.Work, ok bool)
}

// Patience bounds how long a refusal waits for a client to read if [Options.Drain] does not wait.
const Patience = 10 * time.Second

// Transport is one session over a pair of pipes.
type Transport struct {
	o         Options
	connected atomic.Bool
	over      chan struct{}
}

// New makes the transport of one session.
func New(o Options) *Transport { return &Transport{o: o, over: make(chan struct{})} }

// Over returns a channel that is closed when the session must end.
func (t *Transport) Over() <-chan struct{} { return t.over }

// ErrUnanswered reports that a session ended before its client had every answer: the calls took too
// long, or the client did not read.
var ErrUnanswered = errors.New("not every call was answered before the session ended")

// Connect starts reading In. A second call fails: one input carries one session.
func (t *Transport) Connect(context.Context) (mcp.Connection, error) {
	if !t.connected.CompareAndSwap(false, true) {
		return nil, errors.New("stdio transport: already connected")
	}
	c := newConn(t.o, t.over)
	go c.receive()
	if t.o.Interrupt != nil {
		go func() {
			select {
			case <-t.o.Interrupt:
				c.finish(io.EOF)
			case <-c.open.Done():
			}
		}()
	}
	return c, nil
}

func newConn(o Options, over chan struct{}) *conn {
	c := &conn{
		o: o, lines: newLineReader(o.In, o.MaxLine), calls: newLedger(o.MaxInFlight, o.Drain),
		inbox: make(chan received), free: make(chan struct{}), turn: make(chan struct{}, 1),
	}
	c.endSession = sync.OnceFunc(func() { close(over) })
	c.output, c.failOutput = context.WithCancelCause(context.Background())
	c.open, c.close = context.WithCancelCause(c.output)
	return c
}

// conn is the session of a Transport as the SDK sees it.
type conn struct {
	o     Options
	lines *lineReader
	calls *ledger
	inbox chan received // for Read
	free  chan struct{} // accepts a token if a goroutine waits to read lines
	turn  chan struct{} // holds a token while a message is written

	finished   atomic.Bool  // no more input is read
	endSession func()       // closes [Transport.Over]
	idle       atomic.Int64 // goroutines waiting for their turn to read

	open       context.Context // ends with the session; the core's calls depend on it
	close      context.CancelCauseFunc
	output     context.Context // ends if the output fails or is given up; its cause is the reason
	failOutput context.CancelCauseFunc
}

// received is the result of one Read.
type received struct {
	msg jsonrpc.Message
	err error
}

// SessionID returns "": the pipe is the session.
func (c *conn) SessionID() string { return "" }

// Close ends Read and refuses further writes. It may be called at any time, and repeatedly.
func (c *conn) Close() error {
	c.close(mcp.ErrConnectionClosed)
	return nil
}

// Read returns the next message for the SDK. It returns io.EOF once the input has ended and its
// calls are answered, or the error that broke the output.
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.open.Done():
		if err := context.Cause(c.open); err != mcp.ErrConnectionClosed {
			return nil, err
		}
		return nil, io.EOF
	case r := <-c.inbox:
		return r.msg, r.err
	}
}

// Write sends one message of the SDK to the client.
func (c *conn) Write(ctx context.Context, msg jsonrpc.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if resp, ok := msg.(*jsonrpc.Response); ok {
		return c.answer(resp)
	}
	return c.request(msg.(*jsonrpc.Request))
}

// answer sends the SDK's answer to a call and removes the call from the ledger.
//
// The call gives up its place and its id before the client can see the answer, because the client
// may reuse both at once. It counts as owed until the bytes are written, because until then they
// can be lost.
func (c *conn) answer(resp *jsonrpc.Response) error {
	size := int64(len(resp.Result))
	c.calls.unwritten.Add(size)
	defer c.calls.unwritten.Add(-size)
	// Encoded only when its turn has come, so that answers waiting for the client to read have one
	// copy each.
	if err := c.takeTurn(nil); err != nil {
		return err
	}
	defer c.giveTurn()
	line, err := c.encode(resp)
	if resp.Error != nil && !wire.IsHeard(resp.Error) {
		method := ""
		if call := c.calls.find(wire.Key(resp.ID)); call != nil {
			method = call.method
		}
		c.refused(method, wire.ForClient(resp.Error))
	}
	if c.calls.answering(wire.Key(resp.ID)) {
		defer c.calls.answered()
	}
	if err != nil {
		return err
	}
	return c.line([][]byte{append(line, '\n')}, nil)
}

func (c *conn) encode(resp *jsonrpc.Response) ([]byte, error) {
	if resp.Error != nil {
		resp = &jsonrpc.Response{ID: resp.ID, Error: wire.ForClient(resp.Error)}
	}
	line, err := jsonrpc.EncodeMessage(resp)
	if err != nil {
		// The caller is still owed an answer, and an error here would end the session.
		c.o.Log.Warn("an answer could not be encoded", "error", err)
		return jsonrpc.EncodeMessage(&jsonrpc.Response{ID: resp.ID, Error: &jsonrpc.Error{
			Code: jsonrpc.CodeInternalError, Message: "the answer could not be encoded",
		}})
	}
	return line, nil
}

// request sends the server's own request or notification.
func (c *conn) request(req *jsonrpc.Request) error {
	line, err := jsonrpc.EncodeMessage(req)
	if err != nil {
		return rejected("the request could not be encoded")
	}
	if req.IsCall() && !c.calls.ask(req.ID) {
		return rejected("the client has closed its input and cannot answer")
	}
	if key := wire.Cancelled(req); key != "" {
		c.calls.replied(key)
	}
	return c.send(append(line, '\n'), nil)
}

// rejected returns an error with the code that the SDK uses for an unsendable message, as opposed
// to a broken connection.
func rejected(why string) error {
	return &jsonrpc.Error{Code: -32005, Message: why}
}

// respond does the work of a call that the core accepted, and sends the answer. A call that was
// cancelled meanwhile is answered already.
func (c *conn) respond(call *working) {
	defer call.work.Close()
	defer call.cancel()
	begun := false
	defer func() {
		if p := recover(); p != nil {
			c.o.Log.Error("panic while answering", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			if begun { // the rest of the line would look like another message
				_ = c.giveUp(errors.New("an answer could not be written"))
				return
			}
			if call.mine || call.Claim() {
				c.reply(call.key, wire.Answer{ID: call.id, Error: &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error"}}, &begun)
			}
		}
	}()
	a := call.work.Answer(call, call)
	if call.mine || call.Claim() {
		c.reply(call.key, a, &begun)
	}
}

// reply sends the core's answer and removes the call from the ledger, as [conn.answer] does. A
// small answer is encoded before its turn; a large one is never in memory as a whole. A write error
// has ended the session.
func (c *conn) reply(key string, a wire.Answer, begun *bool) {
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
		*begun, owed = true, c.calls.answering(key)
		return nil
	})
	if *begun {
		c.giveTurn()
	} else {
		owed = c.calls.answering(key)
	}
	if owed {
		c.calls.answered()
	}
}

// pieces writes a message piece by piece, in its turn.
type pieces struct{ *conn }

func (p pieces) Write(b []byte) (int, error) {
	if err := p.line([][]byte{b}, nil); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (p pieces) WriteMany(all [][]byte) error { return p.line(all, nil) }
