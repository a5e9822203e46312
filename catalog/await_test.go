package catalog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/knack-dev/knack/internal/test/difftest"
	"github.com/knack-dev/knack/skill"
)

// deadFS is a file system whose files open only once held is closed.
type deadFS struct {
	fs.FS
	release chan struct{}
	waiting *atomic.Int64
}

func (f deadFS) Open(name string) (fs.File, error) {
	f.waiting.Add(1)
	defer f.waiting.Add(-1)
	<-f.release
	return f.FS.Open(name)
}

// TestReadsOfDeadDiskAreBounded checks that only a few of many calls to a silent disk wait
// in the system. The others get an error, and another root is not affected.
func TestReadsOfDeadDiskAreBounded(t *testing.T) {
	defer func(d time.Duration) { busyPatience = d }(busyPatience)
	busyPatience = 10 * time.Millisecond
	v := view(t, catalogOf(t, source("a", "x/SKILL.md", text("x", "one"), "x/y.txt", "y"),
		source("b", "z/SKILL.md", text("z", "one"), "z/y.txt", "y")))
	release, waiting := make(chan struct{}), new(atomic.Int64)
	x, dead, b := *v.Named("x"), *v.Named("x").Skill, *v.Named("x").Bundle
	b.FS = deadFS{b.FS, release, waiting}
	dead.Bundle, x.Skill = &b, &dead
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const calls = 100
	ended := make(chan error, calls)
	for i := range calls {
		go func() {
			var err error
			if i%2 == 0 {
				_, err = v.ReadFile(ctx, &x, "y.txt", 1)
			} else {
				_, _, err = v.Read(ctx, &x)
			}
			ended <- err
		}()
	}
	for range calls - readsOfSkill {
		select {
		case err := <-ended:
			if !errors.Is(err, skill.ErrBusy) || skill.Reason(err) != skill.ErrBusy.Error() {
				t.Fatalf("an answer: %v", err)
			}
		case <-time.After(slowDay):
			t.Fatalf("calls go on; %d wait in the system", waiting.Load())
		}
	}
	waitFor(t, "as many reads as may wait in the system", func() bool { return waiting.Load() >= readsOfSkill })
	if n := waiting.Load(); n != readsOfSkill {
		t.Errorf("%d reads wait in the system, want %d", n, readsOfSkill)
	}
	if data, err := v.ReadFile(t.Context(), v.Named("z"), "y.txt", 1); err != nil || string(data) != "y" {
		t.Errorf("of another root: %q, %v", data, err)
	}
	cancel()
	for range readsOfSkill {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled call: %v", err)
		}
	}
	close(release)
	waitFor(t, "all slots are given back", func() bool { return v.catalog.reads.Keys() == 0 })
}

// TestReadsOfRootAreBounded checks that a root has fewer slots than all of its skills
// together.
func TestReadsOfRootAreBounded(t *testing.T) {
	defer func(d time.Duration) { busyPatience = d }(busyPatience)
	busyPatience = time.Millisecond
	g := New(nil, Options{})
	at := func(i int) rootPath { return rootPath{"a", string(rune('0' + i))} }
	var leave []func()
	for i := range readsOfRoot {
		l, err := g.enter(t.Context(), at(i/readsOfSkill))
		if err != nil {
			t.Fatal(err)
		}
		leave = append(leave, l)
	}
	if _, err := g.enter(t.Context(), at(100)); !errors.Is(err, skill.ErrBusy) {
		t.Errorf("one more: %v", err)
	}
	leave[0]()
	l, err := g.enter(t.Context(), at(100))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range append(leave[1:], l) {
		l()
	}
	difftest.Same(t, g.reads.Keys(), 0, "slots")
}

