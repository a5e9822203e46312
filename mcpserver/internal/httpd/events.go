package httpd

import (
	"container/list"
	"context"
	"fmt"
	"iter"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// eventCost is what an event or a stream takes besides its bytes, as the bound
// counts it: many small answers must not take a multiple of what a few large ones do.
const eventCost = 256

// events keeps what sessions were sent, so that a client whose stream broke can ask
// for the rest. It is one queue for all sessions, the oldest goes first, and a stream
// of which nothing is left goes too.
//
// The SDK's own store bounds the bytes of the events alone and keeps an entry for
// every stream, which is every POST, for as long as its session lives
// (TestUpstreamKeepsEveryStream).
type events struct {
	max int // bytes, eventCost included

	mu       sync.Mutex
	held     int
	queue    list.List // of *event, the oldest first
	sessions map[string]map[string]*keptStream
}

// keptStream is one answer to a POST, or a session's stream of news, whose id is "".
type keptStream struct {
	session, id string
	first       int             // index of the first event that is left
	kept        []*list.Element // its events, in order
	opened      *list.Element   // its place in the queue, nil once that was taken away
}

type event struct {
	of   *keptStream
	data []byte
}

func newEvents(most int) *events {
	return &events{max: most, sessions: map[string]map[string]*keptStream{}}
}

// Open implements [mcp.EventStore].
func (s *events) Open(_ context.Context, session, stream string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.sessions[session]
	if of == nil {
		of = map[string]*keptStream{}
		s.sessions[session] = of
	}
	if of[stream] == nil {
		st := &keptStream{session: session, id: stream}
		of[stream] = st
		st.opened = s.push(event{of: st})
		s.trim()
	}
	return nil
}

// Append implements [mcp.EventStore]. Of a stream that had to go nothing more is kept:
// its indices are not known any longer.
func (s *events) Append(_ context.Context, session, stream string, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st := s.sessions[session][stream]; st != nil {
		st.kept = append(st.kept, s.push(event{st, data}))
		s.trim()
	}
	return nil
}

// push is called with the lock held, as are those below.
func (s *events) push(e event) *list.Element {
	s.held += eventCost + len(e.data)
	return s.queue.PushBack(&e)
}

// trim lets the oldest go. The newest stays, whatever its size.
func (s *events) trim() {
	for s.held > s.max && s.queue.Len() > 1 {
		s.dropOldest()
	}
}

func (s *events) remove(at *list.Element) {
	if at != nil {
		s.held -= eventCost + len(s.queue.Remove(at).(*event).data)
	}
}

func (s *events) dropOldest() {
	at := s.queue.Front()
	st := at.Value.(*event).of
	if at == st.opened {
		st.opened = nil
	} else {
		st.kept[0] = nil
		st.kept = st.kept[1:]
		st.first++
	}
	s.remove(at)
	// A session has one stream of news, which is never over.
	if st.id != "" && st.opened == nil && len(st.kept) == 0 {
		delete(s.sessions[st.session], st.id)
	}
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

func (s *events) after(session, stream string, index int) (data [][]byte, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.sessions[session][stream]
	if st != nil && index == 0 && stream == "" {
		// Of a session's news, what comes behind no event that the client has: it has opened
		// its stream anew, asks for nothing that is past, and the SDK counts from 0 again.
		for _, at := range st.kept {
			s.remove(at)
		}
		st.kept, st.first = nil, 0
	}
	if st == nil || index < st.first {
		return nil, fmt.Errorf("events of a stream: %w", mcp.ErrEventsPurged)
	}
	for _, at := range st.kept[min(index-st.first, len(st.kept)):] {
		data = append(data, at.Value.(*event).data)
	}
	return data, nil
}

// SessionClosed implements [mcp.EventStore].
func (s *events) SessionClosed(_ context.Context, session string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.sessions[session] {
		s.remove(st.opened)
		for _, at := range st.kept {
			s.remove(at)
		}
	}
	delete(s.sessions, session)
	return nil
}
