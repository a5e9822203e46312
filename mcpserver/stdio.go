package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What the zero values of [StdioTransport] stand for.
const (
	DefaultMaxInFlight  = 256
	DefaultMaxLine      = mcp.DefaultMaxLineLength
	DefaultDrainTimeout = 10 * time.Second
)

// StdioTransport speaks MCP over a pair of pipes, one JSON-RPC message a line.
// It stands in for [mcp.StdioTransport], whose sessions lose answers when the
// input ends right after the request (go-sdk#1061), end at the first malformed
// line (go-sdk#1209), and take on any number of calls at once. Here:
//
//   - When In ends, the calls it brought are answered before the session ends.
//
//   - A line that is no message is answered with an error, and the session goes on.
//
//   - Calls beyond MaxInFlight are refused at once, so that what comes after
//     them, such as a cancellation, is still read.
//
//   - A client that stops reading cannot hold the session: what is still owed
//     when DrainTimeout is over is given up, a write that hangs included.
//
// The zero value serves os.Stdin and os.Stdout. It serves one session, and does
// not close In and Out. A read that In has begun cannot be interrupted, nor can a
// write to Out: after the session a goroutine stays in each until it returns, and
// a process that is to end must exit once [Server.Run] has returned.
type StdioTransport struct {
	// In is where the client's messages come from; nil is os.Stdin.
	In io.Reader
	// Out is where messages to the client go, each in one Write; nil is os.Stdout.
	Out io.Writer
	// Interrupt, where it is closed, ends the input: what a read that is under way
	// then still brings is dropped.
	Interrupt <-chan struct{}
	// MaxInFlight bounds the calls that are being worked on, and apart from
	// them the open subscriptions; not positive is DefaultMaxInFlight.
	MaxInFlight int
	// MaxLine bounds a line in bytes, its end not counted; not positive is
	// DefaultMaxLine. A longer line is skipped, not held.
	MaxLine int
	// DrainTimeout bounds the wait for answers after In has ended; zero is
	// DefaultDrainTimeout, negative does not wait. If answers are missing then, the
	// session ends with ErrUnanswered. It is also how long a cancelled call that
	// stays unanswered goes on holding its place.
	DrainTimeout time.Duration
	// Logger hears of refused lines (Debug) and of calls given up (Warn),
	// never of what a line said; nil is silent.
	Logger *slog.Logger

	connected atomic.Bool
	overOnce  sync.Once
	overC     chan struct{}
}

// over is closed when the session is to end.
func (t *StdioTransport) over() chan struct{} {
	t.overOnce.Do(func() { t.overC = make(chan struct{}) })
	return t.overC
}

// ErrUnanswered says that a session ended before its client had every answer: the
// calls took too long, or the client did not read.
var ErrUnanswered = errors.New("not every call was answered before the session ended")

// maxWaiting bounds the bytes of answers that wait for a client to read: the
// largest answer (a file of 16 MiB, in base64) and as much again. Calls that come
// while more wait are refused.
const maxWaiting = 48 << 20

// Connect starts to read In. A second call is an error: one input holds one session.
func (t *StdioTransport) Connect(context.Context) (mcp.Connection, error) {
	if !t.connected.CompareAndSwap(false, true) {
		return nil, errors.New("stdio transport: already connected")
	}
	c := t.conn()
	go c.receive()
	go c.print()
	if t.Interrupt != nil {
		go func() {
			select {
			case <-t.Interrupt:
				c.finish(io.EOF)
			case <-c.closed:
			case <-c.broken:
			}
		}()
	}
	return c, nil
}

