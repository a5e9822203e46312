package httpd

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func replay(s mcp.EventStore, session, stream string, index int) (got []string, err error) {
	for data, e := range s.After(context.Background(), session, stream, index) {
		if e != nil {
			return nil, e
		}
		got = append(got, string(data))
	}
	return got, nil
}

// TestEventsAsTheSDK: while there is room, news are kept as the SDK's store keeps them, but
// for a stream that is opened anew.
func TestEventsAsTheSDK(t *testing.T) {
	ctx := t.Context()
	ours, theirs := &events{of: map[string]*eventLog{}}, mcp.NewMemoryEventStore(nil)
	for _, s := range []mcp.EventStore{ours, theirs} {
		if err := s.Open(ctx, "a", ""); err != nil {
			t.Fatal(err)
		}
		for i := range 5 {
			if err := s.Append(ctx, "a", "", []byte(fmt.Sprint(i))); err != nil {
				t.Fatal(err)
			}
		}
	}
	for index := range 7 {
		got, err := replay(ours, "a", "", index)
		want, wantErr := replay(theirs, "a", "", index)
		if !reflect.DeepEqual(got, want) || err != nil || wantErr != nil {
			t.Errorf("after %d: %q, %v; want %q, %v", index, got, err, want, wantErr)
		}
	}
	for _, s := range []mcp.EventStore{ours, theirs} {
		if _, err := replay(s, "b", "", -1); err == nil {
			t.Errorf("%T knows a session that there was not", s)
		}
		_ = s.SessionClosed(ctx, "a")
		if _, err := replay(s, "a", "", -1); err == nil {
			t.Errorf("%T knows a session that has ended", s)
		}
	}
}

// TestEventsAnew: a stream that is opened without Last-Event-ID has nothing that is past,
// and counts from 0.
func TestEventsAnew(t *testing.T) {
	ctx := t.Context()
	s := &events{of: map[string]*eventLog{}}
	_ = s.Open(ctx, "a", "")
	for range 2 {
		if got, err := replay(s, "a", "", -1); len(got) > 0 || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		_ = s.Append(ctx, "a", "", []byte("first"))
		_ = s.Append(ctx, "a", "", []byte("next"))
		if got, err := replay(s, "a", "", 0); !reflect.DeepEqual(got, []string{"next"}) || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
}

// TestEventsAreBounded: a session keeps its last news with the indices that they had, and
// takes nothing of another's.
func TestEventsAreBounded(t *testing.T) {
	ctx := t.Context()
	s := &events{of: map[string]*eventLog{}}
	for _, session := range []string{"many", "large", "quiet"} {
		_ = s.Open(ctx, session, "")
	}
	_ = s.Append(ctx, "quiet", "", []byte("kept"))
	for i := range 1000 {
		_ = s.Append(ctx, "many", "", []byte(fmt.Sprint(i)))
		_ = s.Append(ctx, "large", "", make([]byte, maxEventBytes/3))
		_ = s.Open(ctx, "many", fmt.Sprint(i))
		_ = s.Append(ctx, "many", fmt.Sprint(i), []byte("an answer"))
		_ = s.Append(ctx, fmt.Sprint(i), "", []byte("of a session that there is not"))
	}
	_ = s.Append(ctx, "large", "", make([]byte, 2*maxEventBytes))
	for _, c := range []struct {
		session string
		index   int
		n       int // -1: gone
	}{{"many", 1000 - maxEvents - 2, -1}, {"many", 1000 - maxEvents - 1, maxEvents}, {"many", 998, 1}, {"many", 999, 0}, {"large", 998, -1}, {"large", 999, 1}, {"quiet", -1, 0}} {
		got, err := replay(s, c.session, "", c.index)
		if c.n < 0 != errors.Is(err, mcp.ErrEventsPurged) || c.n >= 0 && len(got) != c.n {
			t.Errorf("%s after %d: %d, %v; want %d", c.session, c.index, len(got), err, c.n)
		}
	}
	if _, err := replay(s, "many", "7", -1); !errors.Is(err, mcp.ErrEventsPurged) {
		t.Error(err)
	}
	if len(s.of) != 3 {
		t.Errorf("%d sessions", len(s.of))
	}
}
