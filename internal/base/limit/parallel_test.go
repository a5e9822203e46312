package limit

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
)

func TestParallel(t *testing.T) {
	for _, tt := range []struct{ workers, n int }{{1, 0}, {1, 5}, {3, 100}, {8, 2}} {
		synctest.Test(t, func(t *testing.T) {
			calls, let, ended := make([]atomic.Int32, tt.n), make(chan struct{}), make(chan struct{})
			var begun atomic.Int32
			go func() {
				Parallel(tt.workers, tt.n, func(i int) {
					calls[i].Add(1)
					begun.Add(1)
					<-let
				})
				close(ended)
			}()
			synctest.Wait()
			if n := int(begun.Load()); n != min(tt.workers, tt.n) {
				t.Errorf("%+v: %d at once", tt, n)
			}
			close(let)
			<-ended
			for i := range calls {
				if n := calls[i].Load(); n != 1 {
					t.Errorf("%+v: %d called %d times", tt, i, n)
				}
			}
		})
	}
}
