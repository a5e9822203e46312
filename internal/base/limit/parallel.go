package limit

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Parallel calls work with each number below n, in at most workers goroutines. If a context can end
// the work, work checks it first.
func Parallel(workers, n int, work func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(workers, n) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				work(i)
				runtime.Gosched() // a request need not wait for the end of a time slice
			}
		})
	}
	wg.Wait()
}
