package stdio

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/knack-dev/knack/mcpserver/internal/wire"
)

// reader is one of the goroutines that take turns reading lines.
type reader struct {
	*conn
	late *time.Timer // makes another goroutine read during a long call; nil before the first
}

// receive reads lines until the input or the session ends.
func (c *conn) receive() {
	for r := (&reader{conn: c}); r.next(); {
	}
}

// next handles one line. It reports false if the goroutine must end.
func (c *reader) next() bool {
	line, err := c.lines.next()
	switch {
	case c.finished.Load():
		return false
	case errors.Is(err, errLineTooLong):
		// Not a parse error: the line was not parsed.
		return c.refuse("", wire.Invalid(fmt.Sprintf("the line exceeds the limit of %d bytes", c.o.MaxLine)))
	case err != nil:
		c.finish(err)
		return false
	}
	return c.take(line) && c.open.Err() == nil
}

// take handles one line. It reports false if the session is over.
func (c *reader) take(line []byte) bool {
	if c.o.Core != nil && c.calls.handshakes.Load() == 0 {
		if call, ok := wire.ParseCall(line); ok {
			if work, ok := c.o.Core(call); ok {
				return c.work(call, work)
			}
		}
	}
	msg, no := wire.Parse(line)
	if no != nil {
		return c.refuse("", no)
	}
	switch msg := msg.(type) {
	case *jsonrpc.Request:
		if msg.IsCall() {
			if no := c.calls.admit(wire.Key(msg.ID), msg.Method, string(wire.EncodeID(msg.ID)), &inFlight{}); no != nil {
				return c.refuse(msg.Method, no)
			}
		} else if key := wire.Cancelled(msg); key != "" && !c.calls.cancelled(key) {
			return true
		}
	case *jsonrpc.Response:
		c.calls.replied(wire.Key(msg.ID))
	case nil:
		return true
	}
	if !c.deliver(received{msg: msg}) {
		return false
	}
	// The runtime counts a thread waiting in a read as running: the goroutine that got the message
	// would wait up to 20 ms for its processor. In one of 61 cases the scheduler returns to this
	// goroutine at once, but never twice in a row.
	runtime.Gosched()
	runtime.Gosched()
	return true
}

const (
	// quick bounds how long a call may take before another goroutine reads on: the next line may
	// cancel the call. Handing over at once takes longer than many calls.
	quick = time.Millisecond
	// maxIdle bounds the goroutines kept for further lines.
	maxIdle = 32
)

// work does the work of a call that the core accepted, in this goroutine, whose cache holds the
// line and whose stack has grown. If more lines are buffered or the call takes long, another
// goroutine reads on, and this one then waits for its turn to read.
func (c *reader) work(call wire.Call, work wire.Work) bool {
	w := &working{conn: c.conn, key: call.Key(), id: call.ID, work: work}
	w.core = w
	if no := c.calls.admit(w.key, call.Method, call.ID, &w.inFlight); no != nil {
		return c.refuse(call.Method, no)
	}
	reads := !c.lines.more() // this goroutine, unless the call takes long
	switch {
	case !reads:
		c.readOn()
	case c.late == nil:
		c.late = time.AfterFunc(quick, c.readOn)
	default:
		c.late.Reset(quick)
	}
	c.respond(w)
	if reads && c.late.Stop() {
		return true
	}
	if c.idle.Add(1) > maxIdle {
		c.idle.Add(-1)
		return false
	}
	defer c.idle.Add(-1)
	select {
	case <-c.free:
		return true
	case <-c.open.Done():
		return false
	}
}

// readOn makes another goroutine read.
func (c *conn) readOn() {
	select {
	case c.free <- struct{}{}:
	default:
		go c.receive()
	}
}

// refuse answers a refused line. It reports false if the session is over.
func (c *conn) refuse(method string, no *wire.Refusal) bool {
	c.refused(method, &no.Error)
	if no.Key != "" && c.calls.find(no.Key) != nil {
		no.ID = nil // the refusal would look like the answer to the call with this id
	}
	c.o.Log.Debug("line refused", "code", no.Error.Code)
	// No line is read meanwhile, so refusals cannot pile up. The end of the input would go
	// unnoticed too, hence the bound.
	most := c.o.Drain
	if most <= 0 {
		most = Patience
	}
	return c.send(append(no.Encode(), '\n'), time.After(most)) == nil
}

// finish ends the session after the end of the input.
func (c *conn) finish(err error) {
	if c.finished.Swap(true) {
		return // the input has ended in another way
	}
	// A handler may wait for the client, which can no longer answer.
	for _, id := range c.calls.end() {
		if !c.deliver(received{msg: &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{
			Code: jsonrpc.CodeInternalError, Message: "the client closed its input before it answered",
		}}}) {
			return
		}
	}
	c.awaitAnswers()
	c.endSession()
	c.deliver(received{err: err})
}

// awaitAnswers waits until no answer is owed, at most for the drain time. Only then may the SDK
// learn of the end of the input, since it writes nothing afterwards.
func (c *conn) awaitAnswers() {
	most := max(c.o.Drain, 0)
	late := time.After(most)
	for c.calls.owing() > 0 {
		select {
		case <-c.calls.settled:
		case <-c.open.Done():
			return
		case <-late:
			n := c.calls.owing()
			c.o.Log.Warn("the input has ended and calls are given up", "calls", n, "after", c.o.Drain)
			_ = c.giveUp(fmt.Errorf("%d calls had no answer %v after the input ended: %w", n, most, ErrUnanswered))
			return
		}
	}
}

// refused reports a refusal to [Options.Refused].
func (c *conn) refused(method string, why *jsonrpc.Error) {
	if c.o.Refused != nil {
		c.o.Refused(method, why)
	}
}

// deliver passes r to Read. It reports false if the session is over.
func (c *conn) deliver(r received) bool {
	select {
	case c.inbox <- r:
		return true
	case <-c.open.Done():
		return false
	}
}
