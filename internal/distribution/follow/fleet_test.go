package follow_test

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/knack-dev/knack/internal/distribution/follow"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/pull"
	"github.com/knack-dev/knack/internal/distribution/release"
	"github.com/knack-dev/knack/internal/distribution/store"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// session is one of many followers of the same source. It is its own puller, and records the times
// of its requests.
type session struct {
	asked []time.Time
	begun time.Time
}

func (s *session) Resolve(context.Context, origin.Ref) (origin.Revision, error) {
	s.asked = append(s.asked, time.Now())
	return origin.Revision{ID: "http:one"}, nil
}

func (s *session) Pull(context.Context, origin.Ref, origin.Revision) (store.Release, pull.Report, error) {
	return store.Release{Digest: "sha256:one", Revision: "http:one"}, pull.Report{}, nil
}

func (s *session) Look(ctx context.Context, ref origin.Ref, at origin.Revision) (store.Release, pull.Report, error) {
	return s.Pull(ctx, ref, at)
}

// TestFleet checks the requests of 200 sessions that start at the same moment with the default
// interval. Each session polls its source at most once a minute. After some minutes, the polls of
// the sessions are spread over the minute. After the source reports a change, the sessions poll it
// soon, but at most every 10 s.
func TestFleet(t *testing.T) {
	shelf, err := store.Open(filepath.Join(t.TempDir(), "knack"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer shelf.Close()
	synctest.Test(t, func(t *testing.T) {
		const minutes = 30
		sessions := make([]*session, 200)
		var group follow.Group
		for i := range sessions {
			s := &session{begun: time.Now()}
			sessions[i] = s
			group = append(group, follow.New(follow.Source{Name: "acme", Ref: origin.Ref{Kind: origin.MCP, Source: "mcp:x"}}, follow.Options{
				Puller: s, Store: shelf, Every: time.Minute, Alone: true, Now: time.Now, Random: rand.New(rand.NewPCG(1, uint64(i))).Float64, Log: slog.New(slog.DiscardHandler),
				Serve: func(store.Release) release.Change { return release.Change{} },
			}))
		}
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan bool)
		go func() { group.Run(ctx); close(ended) }()
		testwait.Advance(minutes*time.Minute + time.Second)
		polled := make([]int, len(sessions))
		for i, s := range sessions {
			polled[i] = len(s.asked)
		}
		for range 100 { // the source floods them with news for 25 s
			for _, f := range group {
				f.Changed()
			}
			testwait.Advance(250 * time.Millisecond)
		}
		end()
		<-ended
		each := map[int64]int{} // requests, by second
		for i, s := range sessions {
			if n := len(s.asked) - polled[i]; n < 3 || n > 4 { // immediately, after 10 s and 20 s, and perhaps the usual poll
				t.Errorf("session %d has asked %d times after news", i, n)
			}
			s.asked = s.asked[:polled[i]]
			if !s.asked[0].After(s.begun) {
				t.Errorf("session %d asks while its client waits for its first answers", i)
			}
			if n := len(s.asked); n > minutes+1 || n < minutes*9/10 {
				t.Errorf("session %d has asked %d times in %d minutes", i, n, minutes)
			}
			for j, at := range s.asked[1:] {
				if pause := at.Sub(s.asked[j]); pause < time.Minute {
					t.Errorf("session %d asks again after %s", i, pause)
				}
				if at.Sub(s.begun) > minutes/2*time.Minute {
					each[at.Unix()]++
				}
			}
		}
		most := 0
		for _, n := range each {
			most = max(most, n)
		}
		if most > 20 { // of 200 requests a minute, 3.3 a second on average
			t.Errorf("%d requests within a second", most)
		}
	})
}