// conn makes the connection with every default filled in.
func (t *StdioTransport) conn() *stdioConn {
	in, out := t.In, t.Out
	if in == nil {
		in = os.Stdin
	}
	if out == nil {
		out = os.Stdout
	}
	drain := t.DrainTimeout
	if drain == 0 {
		drain = DefaultDrainTimeout
	}
	log := bounded(t.Logger)
	maxLine := positiveOr(t.MaxLine, DefaultMaxLine)
	return &stdioConn{
		lines:   newLineReader(in, maxLine),
		maxLine: maxLine,
		out:     out,
		calls:   newCallLedger(positiveOr(t.MaxInFlight, DefaultMaxInFlight), drain),
		drain:   drain,
		settle:  settleTime,
		log:     log,
		inbox:   make(chan received),
		closed:  make(chan struct{}),
		over:    t.over(),
		turn:    make(chan struct{}, 1),
		outbox:  make(chan []byte),
		written: make(chan error, 1),
		broken:  make(chan struct{}),
	}
}

func positiveOr[T int | time.Duration](n, fallback T) T {
	if n > 0 {
		return n
	}
	return fallback
}

// stdioConn is the session of a StdioTransport. One goroutine reads lines,
// answers those it refuses, and hands the others to Read.
type stdioConn struct {
	lines   *lineReader
	maxLine int
	calls   *callLedger
	drain   time.Duration
	log     *slog.Logger
	inbox   chan received

	closeOnce sync.Once
	closed    chan struct{} // closed by Close

	overOnce sync.Once
	over     chan struct{} // closed when no more will be read: the session is to end

	out     io.Writer
	turn    chan struct{} // holds a token while a line is written
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
func (c *stdioConn) SessionID() string { return "" }

// Close ends Read and refuses further writes. It may be called at any time, and repeatedly.
func (c *stdioConn) Close() error {
	c.closeOnce.Do(func() { close(c.closed) })
	return nil
}

// Read returns the next message, io.EOF once the input has ended and its calls
// are answered, or the error that broke the output.
func (c *stdioConn) Read(ctx context.Context) (jsonrpc.Message, error) {
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

// Write sends one message to the client.
func (c *stdioConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if resp, ok := msg.(*jsonrpc.Response); ok {
		return c.answer(resp)
	}
	return c.request(msg.(*jsonrpc.Request))
}

// answer sends the answer to a call and strikes the call off.
func (c *stdioConn) answer(resp *jsonrpc.Response) error {
	size := int64(len(resp.Result))
	c.calls.waiting.Add(size)
	defer c.calls.waiting.Add(-size)
	// The call gives up its place and its id before the client can see the
	// answer, because the client may use both again at once. It counts as
	// owed until the bytes are out, because until then they can be lost.
	var owed bool
	// It is encoded only when its turn has come: of the answers that wait for a
	// client to read there is one copy.
	err := c.send(func() ([]byte, error) {
		line, err := c.encode(resp)
		owed = c.calls.answering(resp.ID)
		return line, err
	}, nil)
	if owed {
		c.calls.answered()
	}
	return err
}

func (c *stdioConn) encode(resp *jsonrpc.Response) ([]byte, error) {
	if resp.Error != nil {
		resp = &jsonrpc.Response{ID: resp.ID, Error: plain(resp.Error)}
	}
	line, err := jsonrpc.EncodeMessage(resp)
	if err != nil {
		// The caller is still owed an answer, and an error here would end the session.
		c.log.Warn("an answer could not be encoded", "error", err)
		return jsonrpc.EncodeMessage(&jsonrpc.Response{ID: resp.ID, Error: &jsonrpc.Error{
			Code: jsonrpc.CodeInternalError, Message: "the answer could not be encoded",
		}})
	}
	return unescapeHTML(line), nil
}

// request sends a request or notification of the server's own.
func (c *stdioConn) request(req *jsonrpc.Request) error {
	line, err := jsonrpc.EncodeMessage(req)
	if err != nil {
		return rejected("the request could not be encoded")
	}
	if req.IsCall() && !c.calls.ask(req.ID) {
		return rejected("the client has closed its input and cannot answer")
	}
	if id, ok := cancelledID(req); ok {
		c.calls.replied(id)
	}
	return c.send(ready(line), nil)
}

// rejected is an error with the code by which the SDK tells a message that
// cannot be sent from a connection that is broken.
func rejected(why string) error {
	return &jsonrpc.Error{Code: -32005, Message: why}
}

// ready is a line that needs no turn to be made.
func ready(line []byte) func() ([]byte, error) {
	return func() ([]byte, error) { return line, nil }
}

// send waits for its turn, makes a line and writes it. The first failure ends the
// session: what follows a line cut short could not be told from it. When patience
// yields before the line is out, the client does not read, and the session ends.
func (c *stdioConn) send(line func() ([]byte, error), patience <-chan time.Time) error {
	select {
	case c.turn <- struct{}{}:
	case <-c.closed:
		return mcp.ErrConnectionClosed
	case <-c.broken:
		return c.writeErr
	case <-patience:
		return c.giveUp(errNotReading)
	}
	defer func() { <-c.turn }() // who comes next looks whether the session goes on
	select {
	case <-c.closed:
		return mcp.ErrConnectionClosed
	case <-c.broken:
		return c.writeErr
	default:
	}
	data, err := line()
	if err != nil {
		return err
	}
	data = append(data, '\n')
	if room, ok := c.out.(Roomy); ok && room.Room(len(data)) {
		// Nothing can hang on this one, and to hand it over costs more than to write it.
		return c.wrote(c.write(data))
	}
	select {
	case c.outbox <- data:
	case <-c.closed:
		return mcp.ErrConnectionClosed
	case <-c.broken:
		return c.writeErr
	}
	select {
	case err = <-c.written:
	case <-c.broken: // print may stay in the write for ever
		return c.writeErr
	case <-patience:
		return c.giveUp(errNotReading)
	}
	return c.wrote(err)
}

// wrote ends the session where a write has failed.
func (c *stdioConn) wrote(err error) error {
	if err != nil {
		return c.giveUp(fmt.Errorf("writing to the client: %w", err))
	}
	return nil
}

// Roomy is an output that knows whether a write of n bytes would be taken at once.
type Roomy interface{ Room(n int) bool }

// write writes one line, whole.
func (c *stdioConn) write(line []byte) error {
	n, err := c.out.Write(line)
	if err == nil && n < len(line) {
		err = io.ErrShortWrite
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrClosedPipe // the SDK takes io.EOF for a session that ended well
	}
	return err
}

// errNotReading says why a session ended that could not refuse a message.
var errNotReading = fmt.Errorf("the client does not read: %w", ErrUnanswered)

// print writes lines, in a goroutine of its own: a write cannot be interrupted,
// and nothing else may hang on it.
func (c *stdioConn) print() {
	for {
		select {
		case line := <-c.outbox:
			c.written <- c.write(line)
		case <-c.broken:
			return
		case <-c.closed:
			return
		}
	}
}

// giveUp has every write fail from now on, those that are under way included, and
// returns why.
func (c *stdioConn) giveUp(why error) error {
	c.breakOnce.Do(func() {
		c.writeErr = why
		close(c.broken)
	})
	c.isOver()
	return c.writeErr
}

func (c *stdioConn) isOver() { c.overOnce.Do(func() { close(c.over) }) }

// receive reads lines until the input ends or the session does.
func (c *stdioConn) receive() {
	for {
		if !c.lines.more() {
			c.letGo()
		}
		line, err := c.lines.next()
		if c.finished.Load() {
			return
		}
		switch {
		case errors.Is(err, errLineTooLong):
			// Not a parse error: nobody has looked whether it is JSON.
			err = c.refuse(invalidRequest(fmt.Sprintf("the line exceeds the limit of %d bytes", c.maxLine)))
		case err != nil:
			c.finish(err)
			return
		default:
			err = c.take(line)
		}
		if err != nil || c.isClosed() {
			return
		}
	}
}

// settleTime bounds how long the reader reads nothing for the sake of the only call
// that is being worked on: what comes meanwhile may take that call back.
const settleTime = 5 * time.Millisecond

// letGo lets those run who were handed a message, before the reader waits for the
// next. To the runtime a thread that waits in a read is at work: what waits to run behind it
// on its processor is taken over by another one that has nothing to do, or else
// when the runtime looks around, which is up to 20 ms later. So nothing may wait
// there. A client that has one call under way waits for its answer, and so does the
// reader then, without a processor. Where several are under way it gives its
// processor away: one time in 61 the scheduler would come straight back, but not twice.
func (c *stdioConn) letGo() {
	if !c.handed {
		return
	}
	c.handed = false
	if c.calls.owing() == 1 {
		c.awaitOnly(c.settle)
	}
	runtime.Gosched()
	runtime.Gosched()
}

// awaitOnly waits until no answer is owed, for so long at most.
func (c *stdioConn) awaitOnly(most time.Duration) {
	if c.settling == nil {
		c.settling = time.NewTimer(most)
	} else {
		c.settling.Reset(most)
	}
	defer c.settling.Stop()
	// Whoever waits for the last answers wants the token too, and looks again.
	defer c.calls.tellSettled()
	for c.calls.owing() > 0 {
		select {
		case <-c.calls.settled:
		case <-c.settling.C:
			return
		case <-c.closed:
			return
		case <-c.broken:
			return
		}
	}
}

// take deals with one line. Its error says that the session is over.
func (c *stdioConn) take(line []byte) error {
	msg, no := parseLine(line)
	if no != nil {
		return c.refuse(no)
	}
	switch msg := msg.(type) {
	case *jsonrpc.Request:
		if no := c.calls.admit(msg); no != nil {
			return c.refuse(no)
		}
		if id, ok := cancelledID(msg); ok {
			c.calls.cancelled(id)
		}
	case *jsonrpc.Response:
		c.calls.replied(msg.ID)
	case nil:
		return nil
	}
	c.handed = true
	return c.deliver(received{msg: msg})
}

// refuse answers a line that goes no further.
func (c *stdioConn) refuse(no *refusal) error {
	if no.key.IsValid() && c.calls.knows(no.key) {
		no.id = nil // it would pass for the answer to the call that has this id
	}
	c.log.Debug("line refused", "code", no.code)
	// Nothing is read meanwhile, so that refusals cannot pile up, and so that the
	// end of the input would go unseen: hence the bound.
	patience := time.NewTimer(positiveOr(c.drain, DefaultDrainTimeout))
	defer patience.Stop()
	return c.send(ready(no.encode()), patience.C)
}

// finish ends the session when the input has ended.
func (c *stdioConn) finish(err error) {
	if c.finished.Swap(true) {
		return // the input has ended in another way
	}
	// A handler may be waiting for the client, which can no longer say anything.
	for _, id := range c.calls.end() {
		if c.deliver(received{msg: &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{
			Code: jsonrpc.CodeInternalError, Message: "the client closed its input before it answered",
		}}}) != nil {
			return
		}
	}
	c.awaitAnswers()
	c.isOver()
	_ = c.deliver(received{err: err})
}

// awaitAnswers waits until no answer is owed, for as long as drain allows. Only
// then may the SDK hear that the input has ended: from then on it writes nothing.
// What is still owed then is given up, whether it is being made or being written.
func (c *stdioConn) awaitAnswers() {
	timer := time.NewTimer(max(c.drain, 0))
	defer timer.Stop()
	for c.calls.owing() > 0 {
		select {
		case <-c.calls.settled:
		case <-c.closed:
			return
		case <-c.broken:
			return
		case <-timer.C:
			n := c.calls.owing()
			c.log.Warn("the input has ended and calls are given up", "calls", n, "after", c.drain)
			_ = c.giveUp(fmt.Errorf("%d calls had no answer %v after the input ended: %w", n, max(c.drain, 0), ErrUnanswered))
			return
		}
	}
}

// deliver hands r to Read. Its error says that nobody reads any more.
func (c *stdioConn) deliver(r received) error {
	select {
	case c.inbox <- r:
		return nil
	case <-c.closed:
		return mcp.ErrConnectionClosed
	case <-c.broken:
		return c.writeErr
	}
}

func (c *stdioConn) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}
