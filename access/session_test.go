package access

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/knack-dev/knack/internal/test/testwait"
)

// known is a verifier whose tokens a test adds and removes.
type known map[string]Subject

func (k known) Verify(_ context.Context, token string) (Subject, bool) {
	s, ok := k[token]
	return s, ok
}

func TestSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		who := known{"token of anna": {Name: "anna"}, "token of bert": {Name: "bert"}}
		s := NewSessions(who)
		begin := func(token string) string {
			t.Helper()
			id, subject, ok := s.Begin(ctx, token, SessionLife)
			if !ok || subject.Name != who[token].Name || len(id) != 43 || strings.Contains(id, token) {
				t.Fatalf("%s: %q %+v %v", token, id, subject, ok)
			}
			return id
		}
		check := func(id, want string) {
			t.Helper()
			if got, ok := s.Subject(ctx, id); got.Name != want || ok != (want != "") {
				t.Errorf("the session is %q's (%v), want %q", got.Name, ok, want)
			}
		}
		if id, _, ok := s.Begin(ctx, "token of nobody", SessionLife); ok || id != "" {
			t.Error("a session for a token that nobody has")
		}
		anna, again, bert := begin("token of anna"), begin("token of anna"), begin("token of bert")
		if anna == again {
			t.Error("two sessions with one id")
		}
		check(anna, "anna")
		check(bert, "bert")
		for _, id := range []string{"", "token of anna", anna + "A", anna[:42], strings.ToUpper(anna)} {
			check(id, "")
		}
		s.End(anna)
		s.End("nobody's")
		check(anna, "")
		check(again, "anna")

		who["token of bert"] = Subject{Name: "berta"}
		check(bert, "berta")
		delete(who, "token of bert")
		check(bert, "")
		s.Recheck(ctx)
		who["token of bert"] = Subject{Name: "bert"}
		check(bert, "")
		check(again, "anna")

		testwait.Advance(SessionLife - time.Second)
		check(again, "anna")
		late := begin("token of anna")
		testwait.Advance(time.Second)
		check(again, "")
		check(late, "anna")
	})
}

// TestSessionsAreBounded checks that a user who signs in again and again ends only their own
// sessions. With many tokens, the oldest of all sessions end.
func TestSessionsAreBounded(t *testing.T) {
	ctx := t.Context()
	who := known{"other": {Name: "other"}}
	s := NewSessions(who)
	other, _, _ := s.Begin(ctx, "other", SessionLife)
	who["token of anna"] = Subject{Name: "anna"}
	var ids []string
	for range maxSessionsOfOne + 3 {
		id, _, _ := s.Begin(ctx, "token of anna", SessionLife)
		ids = append(ids, id)
	}
	for i, id := range ids {
		if _, ok := s.Subject(ctx, id); ok != (i >= 3) {
			t.Errorf("session %d of %d: %v", i, len(ids), ok)
		}
	}
	if _, ok := s.Subject(ctx, other); !ok || len(s.sessions) != maxSessionsOfOne+1 {
		t.Errorf("another's session is there: %v; there are %d", ok, len(s.sessions))
	}
	for i := range maxSessions {
		token := strings.Repeat("x", i+1)
		who[token] = Subject{Name: "x"}
		if _, _, ok := s.Begin(ctx, token, SessionLife); !ok {
			t.Fatal(i)
		}
	}
	if _, ok := s.Subject(ctx, other); ok || len(s.sessions) != maxSessions {
		t.Errorf("the oldest is there: %v; there are %d", ok, len(s.sessions))
	}
}
