package httpd

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bounds on the notifications kept for one session. They are list changes of some 100 bytes each.
const (
	maxEvents     = 64
	maxEventBytes = 32 << 10
)

// events keeps the last notifications of each session, so that a client whose stream broke can
// resume. Answers to calls are JSON and are not kept.
//
// The SDK's own store would keep every answer, and an entry for every POST for as long as its
// session lives (TestUpstreamKeepsEveryStream).
type events struct {
	mu sync.Mutex
	of map[string]*eventLog // by session
}

type eventLog struct {
	first int // index of the first event in left
	left  [][]byte
	size  int
}

// Open implements [mcp.EventStore].
func (s *events) Open(_ context.Context, session, stream string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stream == "" && s.of[session] == nil {
		s.of[session] = &eventLog{}
	}
	return nil
}

// Append implements [mcp.EventStore].
func (s *events) Append(_ context.Context, session, stream string, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.of[session]
	if n == nil || stream != "" {
		return nil
	}
	n.left, n.size = append(n.left, data), n.size+len(data)
	for len(n.left) > maxEvents || n.size > maxEventBytes && len(n.left) > 1 {
		n.size -= len(n.left[0])
		n.left[0] = nil
		n.left, n.first = n.left[1:], n.first+1
	}
	return nil
}

// After implements [mcp.EventStore].
func (s *events) After(_ context.Context, session, stream string, index int) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		data, err := s.after(session, stream, index+1)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, d := range data {
			if !yield(d, nil) {
				return
			}
		}
	}
}

func (s *events) after(session, stream string, from int) ([][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.of[session]
	if n != nil && from == 0 && stream == "" {
		// The client opens its stream anew: it asks for no past events, and the SDK counts from 0
		// again.
		*n = eventLog{}
	}
	if n == nil || stream != "" || from < n.first {
		return nil, fmt.Errorf("events of a stream: %w", mcp.ErrEventsPurged)
	}
	return append([][]byte(nil), n.left[min(from-n.first, len(n.left)):]...), nil
}

// SessionClosed implements [mcp.EventStore].
func (s *events) SessionClosed(_ context.Context, session string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.of, session)
	return nil
}
