package catalog

import (
	"context"
	"sync"
	"time"

	"github.com/knack-dev/knack/skill"
)

// Bounds of the reads that wait for a disk at once. A read that the system does
// not answer cannot be ended, and holds a thread, of which Go allows 10,000
// (runtime/debug.SetMaxThreads). One skill's share leaves room for the others of
// its root.
const (
	readsOfSkill = 16
	readsOfRoot  = 128
)

// busyPatience is how long a read waits for others to be answered. A variable for
// the tests.
var busyPatience = 5 * time.Second

// Within runs work that reads a skill's files, and waits for it no longer than
// the context lasts: what is still under way then goes to nobody. Where as many
// reads of the skill or of its root as may be are waiting for a disk, the error
// is [skill.ErrBusy]; else it is the context's. A panic of the work is the
// caller's. What concerns no skill is no read of one: see [View.FoldersNow].
func Within[T any](ctx context.Context, v View, e *Entry, work func() T) (T, error) {
	var none T
	leave, err := v.catalog.gates.enter(ctx, place{e.Root.Label, e.Path})
	if err != nil {
		return none, err
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

// gates count the reads under way, for each skill and each root.
type gates struct {
	mu  sync.Mutex
	all map[share]*queue
}

// share is what a queue is for: a skill, or its root. The two are told apart by
// their kind and not by the path, so that nobody waits for a second slot where it
// holds the first.
type share struct {
	place
	root bool
}

type queue struct {
	slots chan struct{}
	users int // who holds or waits for a slot; guarded by the mu of gates
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