// TestAwaitPanics checks that a panic of the work reaches the caller, with the place of the fault.
// The caller can recover it, and Await gives the slot back.
func TestAwaitPanics(t *testing.T) {
	v := view(t, catalogOf(t, source("a", "x/SKILL.md", text("x", "one"))))
	defer func() {
		if p := fmt.Sprint(recover()); !strings.HasPrefix(p, "CANARY\n") || !strings.Contains(p, "catalog.faulty(") {
			t.Errorf("the panic is lost: %s", p)
		}
		difftest.Same(t, v.catalog.reads.Keys(), 0, "slots")
	}()
	_, _ = Await(t.Context(), v, v.Named("x"), faulty)
}

//go:noinline
func faulty() int { panic("CANARY") }

// TestManyReadsTakeTurns checks that callers take turns if there are more callers than slots. It
// also checks that no caller has a slot of a queue while it waits for another slot of the same
// queue, whatever the path of the skill.
func TestManyReadsTakeTurns(t *testing.T) { synctest.Test(t, takeTurns) }

func takeTurns(t *testing.T) {
	defer func(d time.Duration) { busyPatience = d }(busyPatience)
	busyPatience = slowDay
	for _, path := range []string{"x", ".", ""} {
		v := view(t, catalogOf(t, source("a", "x/SKILL.md", text("x", "one"))))
		x, s, b := *v.Named("x"), *v.Named("x").Skill, *v.Named("x").Bundle
		b.Path = path
		s.Bundle, x.Skill = &b, &s
		const calls = 100
		ended := make(chan error, calls)
		for range calls {
			go func() {
				_, err := Await(t.Context(), v, &x, func() int { <-time.After(time.Millisecond); return 1 })
				ended <- err
			}()
		}
		for range calls {
			if err := <-ended; err != nil {
				t.Fatalf("a skill at %q: %v", path, err)
			}
		}
	}
}

// TestManifestOfSilentDisk checks that manifests of a silent disk end in time and delay no
// other root. Once a few take long, no more of that root begin until its disk answers.
func TestManifestOfSilentDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var files []string
		for _, name := range strings.Split("abcdef", "") {
			files = append(files, name+"/SKILL.md", text(name, "one"), name+"/data.txt", "x")
		}
		v := view(t, catalogOf(t, source("silent", files...), source("fine", "z/SKILL.md", text("z", "one"), "z/data.txt", "x")))
		release := make(chan struct{})
		manifest := func(ctx context.Context, name string) (time.Duration, error) {
			e, s, b := *v.Named(name), *v.Named(name).Skill, *v.Named(name).Bundle
			if e.Root.Label == "silent" {
				b.FS = deadFS{b.FS, release, new(atomic.Int64)}
			}
			s.Bundle, e.Skill = &b, &s
			begun := time.Now()
			_, _, err := v.Manifest(ctx, &e)
			return time.Since(begun), err
		}
		var wg sync.WaitGroup
		for i, name := range strings.Split("abcd", "") {
			wg.Go(func() {
				ctx := t.Context()
				if i == 1 {
					ctx = InPlace(ctx)
				}
				if took, err := manifest(ctx, name); took != busyPatience || !errors.Is(err, skill.ErrBusy) {
					t.Errorf("%s: %v after %v", name, err, took)
				}
			})
		}
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if took, err := manifest(ctx, "a"); took != time.Second || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a caller with less patience: %v after %v", err, took)
			}
		})
		synctest.Wait()
		if took, err := manifest(t.Context(), "z"); took != 0 || err != nil {
			t.Errorf("of another root: %v after %v", err, took)
		}
		wg.Wait()
		if took, err := manifest(t.Context(), "z"); took != 0 || err != nil {
			t.Errorf("of another root later: %v after %v", err, took)
		}
		for _, name := range []string{"e", "a"} {
			if took, err := manifest(t.Context(), name); took != 0 || !errors.Is(err, skill.ErrBusy) {
				t.Errorf("%s later: %v after %v", name, err, took)
			}
		}
		close(release)
		synctest.Wait()
		for _, name := range strings.Split("abcdefz", "") {
			if took, err := manifest(t.Context(), name); took != 0 || err != nil {
				t.Errorf("%s in the end: %v after %v", name, err, took)
			}
		}
		difftest.Same(t, v.catalog.reads.Keys(), 0, "slots")
	})
}
