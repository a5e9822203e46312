package catalog

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"
)

// Bounds of the reads that wait for a disk at the same time. A read that the system does not answer
// cannot be cancelled and occupies a thread. Go allows 10,000 threads
// (runtime/debug.SetMaxThreads). readsOfSkill is smaller than readsOfRoot, so one skill cannot
// block the other skills of its root.
const (
	readsOfSkill = 16
	readsOfRoot  = 128
)

// busyPatience bounds how long a read waits for other reads to end, and a manifest for the disk.
// Tests change it.
var busyPatience = 5 * time.Second

// Await runs work, which reads a skill's files, and waits for it until the context ends. If work
// ends later, its result is dropped. The error is [skill.ErrBusy] if too many reads of the skill or
// its root wait for a disk; otherwise it is the context's. A panic of work reaches the caller, with
// its stack. Reads that concern no skill do not use Await; see [View.FoldersNow]. In a context of
// [InPlace], Await waits for work to end.
func Await[T any](ctx context.Context, v View, e *Entry, work func() T) (T, error) {
	var none T
	leave, err := v.catalog.enter(ctx, e.rootPath())
	if err != nil {
		return none, err
	}
	if ctx.Value(inPlace{}) != nil {
		defer leave()
		return work(), ctx.Err()
	}
	type outcome struct {
		value T
		fault *workPanic
		whole bool
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			if !o.whole {
				o.fault = &workPanic{recover(), debug.Stack()}
			}
			leave()
			done <- o
		}()
		o.value = work()
		o.whole = true
	}()
	select {
	case o := <-done:
		if !o.whole {
			panic(o.fault)
		}
		return o.value, ctx.Err()
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// workPanic is a panic of work in the goroutine of [Await], with the stack of that goroutine.
type workPanic struct {
	value any
	stack []byte
}

func (p *workPanic) String() string { return fmt.Sprintf("%v\n%s", p.value, p.stack) }

type inPlace struct{}

// InPlace returns a context in which [Await] runs work in the caller's goroutine. That saves a call
// two switches between goroutines and the wake-up of another thread, 10 to 20 % of its time. But if
// the disk blocks, Await does not return when the context ends.
func InPlace(ctx context.Context) context.Context {
	return context.WithValue(ctx, inPlace{}, true)
}

// reader is the key of a read: a skill or a root. The field root distinguishes the two. So a read
// of a root that is itself a skill takes a slot of each.
type reader struct {
	rootPath
	root bool
}

// enter takes a read slot for the skill in a place, then one for its root. leave frees both.
func (c *Catalog) enter(ctx context.Context, at rootPath) (leave func(), err error) {
	leaveSkill, err := c.reads.Enter(ctx, reader{at, false}, readsOfSkill, busyPatience)
	if err != nil {
		return nil, err
	}
	leaveRoot, err := c.reads.Enter(ctx, reader{rootPath{label: at.label}, true}, readsOfRoot, busyPatience)
	if err != nil {
		leaveSkill()
		return nil, err
	}
	return func() { leaveRoot(); leaveSkill() }, nil
}
