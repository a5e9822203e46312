package mcpserver

import (
	"context"
	"net/http"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sessionEvents keeps what clients may ask for again, and knows what was sent on a
// session's own stream when it last ended. The SDK sends a stream that names no
// last event all over again, and a client would be told anew of changes that it has
// taken in; the first stream still gets what came before it.
type sessionEvents struct {
	*mcp.MemoryEventStore

	mu   sync.Mutex
	sent map[string]*sentEvents // by session
}

type sentEvents struct {
	count int // on the session's own stream
	known int // of them, when a stream of it last ended; 0 before the first
}

func newSessionEvents() *sessionEvents {
	s := &sessionEvents{MemoryEventStore: mcp.NewMemoryEventStore(nil), sent: map[string]*sentEvents{}}
	s.SetMaxBytes(maxEvents)
	return s
}

// Append counts the events of a session's own stream, which has no name.
func (s *sessionEvents) Append(ctx context.Context, session, stream string, data []byte) error {
	if err := s.MemoryEventStore.Append(ctx, session, stream, data); err != nil || stream != "" {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sent[session] == nil {
		s.sent[session] = &sentEvents{}
	}
	s.sent[session].count++
	return nil
}

// SessionClosed forgets a session.
func (s *sessionEvents) SessionClosed(ctx context.Context, session string) error {
	s.mu.Lock()
	delete(s.sent, session)
	s.mu.Unlock()
	return s.MemoryEventStore.SessionClosed(ctx, session)
}

// resume lets a stream that names no last event begin where the one before ended,
// and returns what notes its own end.
func (s *sessionEvents) resume(h http.Header) (ended func()) {
	const last = "Last-Event-Id"
	session := h.Get("Mcp-Session-Id")
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.sent[session]; e != nil && e.known > 0 && h.Get(last) == "" {
		h.Set(last, "_"+strconv.Itoa(e.known-1)) // the SDK's form: the stream's name, and the index
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if e := s.sent[session]; e != nil {
			e.known = e.count
		}
	}
}
