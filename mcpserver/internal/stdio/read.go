package stdio

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/knack-dev/knack/mcpserver/internal/wire"
)

// reader is one of the goroutines that take turns reading lines.
type reader struct {
	*Conn
	late *time.Timer // makes another goroutine read during a long call; nil before the first
}

// receive reads lines until the input or the session ends.
func (c *Conn) receive() {
	for r := (&reader{Conn: c}); r.next(); {
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
		return c.refuse("", wire.Invalid(fmt.Sprintf("the line exceeds the limit of %d bytes", c.maxLine)))
	case err != nil:
		c.finish(err)
		return false
	}
	return c.take(line) && c.open.Err() == nil
}

// take handles one line. It reports false if the session is over.
func (c *reader) take(line []byte) bool {
	m, no := wire.Parse(line)
	if no != nil {
		return c.refuse("", no)
	}
	switch m.Kind {
	case wire.Call:
		return c.work(&m)
	case wire.Notification:
		if key := m.Cancelled(); key != "" {
			c.calls.cancel(key)
		}
		c.core.Hear(&m)
	case wire.Reply:
		c.calls.replied(&m)
	}
	return true
}

const (
	// quick bounds how long a call may take before another goroutine reads on: the next line may
	// cancel the call. Handing over immediately would take longer than many calls do.
	quick = time.Millisecond
	// maxIdle bounds the goroutines kept for further lines.
	maxIdle = 32
)

// work answers a call in this goroutine, whose stack has already grown and whose processor has the
// line in its cache. If more lines are buffered, or the call takes long, another goroutine reads
// on. This goroutine then waits for its turn to read.
func (c *reader) work(m *wire.Message) bool {
	work, err := c.core.Take(m)
	if err != nil {
		return c.refuse(m.Method, &wire.Refusal{ID: []byte(m.ID), Key: m.Key, Error: *err})
	}
	w := &working{conn: c.Conn, key: m.Key, id: m.ID, work: work, first: m.Method == initializeMethod}
	if no := c.calls.admit(m.Method, w); no != nil {
		return c.refuse(m.Method, no)
	}
	reads := !w.first && !c.lines.more() // whether this goroutine reads on, unless the call takes long
	switch {
	case w.first: // another goroutine reads on once the answer is being written
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
func (c *Conn) readOn() {
	select {
	case c.free <- struct{}{}:
	default:
		go c.receive()
	}
}

// refuse answers a refused line. It reports false if the session is over.
func (c *Conn) refuse(method string, no *wire.Refusal) bool {
	c.core.Refused(method, &no.Error)
	if no.Key != "" && c.calls.find(no.Key) != nil {
		no.ID = nil // the refusal would look like the answer to the call with this id
	}
	c.log.Debug("line refused", "code", no.Error.Code)
	// No line is read until the refusal is written, so refusals cannot pile up. The wait is
	// bounded, since the end of the input would go unnoticed meanwhile.
	most := c.drain
	if most <= 0 {
		most = patience
	}
	return c.send(append(no.Encode(), '\n'), time.After(most)) == nil
}

// finish ends the session after the end of the input.
func (c *Conn) finish(err error) {
	if c.finished.Swap(true) {
		return // the input has ended in another way
	}
	c.calls.end()
	c.awaitAnswers()
	if err != io.EOF {
		c.inputErr = err
	}
	c.end()
}

// awaitAnswers waits until no answer is owed, at most for the drain time.
func (c *Conn) awaitAnswers() {
	most := max(c.drain, 0)
	late := time.After(most)
	for c.calls.owing() > 0 {
		select {
		case <-c.calls.settled:
		case <-c.open.Done():
			return
		case <-late:
			n := c.calls.owing()
			c.log.Warn("the input has ended and calls are given up", "calls", n, "after", c.drain)
			_ = c.giveUp(fmt.Errorf("%d calls had no answer %v after the input ended: %w", n, most, ErrUnanswered))
			return
		}
	}
}
