package catalog

import (
	"context"
	"sync"
	"time"

	"github.com/knack-dev/knack/skill"
)

// Bounds of the reads that wait for a disk at the same time. A read that the system
// does not answer cannot be cancelled and occupies a thread. Go allows 10,000 threads
// (runtime/debug.SetMaxThreads). The bound of one skill leaves room for the others of
// its root.
const (
	readsOfSkill = 16
	readsOfRoot  = 128
)

// busyPatience is how long a read waits for other reads to end. It is a variable for
// the tests.
var busyPatience = 5 * time.Second

// Await runs work that reads a skill's files, and waits for it no longer than the
// context lasts. It drops the result of work that ends later. If too many reads of the
// skill or its root wait for a disk, the error is [skill.ErrBusy]; else it is the
// context's. A panic of work reaches the caller. Reads that concern no skill do not use
// Await; see [View.FoldersNow]. In a context of [InPlace] it waits for work to end.
func Await[T any](ctx context.Context, v View, e *Entry, work func() T) (T, error) {
	var none T
	leave, err := v.catalog.gates.enter(ctx, place{e.Root.Label, e.Path})
	if err != nil {
		return none, err
	}
	if ctx.Value(inPlace{}) != nil {
		defer leave()
		return work(), ctx.Err()
	}
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
			leave()
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
		return none, ctx.Err()
	}
}

type inPlace struct{}

// InPlace returns a context in which [Within] runs work in the caller's goroutine. That
// saves a call two switches between goroutines and the wake-up of another thread, 10 to
// 20 % of its time. If the disk blocks, Within then outlasts the context.
func InPlace(ctx context.Context) context.Context {
	return context.WithValue(ctx, inPlace{}, true)
}

// gates counts the reads under way, for each skill and each root.
type gates struct {
	mu  sync.Mutex
	all map[share]*queue
}

// share is the owner of a queue: a skill or a root. The kind tells the two apart, not
// the path, so that a read never waits for a second slot in the queue of its first.
type share struct {
	place
	root bool
}

type queue struct {
	slots chan struct{}
	users int // reads that hold or wait for a slot; guarded by the mu of gates
}

// enter takes a slot of the skill, then one of its root.
func (g *gates) enter(ctx context.Context, at place) (leave func(), err error) {
	ofSkill, ofRoot := share{at, false}, share{place{label: at.label}, true}
	first, err := g.take(ctx, ofSkill, readsOfSkill)
	if err != nil {
		return nil, err
	}
	second, err := g.take(ctx, ofRoot, readsOfRoot)
	if err != nil {
		g.give(ofSkill, first, true)
		return nil, err
	}
	return func() {
		g.give(ofRoot, second, true)
		g.give(ofSkill, first, true)
	}, nil
}

func (g *gates) take(ctx context.Context, at share, slots int) (*queue, error) {
	g.mu.Lock()
	t := g.all[at]
	if t == nil {
		t = &queue{slots: make(chan struct{}, slots)}
		g.all[at] = t
	}
	t.users++
	g.mu.Unlock()
	err := ctx.Err()
	if err == nil {
		select {
		case t.slots <- struct{}{}:
			return t, nil
		default:
			err = t.wait(ctx)
		}
	}
	if err != nil {
		g.give(at, t, false)
		return nil, err
	}
	return t, nil
}

func (t *queue) wait(ctx context.Context) error {
	late := time.NewTimer(busyPatience)
	defer late.Stop()
	select {
	case t.slots <- struct{}{}:
		return nil
	case <-late.C:
		return skill.ErrBusy
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *gates) give(at share, t *queue, held bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if held {
		<-t.slots
	}
	if t.users--; t.users == 0 {
		delete(g.all, at)
	}
}
