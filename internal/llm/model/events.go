package model

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// Bounds of an answer, in bytes.
const (
	// maxEvent bounds an event. A call in one event may hold a whole file; tools accept at most
	// 16 MiB.
	maxEvent = 16 << 20
	// maxStream bounds a stream. An event of some 300 bytes has one token, so this is several
	// times the output of the most talkative models.
	maxStream = 256 << 20
	// maxAnswer bounds an assembled answer, and memberSize is the cost of a member besides its
	// text.
	maxAnswer  = 16 << 20
	memberSize = 64
	// maxWhole bounds an unstreamed answer, and maxList a list of models.
	maxWhole = 16 << 20
	maxList  = 8 << 20
	// maxFailure bounds the part of a failure's body that is read.
	maxFailure = 64 << 10
)

var (
	errLongEvent  = errors.New("sent an event of more than 16 MiB")
	errLongStream = errors.New("sent more than 256 MiB and no end")
	errLarge      = errors.New("sent an answer of more than 16 MiB")
)

// events reads a stream of server-sent events (html.spec.whatwg.org, 9.2.6). It also accepts a
// stream that ends after an event without the blank line.
type events struct {
	from *bufio.Reader
	left int  // bytes that the stream may still have
	cr   bool // the last line ended in CR, so a following LF ends no line
	// atEnd is true once the stream has ended, perhaps within an event.
	atEnd      bool
	text, data []byte // of the line, and of the event
}

func newEvents(from *bufio.Reader) *events { return &events{from: from, left: maxStream} }

// next returns the data of the next event that has data; the data is valid until the next call. At
// the end of the stream the error is io.EOF.
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
			continue // a comment, a name, an id: only the data matter
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
		b, _ := e.from.Peek(e.from.Buffered()) // it is buffered
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
	_, _ = e.from.Discard(n) // they are buffered
}
