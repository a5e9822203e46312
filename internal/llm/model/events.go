package model

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// Bounds of an answer, in bytes.
const (
	// maxEvent is the largest event. A call in one event may have a whole file in it; 16 MiB is
	// the largest that a tool takes.
	maxEvent = 16 << 20
	// maxStream is the largest stream. An event of some 300 bytes has one token, so that it is
	// several times what the most talkative models send.
	maxStream = 256 << 20
	// maxAnswer is the largest answer, put together, and memberSize what a member costs beside
	// its text.
	maxAnswer  = 16 << 20
	memberSize = 64
	// maxWhole is the largest answer that is not streamed, and maxList the largest list of models.
	maxWhole = 16 << 20
	maxList  = 8 << 20
	// maxFailure is how much is read of the body of a failure.
	maxFailure = 64 << 10
)

var (
	errLongEvent  = errors.New("sent an event of more than 16 MiB")
	errLongStream = errors.New("sent more than 256 MiB and no end")
	errLarge      = errors.New("sent an answer of more than 16 MiB")
)

// events reads a stream of server-sent events (html.spec.whatwg.org, 9.2.6), and takes one that
// breaks off at the end of an event without the blank line.
type events struct {
	from *bufio.Reader
	left int  // bytes that the stream may still have
	cr   bool // the last line ended in CR, so that LF is no further end
	// atEnd says that the stream has ended, maybe in the middle of an event.
	atEnd      bool
	text, data []byte // of the line, and of the event
}

func newEvents(from *bufio.Reader) *events { return &events{from: from, left: maxStream} }

// next returns the data of the next event that has any. It is valid until the next call. At the
// end of the stream the error is io.EOF.
func (e *events) next() ([]byte, error) {
	e.data = e.data[:0]
	has := false
	for {
		line, err := e.line()
		e.atEnd = err == io.EOF
		if err != nil && (err != io.EOF || len(line) == 0) {
			if err == io.EOF && has {
				return e.data, nil
			}
			return nil, err
		}
		if len(line) == 0 {
			if has {
				return e.data, nil
			}
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		if string(field) != "data" {
			continue // a comment, a name, an id: the data say everything
		}
		if has {
			e.data = append(e.data, '\n')
		}
		has = true
		e.data = append(e.data, bytes.TrimPrefix(value, []byte(" "))...)
		if len(e.data) > maxEvent {
			return nil, errLongEvent
		}
	}
}

// line returns the next line without its end, which is LF, CRLF or CR.
func (e *events) line() ([]byte, error) {
	e.text = e.text[:0]
	for {
		if _, err := e.from.Peek(1); err != nil {
			return e.text, err
		}
		b, _ := e.from.Peek(e.from.Buffered()) // it is there
		if e.cr && b[0] == '\n' {
			e.skip(1)
			e.cr = false
			continue
		}
		e.cr = false
		n := bytes.IndexByte(b, '\n')
		if n < 0 {
			n = len(b)
		}
		if i := bytes.IndexByte(b[:n], '\r'); i >= 0 {
			n, e.cr = i, true
		}
		ends := n < len(b)
		e.text = append(e.text, b[:n]...)
		e.skip(min(n+1, len(b)))
		switch {
		case e.left < 0:
			return nil, errLongStream
		case len(e.text) > maxEvent:
			return nil, errLongEvent
		case ends:
			return e.text, nil
		}
	}
}

func (e *events) skip(n int) {
	e.left -= n
	_, _ = e.from.Discard(n) // they are there
}
