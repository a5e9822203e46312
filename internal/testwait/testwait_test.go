package testwait

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, asked := time.Now(), 0
		if Within(time.Second, func() bool { asked++; return false }) {
			t.Error("what never happens is reported")
		}
		if took := time.Since(begun); took < time.Second || took > time.Second+16*time.Millisecond || asked < 60 {
			t.Errorf("asked %d times in %v", asked, took)
		}
		begun = time.Now()
		var done atomic.Bool
		time.AfterFunc(time.Second, func() { done.Store(true) })
		Until(t, done.Load, "the timer")
		if took := time.Since(begun); took < time.Second || took > time.Second+16*time.Millisecond {
			t.Errorf("the event came after 1s, and was seen after %v", took)
		}
	})
}

func TestAdvance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fired atomic.Bool
		time.AfterFunc(time.Hour, func() { fired.Store(true) })
		Advance(time.Hour - 1)
		if fired.Load() {
			t.Error("fired early")
		}
		Advance(1)
		if !fired.Load() {
			t.Error("not fired")
		}
	})
	defer func() {
		if recover() == nil {
			t.Error("Advance outside of a bubble does not panic")
		}
	}()
	Advance(time.Hour)
}
