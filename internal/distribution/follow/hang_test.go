package follow_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/knack-dev/knack/internal/distribution/follow"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// TestHang checks that a pending release is served while the source hangs. It also checks that a
// poll on request does not wait for a poll that hangs.
func TestHang(t *testing.T) {
	live(t, func(t *testing.T, w *world) {
		w.has("1.0.0", "")
		w.start()
		w.has("1.1.0", "")
		testwait.Advance(31 * time.Second)
		w.took(&w.served)
		w.set(func() { w.hang = time.Hour })
		w.f.Ask()
		testwait.Advance(29 * time.Second)
		w.want("served while the source hangs", &w.served, "1.1.0@40s")
		w.has("1.2.0", "")
		w.set(func() { w.hang = 0 })
		w.took(&w.polls)
		w.f.Ask()
		synctest.Wait()
		w.want("polls", &w.polls, "1m0s")
		if s := w.f.Status(); s.Pending == "" || s.Failure != "" {
			t.Errorf("nothing was fetched: %+v", s)
		}
		w.set(func() { w.hang = time.Hour })
		testwait.Advance(2 * time.Minute)
		w.end() // does not wait for the source
	})
}

// TestSilent checks that no caller waits for a source that accepts the first request and does not
// answer. After 10 s the source counts as unreachable. When it answers, its release is served.
func TestSilent(t *testing.T) {
	live(t, func(t *testing.T, w *world) {
		w.has("1.0.0", "")
		w.set(func() { w.hang = 50 * time.Second })
		w.start()
		testwait.Advance(9 * time.Second)
		if name, _ := (follow.Group{w.f}).Waits(); name == "" || len(w.took(&w.lacks)) > 0 {
			t.Errorf("unreachable before 10 s: %+v", w.f.Status())
		}
		testwait.Advance(2 * time.Second)
		if name, why := (follow.Group{w.f}).Waits(); name != "" {
			t.Errorf("after 11 s it is waited for: %s", why)
		}
		w.want("told", &w.lacks, "unreachable since 2000-01-01 00:00:10 UTC")
		if s := w.f.Status(); s.Failure != "it has not answered for 10 s; see whether it can be reached from this machine" || s.FailingSince.Sub(w.begun) != 10*time.Second || s.Polls[follow.Failed] != 0 {
			t.Errorf("%+v", s)
		}
		if f := w.store.Failure(w.f.Status().From); f == nil || !strings.Contains(f.Reason, "has not answered for 10 s") { // as doctor says
			t.Errorf("%+v", f)
		}
		testwait.Advance(40 * time.Second)
		w.want("served", &w.served, "1.0.0@50s")
		if s := w.f.Status(); s.Failure != "" || !s.FailingSince.IsZero() {
			t.Errorf("%+v", s)
		}
		w.set(func() { w.hang = time.Hour }) // while a release is served, it does not count as unreachable
		testwait.Advance(time.Minute)
		if s := w.f.Status(); s.Failure != "" || len(w.took(&w.lacks)) > 0 {
			t.Errorf("%+v", s)
		}
		w.end()
		if log := w.log.String(); strings.Count(log, "the source cannot be asked, and nothing of it is in the store") != 1 {
			t.Errorf("log: %s", log)
		}
	})
}

// TestHeadIsKept checks that the served release is recorded again if the store has lost its head.
func TestHeadIsKept(t *testing.T) {
	live(t, func(t *testing.T, w *world) {
		w.source.ForwardOnly = true
		w.has("1.4.0", "")
		w.start()
		if err := os.RemoveAll(filepath.Join(w.dir, "heads")); err != nil {
			t.Fatal(err)
		}
		w.pass()
		h, err := w.store.Head(w.source.Ref.String())
		if err != nil || h.Highest[""] != "1.4.0" {
			t.Errorf("%+v, %v", h, err)
		}
		// Now the record of the release is lost too.
		if err := os.RemoveAll(filepath.Join(w.dir, "heads")); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Join(w.dir, "releases")); err != nil {
			t.Fatal(err)
		}
		w.pass()
		w.pass()
		if h, err := w.store.Head(w.source.Ref.String()); err != nil || h.Highest[""] != "1.4.0" {
			t.Errorf("%+v, %v", h, err)
		}
	})
}
