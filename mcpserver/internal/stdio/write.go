package stdio

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"
)

// send waits for its turn and writes one line. If patience fires first, the client does not read,
// and the session ends.
func (c *Conn) send(line []byte, patience <-chan time.Time) error {
	if err := c.takeTurn(patience); err != nil {
		return err
	}
	defer c.giveTurn()
	return c.line([][]byte{line}, patience)
}

// takeTurn waits for the turn to write.
func (c *Conn) takeTurn(patience <-chan time.Time) error {
	select {
	case c.turn <- struct{}{}:
	case <-c.open.Done():
		return context.Cause(c.open)
	case <-patience:
		return c.giveUp(errNotReading)
	}
	if c.open.Err() != nil {
		c.giveTurn()
		return context.Cause(c.open)
	}
	return nil
}

// giveTurn gives up the turn to write.
func (c *Conn) giveTurn() { <-c.turn }

// line writes a message, or pieces of one. The caller has the turn to write. The first failure ends
// the session, since a client could not distinguish the next line from the rest of a truncated one.
func (c *Conn) line(pieces [][]byte, patience <-chan time.Time) error {
	if out, ok := c.out.(nowWriter); ok {
		if pieces = skipBytes(pieces, out.WriteNow(pieces)); len(pieces) == 0 {
			return nil
		}
	}
	data := pieces[0]
	if len(pieces) > 1 {
		data = bytes.Join(pieces, nil)
	}
	// A write cannot be interrupted. It runs in a separate goroutine, so that a hanging write
	// blocks nothing else.
	written := make(chan error, 1)
	go func() { written <- c.write(data) }()
	select {
	case err := <-written:
		if err != nil {
			err = c.giveUp(fmt.Errorf("writing to the client: %w", err))
		}
		return err
	case <-c.output.Done():
		return context.Cause(c.output)
	case <-patience:
		return c.giveUp(errNotReading)
	}
}

// nowWriter is an output that writes as much as it can without waiting. Starting a goroutine for a
// write costs more than most writes.
type nowWriter interface{ WriteNow(pieces [][]byte) int }

// skipBytes returns the bytes after the first n. It does not change the pieces.
func skipBytes(pieces [][]byte, n int) [][]byte {
	for i, p := range pieces {
		if n < len(p) {
			return append([][]byte{p[n:]}, pieces[i+1:]...)
		}
		n -= len(p)
	}
	return nil
}

// write writes all of data.
func (c *Conn) write(data []byte) error {
	n, err := c.out.Write(data)
	if err == nil && n < len(data) {
		err = io.ErrShortWrite
	}
	return err
}

// errNotReading is the error of a session that ends because its client does not read.
var errNotReading = fmt.Errorf("the client does not read: %w", ErrUnanswered)

// giveUp fails all further writes, including those in progress, and returns why.
func (c *Conn) giveUp(why error) error {
	c.failOutput(why)
	c.end()
	return context.Cause(c.output)
}
