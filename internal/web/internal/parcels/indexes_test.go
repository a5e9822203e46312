package parcels

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/test/testwait"
)

func TestIndexes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := Indexes[int]{Age: 30 * time.Second, Weigh: func(n int) int { return n }, Most: 100}
		made := 0
		get := func(v catalog.View, n int) {
			t.Helper()
			if got, err := x.Get(t.Context(), v, func() (int, error) { made++; return n, nil }); got != n || err != nil {
				t.Errorf("%d, %v, want %d", got, err, n)
			}
		}
		one, two := catalog.View{Snapshot: new(catalog.Snapshot)}, catalog.View{Snapshot: new(catalog.Snapshot)}
		get(one, 1)
		get(two, 2)
		testwait.Advance(29 * time.Second)
		get(one, 1)
		get(two, 2)
		if made != 2 {
			t.Errorf("made %d times", made)
		}
		testwait.Advance(time.Second)
		get(one, 3)
		if made != 3 {
			t.Errorf("made %d times after its time", made)
		}
		get(two, 99) // together they are too large, so the oldest is dropped
		get(one, 4)
		if made != 5 {
			t.Errorf("made %d times after one was dropped", made)
		}
		three := catalog.View{Snapshot: new(catalog.Snapshot)}
		failed := errors.New("no disk")
		if _, err := x.Get(t.Context(), three, func() (int, error) { return 0, failed }); !errors.Is(err, failed) {
			t.Error(err)
		}
		get(three, 5) // a failure is not kept
		// While one caller makes an index, a waiting caller returns when its context ends.
		four := catalog.View{Snapshot: new(catalog.Snapshot)}
		begun, end := make(chan bool), make(chan bool)
		go func() {
			_, _ = x.Get(t.Context(), four, func() (int, error) { close(begun); <-end; return 6, nil })
		}()
		<-begun
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := x.Get(ctx, four, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		close(end)
		synctest.Wait()
		get(four, 6)
	})
}
