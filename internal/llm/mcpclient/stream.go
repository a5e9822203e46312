package mcpclient

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	// maxFlood is the length in bytes of a line for which the program is ended. A shorter line over
	// maxMessage only loses its answer.
	maxFlood = 64 << 20
	// maxGarbage bounds the lines that are not messages. Some programs write a few words to the
	// wrong stream.
	maxGarbage = 1_000
	// maxAsked bounds the program's unanswered requests.
	maxAsked = 64
	// stuckTime is how long a program may leave a request unread after its caller has given up.
	stuckTime = time.Second
)

var (
	errLong  = fmt.Errorf("the answer is larger than %d MiB", maxMessage>>20)
	errFlood = errors.New("the program sends without end")
)

// stream carries lines between knack and a program.
type stream struct {
	in      *os.File
	out     *os.File
	lines   *bufio.Reader
	program *program
	writing sync.Mutex
	asked   atomic.Int32

	mu      sync.Mutex
	last    jsonrpc.ID // of the last request sent
	fault   string     // why the stream is no longer used
	garbage string     // the first line that was not a message
}

func newStream(in, out *os.File, p *program) *stream {
	return &stream{in: in, out: out, lines: bufio.NewReaderSize(out, 64<<10), program: p}
}

// SessionID returns "": a program has one session.
func (s *stream) SessionID() string { return "" }

// Close asks the program to end and does not wait.
func (s *stream) Close() error {
	s.program.cancel()
	return nil
}

// odd returns the first line that was not a message, or "".
func (s *stream) odd() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.garbage
}

// fail ends the program because of a fault.
func (s *stream) fail(fault string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault == "" {
		s.fault = fault
	}
	s.program.cancel()
	return errors.New(fault)
}

// Read returns the next answer or request of the program. It drops notifications, since the
// client needs none.
func (s *stream) Read(context.Context) (jsonrpc.Message, error) {
	for odd := 0; ; {
		line, err := s.line()
		switch {
		case errors.Is(err, errFlood):
			return nil, s.fail("sends a line without end")
		case errors.Is(err, errLong):
			s.mu.Lock()
			last := s.last
			s.mu.Unlock()
			return &jsonrpc.Response{ID: last, Error: errLong}, nil
		case err != nil:
			if !s.program.hasEnded() {
				return nil, s.fail("has closed its standard output")
			}
			return nil, io.EOF
		}
		msg, err := jsonrpc.DecodeMessage(line)
		if err != nil {
			if line = bytes.TrimSpace(line); len(line) == 0 {
				continue
			}
			s.mu.Lock()
			if s.garbage == "" {
				s.garbage = safeLine(s.program.hidden.hide(string(line)))
			}
			s.mu.Unlock()
			if odd++; odd > maxGarbage {
				return nil, s.fail("writes something other than MCP to its standard output: " + s.garbage)
			}
			continue
		}
		request, ok := msg.(*jsonrpc.Request)
		switch {
		case !ok:
			return msg, nil
		case !request.IsCall():
		case s.asked.Add(1) > maxAsked:
			return nil, s.fail("asks more than it takes answers")
		default:
			return msg, nil
		}
	}
}

// line returns the next line. The error is errLong if it has more than maxMessage bytes.
func (s *stream) line() ([]byte, error) {
	var whole []byte
	size := 0
	for {
		part, err := s.lines.ReadSlice('\n')
		if size += len(part); size <= maxMessage {
			whole = append(whole, part...)
		} else {
			whole = nil
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull) && size <= maxFlood:
		case errors.Is(err, bufio.ErrBufferFull):
			return nil, errFlood
		case err != nil && (len(whole) == 0 || !errors.Is(err, io.EOF)):
			return nil, err
		case size > maxMessage:
			return nil, errLong
		default:
			return whole, nil
		}
	}
}

// Write sends a message. If the program has not read it soon after the context ends, the program
// is ended.
func (s *stream) Write(ctx context.Context, msg jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	done := make(chan struct{})
	defer close(done)
	defer context.AfterFunc(ctx, func() {
		timer := time.NewTimer(stuckTime)
		defer timer.Stop()
		select {
		case <-done:
		case <-timer.C:
			_ = s.fail("does not read its input")
		}
	})()
	s.writing.Lock()
	defer s.writing.Unlock()
	switch m := msg.(type) {
	case *jsonrpc.Response:
		s.asked.Add(-1)
	case *jsonrpc.Request:
		if m.IsCall() {
			s.mu.Lock()
			s.last = m.ID
			s.mu.Unlock()
		}
	}
	if _, err := s.in.Write(append(data, '\n')); err != nil {
		return fmt.Errorf("%w: %w", io.EOF, err)
	}
	return nil
}
