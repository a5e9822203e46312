package realpath

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// TestAsk checks that a disk that does not answer delays a call by no more than the patience. Later
// calls must not wait for that disk, until it answers.
func TestAsk(t *testing.T) {
	base := t.TempDir()
	at, beside := filepath.Join(base, "silent"), filepath.Join(base, "beside")
	synctest.Test(t, func(t *testing.T) {
		took := func(f func()) time.Duration {
			begun := time.Now()
			f()
			return time.Since(begun)
		}
		answer, never := make(chan int), make(chan int)
		wait := func(at string, from chan int) func() {
			return func() {
				if n := Ask(at, -1, func() int { return <-from }); n != -1 {
					t.Errorf("the answer for %s is %d", at, n)
				}
			}
		}
		if d := took(wait(at, answer)); d != Patience {
			t.Errorf("the first question took %s", d)
		}
		if d := took(wait(filepath.Join(at, "below"), never)); d != 0 {
			t.Errorf("a question below took %s", d)
		}
		if d := took(wait(beside, never)); d != LaterPatience {
			t.Errorf("a question about another disk took %s", d)
		}
		if !Silent(filepath.Join(at, "x", "..", "y")) || Silent(at+"2") || Silent(base) {
			t.Error("the wrong paths are silent")
		}
		if Answers(at) || !Answers(base) || !Answers(filepath.Join(base, "nothing")) {
			t.Error("the wrong paths answer")
		}
		if Of(filepath.Join(at, "x")) != filepath.Join(at, "x") || Same(at, base) || Inside(at, base) || Links(at) != nil {
			t.Error("silent paths are not compared as they are written")
		}
		ended, end := context.WithCancel(t.Context())
		end()
		if err := Await(ended, at); !errors.Is(err, context.Canceled) {
			t.Errorf("Await: %v", err)
		}
		waited := make(chan error)
		go func() { waited <- Await(t.Context(), filepath.Join(at, "below")) }()
		synctest.Wait()
		answer <- 1
		if err := <-waited; err != nil || Silent(at) {
			t.Errorf("after the answer: %v, silent %v", err, Silent(at))
		}
		if n := Ask(at, -1, func() int { return 7 }); n != 7 {
			t.Errorf("the answer is %d", n)
		}
		never <- 1
		synctest.Wait()
		if Silent(beside) {
			t.Error("another disk is silent after its answer")
		}
	})
}
