package main

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// allowed is the set of processors on which this process could run at its start.
var allowed = func() (set unix.CPUSet) {
	_ = unix.SchedGetaffinity(0, &set) // an empty set makes pin fail
	return set
}()

// pin restricts this process to the n-th of its allowed processors.
func pin(n int) error {
	var set unix.CPUSet
	for cpu := range 64 * len(set) { // a word of the set has 64 bits
		if allowed.IsSet(cpu) {
			if n == 0 {
				set.Set(cpu)
				return place(set)
			}
			n--
		}
	}
	return fmt.Errorf("the measurement needs two processors, and this process may use %d", allowed.Count())
}

// unpin lets this process use all of its processors again.
func unpin() error { return place(allowed) }

// place sets the processors of all threads of this process. It goes over the threads twice, to
// reach those that were started during the first pass.
func place(set unix.CPUSet) error {
	for range 2 {
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		for _, t := range threads {
			id, err := strconv.Atoi(t.Name())
			if err == nil {
				err = unix.SchedSetaffinity(id, &set)
			}
			if err != nil && err != unix.ESRCH { // a thread may have ended
				return fmt.Errorf("the processors of a thread cannot be set: %w", err)
			}
		}
	}
	return nil
}
