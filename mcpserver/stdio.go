package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
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
//   - A line that is no message is answered with an error, and the session goes on.
//   - Calls beyond MaxInFlight are refused at once, so that what comes after
//     them, such as a cancellation, is still read.
//
// The zero value serves os.Stdin and os.Stdout. It serves one session, and does
// not close In and Out. A read that In has begun cannot be interrupted: after
// the session one goroutine stays in it until In yields (or in a write to Out,
// if the client has stopped reading), so a process exits once Run has returned.
type StdioTransport struct {
	// In is where the client's messages come from; nil is os.Stdin.
	In io.Reader
	// Out is where messages to the client go, each in one Write; nil is os.Stdout.
	Out io.Writer
	// MaxInFlight bounds the calls that are being worked on, and apart from
	// them the open subscriptions; not positive is DefaultMaxInFlight.
	MaxInFlight int
	// MaxLine bounds a line in bytes, its end not counted; not positive is
	// DefaultMaxLine. A longer line is skipped, not held.
	MaxLine int
	// DrainTimeout bounds the wait for answers after In has ended; zero is
	// DefaultDrainTimeout, negative does not wait. It is also how long a
	// cancelled call that stays unanswered goes on holding its place.
	DrainTimeout time.Duration
	// Logger hears of refused lines (Debug) and of calls given up (Warn),
	// never of what a line said; nil is silent.
	Logger *slog.Logger

	connected atomic.Bool
}

// Connect starts to read In. A second call is an error: one input holds one session.
func (t *StdioTransport) Connect(context.Context) (mcp.Connection, error) {
	if !t.connected.CompareAndSwap(false, true) {
		return nil, errors.New("stdio transport: already connected")
	}
	c := t.conn()
	go c.receive()
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
	log := t.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	maxLine := positiveOr(t.MaxLine, DefaultMaxLine)
	return &stdioConn{
		lines:   newLineReader(in, maxLine),
		maxLine: maxLine,
		out:     out,
		calls:   newCallLedger(positiveOr(t.MaxInFlight, DefaultMaxInFlight), drain),
		drain:   drain,
		log:     log,
		inbox:   make(chan received),
		closed:  make(chan struct{}),
		broken:  make(chan struct{}),
	}
}

func positiveOr(n, fallback int) int {
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

	writeMu  sync.Mutex
	out      io.Writer
	writeErr error         // the first failure of out; set before broken is closed
	broken   chan struct{} // closed when out has failed
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
	line, err := jsonrpc.EncodeMessage(resp)
	if err != nil {
		// The caller is still owed an answer, and an error here would end the session.
		c.log.Warn("an answer could not be encoded", "error", err)
		line, err = jsonrpc.EncodeMessage(&jsonrpc.Response{ID: resp.ID, Error: &jsonrpc.Error{
			Code: jsonrpc.CodeInternalError, Message: "the answer could not be encoded",
		}})
		if err != nil {
			return err
		}
	}
	// The call gives up its place and its id before the client can see the
	// answer, because the client may use both again at once. It counts as
	// owed until the bytes are out, because until then they can be lost.
	var owed bool
	err = c.send(unescapeHTML(line), func() { owed = c.calls.answering(resp.ID) })
	if owed {
		c.calls.answered()
	}
	return err
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
	return c.send(line, nil)
}

// rejected is an error with the code by which the SDK tells a message that
// cannot be sent from a connection that is broken.
func rejected(why string) error {
	return &jsonrpc.Error{Code: -32005, Message: why}
}

// send writes one line, after before. The first failure ends the session: what
// follows a line cut short could not be told from it.
func (c *stdioConn) send(line []byte, before func()) error {
	line = append(line, '\n')
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	select {
	case <-c.closed:
		return mcp.ErrConnectionClosed
	case <-c.broken:
		return c.writeErr
	default:
	}
	if before != nil {
		before()
	}
	n, err := c.out.Write(line)
	if err == nil && n < len(line) {
		err = io.ErrShortWrite
	}
	if err == nil {
		return nil
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrClosedPipe // the SDK takes io.EOF for a session that ended well
	}
	c.writeErr = fmt.Errorf("writing to the client: %w", err)
	close(c.broken)
	return c.writeErr
}

// receive reads lines until the input ends or the session does.
func (c *stdioConn) receive() {
	for {
		line, err := c.lines.next()
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
	return c.deliver(received{msg: msg})
}

// refuse answers a line that goes no further.
func (c *stdioConn) refuse(no *refusal) error {
	if no.key.IsValid() && c.calls.knows(no.key) {
		no.id = nil // it would pass for the answer to the call that has this id
	}
	c.log.Debug("line refused", "code", no.code)
	return c.send(no.encode(), nil)
}

// finish ends the session when the input has ended.
func (c *stdioConn) finish(err error) {
	// A handler may be waiting for the client, which can no longer say anything.
	for _, id := range c.calls.end() {
		if c.deliver(received{msg: &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{
			Code: jsonrpc.CodeInternalError, Message: "the client closed its input before it answered",
		}}}) != nil {
			return
		}
	}
	c.awaitAnswers()
	_ = c.deliver(received{err: err})
}

// awaitAnswers waits until no answer is owed, for as long as drain allows. Only
// then may the SDK hear that the input has ended: from then on it writes nothing.
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
			c.log.Warn("the input has ended and calls are given up", "calls", c.calls.owing(), "after", c.drain)
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

// cancelledID is the id of the call that req takes back, if it takes one back.
func cancelledID(req *jsonrpc.Request) (jsonrpc.ID, bool) {
	if req.Method != "notifications/cancelled" || req.IsCall() {
		return jsonrpc.ID{}, false
	}
	var params map[string]json.RawMessage
	if json.Unmarshal(req.Params, &params) != nil {
		return jsonrpc.ID{}, false
	}
	id, err := parseID(params["requestId"])
	return id, err == nil
}
