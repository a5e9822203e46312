package follow_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/distribution/follow"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/pull"
	"github.com/knack-dev/knack/internal/distribution/release"
	"github.com/knack-dev/knack/internal/distribution/store"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/skill"
)

// world is a source that changes, and a replica that follows it. The world is also the replica's
// puller.
type world struct {
	t      *testing.T
	dir    string // of the store
	store  *store.Store
	source follow.Source
	jump   atomic.Int64 // offset of the wall clock, in nanoseconds
	begun  time.Time
	admit  func(store.Release) error
	trusts func(signer string) bool

	mu     sync.Mutex
	tag    store.Release // the release that the source has
	old    store.Release // the release before
	err    error         // why the source does not answer
	refuse error         // why the release cannot be pulled
	lost   string        // a revision that the source no longer has
	slow   time.Duration // the duration of a pull
	hang   time.Duration // the time without an answer
	polls  []string      // times of polls, as seconds since the start
	pulls  int
	looks  int
	served []string // served versions, with their times
	events []string
	lacks  []string // reported by the follower
	log    bytes.Buffer
	f      *follow.Follower
	end    func()
}

func newWorld(t *testing.T) *world {
	dir := filepath.Join(t.TempDir(), "knack")
	s, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ref, err := origin.Parse("oci://registry.example.com/acme/skills:prod", "/", "/")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: dir, store: s, source: follow.Source{Name: "acme", Ref: ref}, begun: time.Now()}
	t.Cleanup(func() { s.Close() })
	return w
}

// live runs a test in a bubble of fake time, and ends the replica after the test.
func live(t *testing.T, test func(t *testing.T, w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.end = func() {}
		defer func() { w.end() }()
		test(t, w)
	})
}

// start starts the replica, which ends before the test does.
func (w *world) start() {
	ctx, cancel := context.WithCancel(w.t.Context())
	w.f = follow.New(w.source, follow.Options{
		Puller: w, Store: w.store, Every: 30 * time.Second, Host: "", Admit: w.admit, Trusts: w.trusts,
		Serve: func(r store.Release) release.Change {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.served = append(w.served, fmt.Sprintf("%s@%s", r.Version, w.at()))
			return release.Change{Changed: 1}
		},
		Lack: func(why *skill.UnreachableError) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.lacks = append(w.lacks, why.Error())
		},
		Event: func(e follow.Event) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.events = append(w.events, strings.TrimSpace(fmt.Sprintf("%s %s %s", e.Action, e.Version, e.Refusal)))
		},
		Now: func() time.Time { return time.Now().Add(time.Duration(w.jump.Load())) }, Random: func() float64 { return 0.5 },
		Log: slog.New(slog.NewTextHandler(&w.log, &slog.HandlerOptions{Level: slog.LevelInfo})),
	})
	done := make(chan struct{})
	go func() {
		w.f.Run(ctx)
		close(done)
	}()
	w.end = func() {
		cancel()
		<-done
	}
	synctest.Wait()
}

// at returns the present moment on the clock of the replica's timers.
func (w *world) at() string { return fmt.Sprint(time.Since(w.begun).Round(time.Millisecond)) }

func (w *world) Resolve(ctx context.Context, _ origin.Ref) (origin.Revision, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.polls = append(w.polls, w.at())
	if hang := w.hang; hang > 0 {
		w.mu.Unlock()
		select {
		case <-time.After(hang):
		case <-ctx.Done():
		}
		w.mu.Lock()
		if ctx.Err() != nil {
			return origin.Revision{}, ctx.Err()
		}
	}
	return origin.Revision{ID: w.tag.Revision, Version: w.tag.Version}, w.err
}

func (w *world) Pull(ctx context.Context, _ origin.Ref, at origin.Revision) (store.Release, pull.Report, error) {
	w.mu.Lock()
	r, err, slow := w.tag, cmpErr(w.err, w.refuse), w.slow
	if at.ID == w.lost {
		err = origin.Mark(origin.ErrGone, errors.New("there is no manifest "+at.ID))
	}
	w.pulls++
	w.mu.Unlock()
	select {
	case <-time.After(slow):
	case <-ctx.Done():
		return store.Release{}, pull.Report{}, ctx.Err()
	}
	if err != nil {
		return store.Release{}, pull.Report{}, err
	}
	if at.ID == w.old.Revision {
		r = w.old
	}
	if at.ID != r.Revision {
		return store.Release{}, pull.Report{}, errors.New("there is no revision " + at.ID)
	}
	return r, pull.Report{Bytes: 100}, w.store.Record(r)
}

