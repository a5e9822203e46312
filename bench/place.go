package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
)

// place says on which processors the client and the servers run. To wake the other processor
// takes longer than a short call, and the system decides again and again whether the two
// share one. Without a fixed place, a ratio says which side was lucky.
type place int

const (
	anywhere place = iota // as the system decides
	apart                 // the client on the first processor, the servers on the second
	together              // all on the first
)

// put puts the calling goroutine and all threads of the servers in their place. The
// function that it returns ends that for the goroutine.
func (p place) put(servers []side) (back func(), err error) {
	if p == anywhere {
		return func() {}, nil
	}
	runtime.LockOSThread()
	undo, err := keepOn(0, 0)
	back = func() {
		undo()
		runtime.UnlockOSThread()
	}
	for i := 0; err == nil && i < len(servers); i++ {
		var threads []os.DirEntry
		threads, err = os.ReadDir(fmt.Sprintf("/proc/%d/task", servers[i].pid()))
		for _, t := range threads {
			id, _ := strconv.Atoi(t.Name())
			if _, err = keepOn(id, map[place]int{apart: 1, together: 0}[p]); err != nil {
				break
			}
		}
	}
	if err != nil {
		back()
	}
	return back, err
}
