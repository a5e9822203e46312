package tool

import "context"

// within runs work that may wait for a disk, no longer than the context lasts:
// what is still under way then goes to nobody. A panic of the work is the
// caller's.
func within[T any](ctx context.Context, work func() T) (T, error) {
	type outcome struct {
		value    T
		panicked any
		whole    bool
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			if !o.whole {
				o.panicked = recover()
			}
			done <- o
		}()
		o.value = work()
		o.whole = true
	}()
	select {
	case o := <-done:
		if !o.whole {
			panic(o.panicked)
		}
		return o.value, ctx.Err()
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
