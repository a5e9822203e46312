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

// Options of a session. Every field but Core and Interrupt must be set.
type Options struct {
	In  io.Reader // where the client's messages come from
	Out io.Writer // where messages to the client go
	// Interrupt, once it is closed, ends the input: what a read that is under way then
	// still brings is dropped.
	Interrupt   <-chan struct{}
	MaxInFlight int           // calls that are worked on at once, and apart from them open subscriptions
	MaxLine     int           // bytes of a line, its end not counted; a longer one is skipped, not held
	Drain       time.Duration // for answers after In has ended; negative does not wait
	Log         *slog.Logger
	// Core makes the work of a call, which is then done in a goroutine of its own, or
	// declines it. It must not keep parts of the call.
	Core func(wire.Call) (work func(context.Context) wire.Answer, ok bool)
}

// Patience is how long a refusal waits for a client to read if [Options.Drain] does not
// wait.
const Patience = 10 * time.Second

// Transport is one session over a pair of pipes.
type Transport struct {
	o         Options
	connected atomic.Bool
	over      chan struct{}
}

// New makes the transport of a session.
func New(o Options) *Transport { return &Transport{o: o, over: make(chan struct{})} }

// Over is closed when the session is to end.
func (t *Transport) Over() <-chan struct{} { return t.over }

// ErrUnanswered says that a session ended before its client had every answer: the calls
// took too long, or the client did not read.
var ErrUnanswered = errors.New("not every call was answered before the session ended")

// Connect starts to read In. A second call is an error: one input holds one session.
func (t *Transport) Connect(context.Context) (mcp.Connection, error) {
	if !t.connected.CompareAndSwap(false, true) {
		return nil, errors.New("stdio transport: already connected")
	}
	c := t.conn()
	go c.receive()
	go c.print()
	if t.o.Interrupt != nil {
		go func() {
			select {
			case <-t.o.Interrupt:
				c.finish(io.EOF)
			case <-c.closed:
			case <-c.broken:
			}
		}()
	}
	return c, nil
}

func (t *Transport) conn() *conn {
	c := &conn{
		core:    t.o.Core,
		lines:   newLineReader(t.o.In, t.o.MaxLine),
		maxLine: t.o.MaxLine,
		out:     t.o.Out,
		calls:   newLedger(t.o.MaxInFlight, t.o.Drain),
		drain:   t.o.Drain,
		settle:  settleTime,
		log:     t.o.Log,
		inbox:   make(chan received),
		closed:  make(chan struct{}),
		over:    t.over,
		turn:    make(chan struct{}, 1),
		outbox:  make(chan []byte),
		written: make(chan error, 1),
		broken:  make(chan struct{}),
	}
	c.ctx, c.end = context.WithCancel(context.Background())
	return c
}

// conn is the session of a Transport, as the SDK has it. One goroutine reads lines,
// answers those it refuses, has the core's calls answered, and hands the others to Read.
type conn struct {
	core    func(wire.Call) (func(context.Context) wire.Answer, bool)
	ctx     context.Context // of the core's calls
	end     context.CancelFunc
	lines   *lineReader
	maxLine int
	calls   *ledger
	drain   time.Duration
	log     *slog.Logger
	inbox   chan received

	closeOnce sync.Once
	closed    chan struct{} // closed by Close

	overOnce sync.Once
	over     chan struct{} // closed when no more will be read: the session is to end

	out     io.Writer
	turn    chan struct{} // holds a token while a message is written
	outbox  chan []byte   // from the holder of turn to print
	written chan error    // and back

	handed   bool          // the reader's: a message was handed on since it last waited
	settle   time.Duration // how long the reader waits for the only call
	settling *time.Timer   // the reader's, for that
	finished atomic.Bool   // nothing more is taken from the input

	breakOnce sync.Once
	writeErr  error         // why nothing more is written; set before broken is closed
	broken    chan struct{} // closed when out has failed, or is given up
}

// received is what one Read returns.
type received struct {
	msg jsonrpc.Message
	err error
}

// SessionID is empty: the pipe is the session.
func (c *conn) SessionID() string { return "" }

