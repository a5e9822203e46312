// Package testwait waits, for tests, until another goroutine, process or disk has done its part.
package testwait

import (
	"context"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// Patience is how long Until waits before it fails a test. A starved machine takes a minute for some
// of the waits.
const Patience = 3 * time.Minute

// Full reports whether tests do all of their work, even if it takes minutes. SAFETY=full selects
// that.
func Full() bool { return os.Getenv("SAFETY") == "full" }

// SecondLane reports whether tests of the second lane run. `make slow` selects them with
// KNACK_SLOW. A test that otherwise does only a part of its work calls SecondLane.
func SecondLane() bool { return os.Getenv("KNACK_SLOW") != "" }

// Slow skips a test of the second lane unless that lane runs. .ci/run runs a part of it.
func Slow(t testing.TB) {
	t.Helper()
	if !SecondLane() {
		t.Skip("in the second lane: make slow")
	}
}

// Until waits until ok returns true and fails the test after Patience. The failure message contains
// what; a value of type func() string is called first.
func Until(t testing.TB, ok func() bool, what ...any) {
	t.Helper()
	if Within(Patience, ok) {
		return
	}
	missing := ""
	for _, w := range what {
		if text, lazy := w.(func() string); lazy {
			w = text()
		}
		missing += fmt.Sprint(" ", w)
	}
	t.Fatalf("waited %v in vain:%s", Patience, missing)
}

// Within reports whether ok returns true within d. It calls ok immediately, then at growing
// intervals of 1 to 64 milliseconds, and at least twice.
func Within(d time.Duration, ok func() bool) bool {
	end := time.Now().Add(d)
	for pause := time.Millisecond; !ok(); pause = min(2*pause, 64*time.Millisecond) {
		if time.Now().After(end) {
			return ok()
		}
		time.Sleep(pause) // nothing announces the work of another process or a disk
	}
	return true
}

// Advance moves the clock of a synctest bubble by d and waits until all other goroutines of the
// bubble block. Outside of a bubble it panics immediately.
func Advance(d time.Duration) {
	synctest.Wait()
	time.Sleep(d) // takes no real time
	synctest.Wait()
}

// Steps calls step after each of n pauses. If ctx ends first, it returns the context's error.
func Steps(ctx context.Context, n int, pause time.Duration, step func()) error {
	for range n {
		select {
		case <-time.After(pause):
			step()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
