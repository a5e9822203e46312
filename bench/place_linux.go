package main

import "golang.org/x/sys/unix"

// keepOn keeps a thread, 0 for the calling one, on a processor. Threads that it starts
// later stay there too.
func keepOn(thread, processor int) (undo func(), err error) {
	var before, set unix.CPUSet
	if err := unix.SchedGetaffinity(thread, &before); err != nil {
		return func() {}, err
	}
	set.Set(processor)
	return func() { _ = unix.SchedSetaffinity(thread, &before) }, unix.SchedSetaffinity(thread, &set)
}
