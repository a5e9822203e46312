package limit

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Parallel calls work with each number below n, in at most workers goroutines. It does not stop
// early: if a context can end the work, work must check it.
func Parallel(workers, n int, work func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(workers, n) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				work(i)
				runtime.Gosched() // lets a waiting request run before the time slice ends
			}
		})
	}
	wg.Wait()
}