// Look returns the release of the source, or its errors.
func (w *world) Look(context.Context, origin.Ref, origin.Revision) (store.Release, pull.Report, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looks++
	return w.tag, pull.Report{}, cmpErr(w.err, w.refuse)
}

func cmpErr(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// has stores a release and makes it the source's current one.
func (w *world) has(version, signer string) {
	w.t.Helper()
	b, err := w.store.Batch(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	defer b.Close()
	if err := b.File("pdf", origin.File{Path: "SKILL.md", Size: -1}, strings.NewReader(version)); err != nil {
		w.t.Fatal(err)
	}
	k, err := b.Finish("pdf")
	if err != nil {
		w.t.Fatal(err)
	}
	d := skill.DigestOf([]byte(version + signer)).String()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.old = w.tag
	w.tag = store.Release{Digest: d, Revision: "oci:" + d, Judged: store.Judged{Version: version, Signer: signer}, Skills: []store.Member{k.Member("pdf")}}
}

func (w *world) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// took returns the items of a list, and empties the list.
func (w *world) took(list *[]string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := slices.Clone(*list)
	*list = nil
	return all
}

func (w *world) want(what string, list *[]string, want ...string) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.took(list)); diff != "" {
		w.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// wantServed checks that one release was served, of this version.
func (w *world) wantServed(what, version string) {
	w.t.Helper()
	if got := w.took(&w.served); len(got) != 1 || !strings.HasPrefix(got[0], version+"@") {
		w.t.Error(what, got)
	}
}

// TestMoments checks that a replica polls at multiples of the interval, and swaps 10 s after one of
// them.
func TestMoments(t *testing.T) {
	live(t, func(t *testing.T, w *world) {
		w.has("1.0.0", "")
		testwait.Advance(7 * time.Second) // into the minute
		w.start()
		w.want("the first release", &w.served, "1.0.0@7s")
		testwait.Advance(60 * time.Second) // 67 s
		spread := w.took(&w.polls)
		if len(spread) != 3 || spread[0] != "7s" || !strings.HasPrefix(spread[1], "30.") || !strings.HasPrefix(spread[2], "1m0.") {
			t.Error("polls at", spread)
		}
		w.want("events", &w.events, "pull 1.0.0", "swap 1.0.0")
		w.has("1.1.0", "")
		testwait.Advance(30 * time.Second) // 97 s: fetched at 90 s
		s := w.f.Status()
		if s.Version != "1.0.0" || s.Pending != w.tag.Digest || !s.At.Equal(w.begun.Add(100*time.Second)) {
			t.Errorf("%+v", s)
		}
		testwait.Advance(30 * time.Second)
		w.want("the second release", &w.served, "1.1.0@1m40s")
		for _, want := range []string{"the first release is served", "a release was fetched", "another release is served"} {
			if n := strings.Count(w.log.String(), `level=INFO msg="`+want); n != 1 {
				t.Errorf("%d times %q:\n%s", n, want, &w.log)
			}
		}
		w.has("1.2.0", "")
		w.set(func() { w.slow = 25 * time.Second })
		testwait.Advance(90 * time.Second) // the release arrives after the moment at 160 s
		w.want("a slow one", &w.served, "1.2.0@3m10s")
		s = w.f.Status()
		if s.Pulls != 3 || s.Bytes != 300 || s.Swaps != 3 || s.LastPull != 25*time.Second || s.Polls[follow.Pulled] != 3 || s.Polls[follow.Unchanged] < 2 || s.Skills != 1 || s.Pending != "" {
			t.Errorf("%+v", s)
		}
	})
}

// TestAsk checks that a replica polls immediately on request, and logs it.
func TestAsk(t *testing.T) {
	live(t, func(t *testing.T, w *world) {
		w.has("1.0.0", "")
		w.start()
		testwait.Advance(35 * time.Second)
		w.took(&w.polls)
		w.f.Ask()
		synctest.Wait()
		w.want("polls", &w.polls, "35s")
		if !strings.Contains(w.log.String(), `level=WARN msg="the source was asked" source=acme outcome=unchanged`) {
			t.Error(w.log.String())
		}
		w.has("1.1.0", "")
		w.took(&w.served)
		w.f.Ask()
		testwait.Advance(6 * time.Second)
		w.want("served", &w.served, "1.1.0@40s")
	})
}

// TestFails checks that the last release stays if the source fails. The pauses between polls grow,
// and the log gets one line an hour.
func TestFails(t *testing.T) {
	live(t, func(t *testing.T, w *world) {
		w.has("1.0.0", "")
		w.start()
		w.took(&w.polls)
		w.log.Reset()
		w.set(func() { w.err = errors.New("registry.example.com refuses connections") })
		testwait.Advance(3 * time.Hour)
		polls := w.took(&w.polls)
		if n := len(polls); n < 36 || n > 42 {
			t.Errorf("%d polls in 3 h: %v", n, polls)
		}
		if n := strings.Count(w.log.String(), "\n"); n < 3 || n > 4 || strings.Count(w.log.String(), "the source cannot be asked; its last release stays") != n {
			t.Errorf("%d lines:\n%s", n, &w.log)
		}
		s := w.f.Status()
		if s.Version != "1.0.0" || s.Failure != "registry.example.com refuses connections" || s.FailingSince.Sub(w.begun) > time.Minute || s.Polls[follow.Failed] != uint64(len(polls)) {
			t.Errorf("%+v", s)
		}
		w.log.Reset()
		w.set(func() { w.err = nil })
		testwait.Advance(6 * time.Minute)
		if s := w.f.Status(); s.Failure != "" || !s.FailingSince.IsZero() || !strings.Contains(w.log.String(), "the source answers again") {
			t.Errorf("%+v\n%s", s, &w.log)
		}
		w.took(&w.polls)
		testwait.Advance(time.Minute)
		if n := len(w.took(&w.polls)); n != 2 {
			t.Errorf("%d polls in the minute after", n)
		}
	})
}

// busy is the error of a source that asks to wait for a time before the next request.
type busy time.Duration

func (b busy) Error() string             { return "busy" }
func (b busy) RetryAfter() time.Duration { return time.Duration(b) }

// TestFailureBeside checks a failure that another process has recorded in the same store. The next
// answer of the source removes that record.
func TestFailureBeside(t *testing.T) {
	live(t, func(t *testing.T, w *world) {
		w.has("1.0.0", "")
		w.start()
		defer w.end()
		source := w.source.Ref.String()
		if err := w.store.SetFailure(source, &store.Failure{Reason: "it has no token", Since: time.Now()}); err != nil {
			t.Fatal(err)
		}
		testwait.Advance(time.Minute)
		if f := w.store.Failure(source); f != nil {
			t.Errorf("%+v", f)
		}
	})
}

// TestRetryAfter checks that a source is not polled before its Retry-After time. After an hour at
// the latest, it is polled again.
func TestRetryAfter(t *testing.T) {
	live(t, func(t *testing.T, w *world) {
		w.set(func() { w.err = fmt.Errorf("429: %w", busy(7*time.Minute)) })
		w.start()
		testwait.Advance(6 * time.Minute)
		w.want("polls", &w.polls, "0s")
		testwait.Advance(time.Minute)
		w.want("polls", &w.polls, "7m0s")
		w.set(func() { w.err = busy(1000 * time.Hour) })
		testwait.Advance(time.Hour + 8*time.Minute)
		w.want("polls", &w.polls, "14m0s", "1h14m0s")
	})
}

// TestClockJumpsBeforeMoment checks that a pending release is served in time even if the clock is
// set back.
func TestClockJumpsBeforeMoment(t *testing.T) {
	live(t, func(t *testing.T, w *world) {
		w.has("1.0.0", "")
		w.start()
		w.has("1.1.0", "")
		testwait.Advance(32 * time.Second)
		if w.f.Status().Pending == "" {
			t.Fatal("nothing waits")
		}
		w.took(&w.served)
		w.jump.Add(-int64(26 * time.Hour))
		w.f.Ask() // like any poll before the moment
		synctest.Wait()
		if at := w.f.Status().At.Sub(w.begun); at > -25*time.Hour {
			t.Error("it waits until", at)
		}
		testwait.Advance(40 * time.Second)
		w.wantServed("served:", "1.1.0")
	})
}

// TestEndsInPull checks that the end of the server does not wait for a pull.
func TestEndsInPull(t *testing.T) {
	live(t, func(t *testing.T, w *world) {
		w.has("1.0.0", "")
		w.set(func() { w.slow = time.Hour })
		w.start()
		if !w.f.Status().Pulling {
			t.Error("no pull is under way")
		}
		w.end()
		if w.at() != "0s" || len(w.events) > 0 || w.log.Len() > 0 {
			t.Error(w.at(), w.events, w.log.String())
		}
	})
}
