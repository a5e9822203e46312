package follow

import (
	"context"
	"sync"
)

// Group has the followers of one server's sources.
type Group []*Follower

// Run follows all sources until the context ends and all have stopped.
func (g Group) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, f := range g {
		wg.Go(func() { f.Run(ctx) })
	}
	wg.Wait()
}

// Ask makes all followers poll their sources immediately.
func (g Group) Ask() {
	for _, f := range g {
		f.Ask()
	}
}

// Status returns the states of the sources, in their order.
func (g Group) Status() []Status {
	all := make([]Status, len(g))
	for i, f := range g {
		all[i] = f.Status()
	}
	return all
}

// Waits returns the name of the first source whose first release is still being fetched, and a
// message about that. Both are empty if there is no such source. A source whose poll failed does
// not count.
func (g Group) Waits() (name, why string) {
	for _, f := range g {
		switch s := f.Status(); {
		case s.Release == "" && s.Failure == "" && s.Refused == "":
			return s.Name, "its first release is being fetched"
		}
	}
	return "", ""
}