// Close ends Read and refuses further writes. It may be called at any time, and repeatedly.
func (c *conn) Close() error {
	c.closeOnce.Do(func() {
		close(c.closed)
		c.end()
	})
	return nil
}

// Read returns the next message for the SDK, io.EOF once the input has ended and its calls
// are answered, or the error that broke the output.
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.closed:
		return nil, io.EOF
	case <-c.broken:
		return nil, c.writeErr
	case r := <-c.inbox:
		return r.msg, r.err
	}
}

// Write sends one message of the SDK's to the client.
func (c *conn) Write(ctx context.Context, msg jsonrpc.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if resp, ok := msg.(*jsonrpc.Response); ok {
		return c.answer(resp)
	}
	return c.request(msg.(*jsonrpc.Request))
}

// answer sends the SDK's answer to a call and strikes the call off.
//
// The call gives up its place and its id before the client can see the answer, because the
// client may use both again at once. It counts as owed until the bytes are out, because
// until then they can be lost.
func (c *conn) answer(resp *jsonrpc.Response) error {
	size := int64(len(resp.Result))
	c.calls.waiting.Add(size)
	defer c.calls.waiting.Add(-size)
	// It is encoded only when its turn has come: of the answers that wait for a client to
	// read there is one copy.
	if err := c.begin(nil); err != nil {
		return err
	}
	defer c.ends()
	line, err := c.encode(resp)
	if c.calls.answering(wire.Key(resp.ID)) {
		defer c.calls.answered()
	}
	if err != nil {
		return err
	}
	return c.line(append(line, '\n'), nil)
}

func (c *conn) encode(resp *jsonrpc.Response) ([]byte, error) {
	if resp.Error != nil {
		resp = &jsonrpc.Response{ID: resp.ID, Error: wire.Plain(resp.Error)}
	}
	line, err := jsonrpc.EncodeMessage(resp)
	if err != nil {
		// The caller is still owed an answer, and an error here would end the session.
		c.log.Warn("an answer could not be encoded", "error", err)
		return jsonrpc.EncodeMessage(&jsonrpc.Response{ID: resp.ID, Error: &jsonrpc.Error{
			Code: jsonrpc.CodeInternalError, Message: "the answer could not be encoded",
		}})
	}
	return line, nil
}

// request sends a request or notification of the server's own.
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

// rejected is an error with the code by which the SDK tells a message that cannot be sent
// from a connection that is broken.
func rejected(why string) error {
	return &jsonrpc.Error{Code: -32005, Message: why}
}

// work does the work of one of the core's calls and sends the answer.
func (c *conn) work(ctx context.Context, key string, id []byte, do func(context.Context) wire.Answer) {
	begun := false
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("panic while answering", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			if begun { // what follows could not be told from what is written
				_ = c.giveUp(errors.New("an answer could not be written"))
				return
			}
			c.reply(key, wire.Answer{ID: id, Error: &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error"}}, &begun)
		}
	}()
	a := do(ctx)
	defer a.Done()
	c.reply(key, a, &begun)
}

// reply sends an answer of the core's and strikes the call off, as [conn.answer] does. A
// small answer is encoded before its turn has come, a large one is not held as a whole.
func (c *conn) reply(key string, a wire.Answer, begun *bool) {
	weight := int64(a.Weight())
	c.calls.waiting.Add(weight)
	defer c.calls.waiting.Add(-weight)
	owed := false
	err := a.Write(pieces{c}, "\n", func(int64) error {
		if err := c.begin(nil); err != nil {
			return err
		}
		*begun, owed = true, c.calls.answering(key)
		return nil
	})
	if !*begun {
		owed = c.calls.answering(key)
	}
	if owed {
		c.calls.answered()
	}
	if *begun {
		c.ends()
	}
	_ = err // the session is over, which others tell
}

// pieces writes the pieces of a message whose turn has come.
type pieces struct{ *conn }

func (p pieces) Write(b []byte) (int, error) {
	if err := p.line(b, nil); err != nil {
		return 0, err
	}
	return len(b), nil
}
