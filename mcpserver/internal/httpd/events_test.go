package httpd

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// held counts what a store holds, by looking at all of it.
func (s *events) count() (streams, kept, cost int) {
	for _, of := range s.sessions {
		for _, st := range of {
			streams++
			kept += len(st.kept)
			if st.opened != nil {
				cost += eventCost
			}
			for _, at := range st.kept {
				cost += eventCost + len(at.Value.(*event).data)
			}
		}
	}
	return streams, kept, cost
}

func replay(s mcp.EventStore, session, stream string, index int) (got []string, err error) {
	for data, e := range s.After(context.Background(), session, stream, index) {
		if e != nil {
			return nil, e
		}
		got = append(got, string(data))
	}
	return got, nil
}

// While there is room it answers as the SDK's store does.
func TestEventsAsTheSDK(t *testing.T) {
	ctx := context.Background()
	ours, theirs := newEvents(1<<20), mcp.NewMemoryEventStore(nil)
	for _, s := range []mcp.EventStore{ours, theirs} {
		for _, id := range []string{"", "x", "y"} {
			if err := s.Open(ctx, "a", id); err != nil {
				t.Fatal(err)
			}
			for i := range 5 {
				if err := s.Append(ctx, "a", id, []byte(fmt.Sprint(id, i))); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for _, id := range []string{"", "x", "y"} {
		first := -1
		if id == "" { // which begins anew behind nothing
			first = 0
		}
		for index := first; index < 7; index++ {
			got, err := replay(ours, "a", id, index)
			want, wantErr := replay(theirs, "a", id, index)
			if !reflect.DeepEqual(got, want) || err != nil || wantErr != nil {
				t.Errorf("%q after %d: %q, %v; want %q, %v", id, index, got, err, want, wantErr)
			}
		}
	}
	for _, s := range []mcp.EventStore{ours, theirs} {
		if _, err := replay(s, "b", "x", -1); err == nil {
			t.Errorf("%T knows a session that there was not", s)
		}
		_ = s.SessionClosed(ctx, "a")
		if _, err := replay(s, "a", "x", -1); err == nil {
			t.Errorf("%T knows a session that has ended", s)
		}
	}
}

// The oldest goes first, whosever it is, and what is left has the indices that it had.
func TestEventsGoOldestFirst(t *testing.T) {
	ctx := context.Background()
	s := newEvents(10*eventCost + len("news"))
	_ = s.Open(ctx, "a", "")
	_ = s.Open(ctx, "a", "x")
	_ = s.Open(ctx, "b", "y")
	for i := range 6 {
		_ = s.Append(ctx, "a", "x", nil)
		_ = s.Append(ctx, "b", "y", nil)
		if i == 1 {
			_ = s.Append(ctx, "a", "", []byte("news"))
		}
	}
	// Of 3 openings and 13 events the last 10 stay, of which b's second is the oldest.
	for _, c := range []struct {
		session, id string
		index, n    int // -1: gone
	}{{"a", "x", 0, -1}, {"a", "x", 1, 4}, {"a", "x", 4, 1}, {"a", "x", 5, 0}, {"b", "y", -1, -1}, {"b", "y", 0, 5}} {
		got, err := replay(s, c.session, c.id, c.index)
		if c.n < 0 != errors.Is(err, mcp.ErrEventsPurged) || c.n >= 0 && len(got) != c.n {
			t.Errorf("%s %q after %d: %d, %v; want %d", c.session, c.id, c.index, len(got), err, c.n)
		}
	}
	// One event that is larger than the bound is kept, and all others go.
	_ = s.Append(ctx, "b", "y", make([]byte, 100*eventCost))
	if streams, kept, cost := s.count(); streams != 2 || kept != 1 || cost != s.held {
		t.Errorf("%d streams, %d events, %d bytes, counted %d", streams, kept, cost, s.held)
	}
	// A stream of news goes on with its index, another that went is not begun anew.
	_ = s.Append(ctx, "a", "", []byte("more"))
	if got, err := replay(s, "a", "", 0); !reflect.DeepEqual(got, []string{"more"}) || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	// Opened anew, the stream has nothing that is past, and counts from 0.
	for _, want := range []string{"", "next"} {
		if got, err := replay(s, "a", "", -1); len(got) > 0 || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		_ = s.Append(ctx, "a", "", []byte("first"))
		if want != "" {
			_ = s.Append(ctx, "a", "", []byte(want))
			if got, err := replay(s, "a", "", 0); !reflect.DeepEqual(got, []string{want}) || err != nil {
				t.Errorf("%q, %v", got, err)
			}
		}
	}
	_ = s.Append(ctx, "a", "x", []byte("late"))
	if got, err := replay(s, "a", "x", -1); !errors.Is(err, mcp.ErrEventsPurged) {
		t.Errorf("%q, %v", got, err)
	}
}

// Calls without end in one session, or in sessions that come and go, take no more
// than the bound.
func TestEventsAreBounded(t *testing.T) {
	ctx := context.Background()
	s := newEvents(1000 * eventCost)
	for i := range 100_000 {
		session := "a"
		if i%2 == 1 {
			session = fmt.Sprint("b", i/20)
		}
		_ = s.Open(ctx, session, fmt.Sprint(i))
		if i%3 > 0 {
			_ = s.Append(ctx, session, fmt.Sprint(i), []byte(strings.Repeat("x", i%300)))
		}
		if i%20 == 19 {
			_ = s.SessionClosed(ctx, session)
		}
	}
	streams, _, cost := s.count()
	if streams > 1000 || cost > s.max || cost != s.held || s.queue.Len() > 1000 {
		t.Errorf("%d streams, %d bytes, counted %d, %d in the queue", streams, cost, s.held, s.queue.Len())
	}
	_ = s.SessionClosed(ctx, "a")
	if len(s.sessions) != 0 || s.held != 0 || s.queue.Len() != 0 {
		t.Errorf("without a session: %d sessions, %d bytes, %d in the queue", len(s.sessions), s.held, s.queue.Len())
	}
}

func TestUpstreamKeepsEveryStream(t *testing.T) {
	ctx := context.Background()
	s := mcp.NewMemoryEventStore(nil)
	s.SetMaxBytes(1000)
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // what has a finalizer goes with the second
		runtime.ReadMemStats(&m)
		return int64(m.HeapObjects)
	}
	before := heap()
	for i := range 20_000 {
		_ = s.Open(ctx, "a", fmt.Sprint(i))
		_ = s.Append(ctx, "a", fmt.Sprint(i), []byte("some bytes"))
	}
	if more := heap() - before; more < 20_000 {
		t.Errorf("upstream forgets streams, %d objects are left of 20,000: events may go", more)
	}
	runtime.KeepAlive(s)
}
