package stdio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/mcpserver/internal/wire"
)

// receive reads lines until the input ends or the session does.
func (c *conn) receive() {
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
			// Not a parse error: the line was not looked at.
			err = c.refuse(wire.Invalid(fmt.Sprintf("the line exceeds the limit of %d bytes", c.maxLine)))
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

// letGo lets the goroutines run that were handed a message, before the reader waits for
// the next. To the runtime a thread that waits in a read is at work: what waits to run
// behind it on its processor is taken over by another that has nothing to do, or else when
// the runtime looks around, which is up to 20 ms later. So nothing may wait there. A client
// that has one call under way waits for its answer, and so does the reader then, without a
// processor. If several are under way it gives its processor away: one time in 61 the
// scheduler would come straight back, but not twice.
func (c *conn) letGo() {
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
func (c *conn) awaitOnly(most time.Duration) {
	if c.settling == nil {
		c.settling = time.NewTimer(most)
	} else {
		c.settling.Reset(most)
	}
	defer c.settling.Stop()
	// The goroutine that waits for the last answers wants the token too, and looks again.
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
func (c *conn) take(line []byte) error {
	if c.core != nil && c.calls.shaking.Load() == 0 {
		if call, ok := wire.ParseCall(line); ok {
			if do, ok := c.core(call); ok {
				return c.start(call, do)
			}
		}
	}
	msg, no := wire.Parse(line)
	if no != nil {
		return c.refuse(no)
	}
	switch msg := msg.(type) {
	case *jsonrpc.Request:
		if msg.IsCall() {
			if no := c.calls.admit(wire.Key(msg.ID), msg.Method, wire.EncodeID(msg.ID), nil); no != nil {
				return c.refuse(no)
			}
		} else if key := wire.Cancelled(msg); key != "" && !c.calls.cancelled(key) {
			return nil
		}
	case *jsonrpc.Response:
		c.calls.replied(wire.Key(msg.ID))
	case nil:
		return nil
	}
	c.handed = true
	return c.deliver(received{msg: msg})
}

// start begins the work of a call that the core has taken.
func (c *conn) start(call wire.Call, do func(context.Context) wire.Answer) error {
	key, id := call.Key(), bytes.Clone(call.ID)
	ctx, cancel := context.WithCancel(c.ctx)
	if no := c.calls.admit(key, call.Method, id, cancel); no != nil {
		cancel()
		return c.refuse(no)
	}
	c.handed = true
	go func() {
		defer cancel()
		c.work(ctx, key, id, do)
	}()
	return nil
}

// refuse answers a line that goes no further.
func (c *conn) refuse(no *wire.Refusal) error {
	if no.Key != "" && c.calls.knows(no.Key) {
		no.ID = nil // it would pass for the answer to the call that has this id
	}
	c.log.Debug("line refused", "code", no.Error.Code)
	// Nothing is read meanwhile, so that refusals cannot pile up, and so that the end of the
	// input would go unseen: hence the bound.
	most := c.drain
	if most <= 0 {
		most = Patience
	}
	patience := time.NewTimer(most)
	defer patience.Stop()
	return c.send(append(no.Encode(), '\n'), patience.C)
}

// finish ends the session when the input has ended.
func (c *conn) finish(err error) {
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
// Answers that are still owed then are given up, whether they are being made or written.
func (c *conn) awaitAnswers() {
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

// deliver hands r to Read. Its error says that the session is over.
func (c *conn) deliver(r received) error {
	select {
	case c.inbox <- r:
		return nil
	case <-c.closed:
		return mcp.ErrConnectionClosed
	case <-c.broken:
		return c.writeErr
	}
}

func (c *conn) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}
