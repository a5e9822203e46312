package catalog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/knack-dev/knack/internal/test/difftest"
	"github.com/knack-dev/knack/skill"
)

// TestRead checks that the catalogue is updated with the bytes that a call returns, before the call
// returns.
func TestRead(t *testing.T) {
	a := source("a", "x/SKILL.md", text("x", "one"), "y/SKILL.md", text("y", "one"))
	c := catalogOf(t, a)
	old := view(t, c)
	read := func(what string, wantData string, wantErr error) *Entry {
		t.Helper()
		data, e, err := old.Read(context.Background(), old.Named("x"))
		if string(data) != wantData || !errors.Is(err, wantErr) || err == nil && skill.DigestOf(data) != e.Digest {
			t.Errorf("%s: %q, %+v, %v", what, data, e, err)
		}
		return e
	}
	a.opens.Store(0)
	read("unchanged", text("x", "one"), nil)
	if n := a.opens.Load(); n != 1 {
		t.Errorf("%d opens for one read", n)
	}
	a.write("x/SKILL.md", text("x", "two"))
	if e := read("changed", text("x", "two"), nil); e != view(t, c).Named("x") || e.Description != "two" {
		t.Errorf("the catalogue knows %+v", view(t, c).Named("x"))
	}
	read("by an old view", text("x", "two"), nil)
	a.write("x/SKILL.md", text("other", "three"))
	if e := read("another name", text("other", "three"), nil); e.Name != "other" || view(t, c).Named("x") != nil || view(t, c).Named("other") != e {
		t.Errorf("read as %+v", e)
	}
	a.write("x/SKILL.md", "no frontmatter")
	if e := read("no skill any more", "no frontmatter", nil); e.Available || e.Status != Skipped || len(view(t, c).Skipped) != 1 {
		t.Errorf("read as %+v", e)
	}
	a.write("x/SKILL.md", "\xff")
	if e := read("not UTF-8", "", skill.ErrNotUTF8); e.Available {
		t.Errorf("read as %+v", e)
	}
	a.write("x/SKILL.md", strings.Repeat("x", skill.MaxSkillMD+1))
	read("too large", "", skill.ErrTooLarge)
	a.write("x/SKILL.md", text("x", "back"))
	read("back again", text("x", "back"), nil)
	a.remove("x/SKILL.md")
	read("removed", "", fs.ErrNotExist)
	if got := said(view(t, c).Entries); len(got) != 1 {
		t.Errorf("still there: %q", got)
	}
	read("removed, again", "", fs.ErrNotExist)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := old.Read(ctx, old.Named("y")); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// gate is a file system that signals each open of a file, and then waits.
type gate struct {
	fs.FS
	opened, pass chan struct{}
}

func (g gate) Open(name string) (fs.File, error) {
	g.opened <- struct{}{}
	<-g.pass
	return g.FS.Open(name)
}

type gated struct {
	*memory
	gate gate
}

func (g gated) Scan(ctx context.Context) (skill.Scan, error) {
	s, err := g.memory.Scan(ctx)
	for i := range s.Bundles {
		if s.Bundles[i].Path == "z" {
			s.Bundles[i].FS = gate{s.Bundles[i].FS, g.gate.opened, g.gate.pass}
		}
	}
	return s, err
}

// TestSlowRefreshDoesNotGoBack checks that a refresh does not undo the changes that calls have
// found meanwhile. The refresh reads a slow file, and has already decided that the other files need
// no read.
func TestSlowRefreshDoesNotGoBack(t *testing.T) {
	g := gated{source("a", "x/SKILL.md", text("x", "one"), "y/SKILL.md", text("y", "one")), gate{nil, make(chan struct{}, 1), make(chan struct{})}}
	c := catalogOf(t, g)
	g.write("z/SKILL.md", text("z", "one"))
	ended := make(chan struct{})
	go func() { defer close(ended); refresh(t, c) }()
	<-g.gate.opened
	g.write("x/SKILL.md", text("x", "two"))
	g.remove("y/SKILL.md")
	v := view(t, c)
	if _, e, err := v.Read(context.Background(), v.Named("x")); err != nil || e.Description != "two" {
		t.Errorf("%+v, %v", e, err)
	}
	if _, _, err := v.Read(context.Background(), v.Named("y")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	close(g.gate.pass)
	<-ended
	difftest.Same(t, said(view(t, c).Entries), []string{"available x skill://a/x/SKILL.md", "available z skill://a/z/SKILL.md"}, "entries")
	difftest.Same(t, view(t, c).Named("x").Description, "two", "description")
}

// TestReadersDuringChanges lets 100 readers load skills by name while these are added, changed,
// removed and renamed. It checks that every answer is a version that the file had during the call.
func TestReadersDuringChanges(t *testing.T) {
	const skills, readers, calls = 20, 100, 50
	a := source("a")
	// current has the last version written of each skill. An answer must not be older than the
	// version before the call, and not newer than the one after it.
	var current [skills]atomic.Int64
	file := func(i int) string { return fmt.Sprintf("s%d/SKILL.md", i) }
	write := func(i int, n int64) { a.write(file(i), text(fmt.Sprintf("s%d", i), fmt.Sprintf("version %d.", n))) }
	for i := range skills {
		write(i, 0)
	}
	c := catalogOf(t, a)
	ctx, stop := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { _ = c.Run(ctx) })
	work.Go(func() { // writes the even skills; the odd ones come and go
		for n := int64(1); ctx.Err() == nil; n++ {
			i := rand.IntN(skills)
			switch {
			case i%2 == 0:
				write(i, n)
				current[i].Store(n)
			case n%3 == 0:
				a.remove(file(i))
			case n%3 == 1:
				a.write(file(i), text(fmt.Sprintf("renamed%d", i), "version 0."))
			default:
				write(i, 0)
			}
			if n%8 == 0 {
				c.Poke()
				time.Sleep(time.Millisecond) // let the readers run too
			}
		}
	})
	var wrong, served atomic.Int64
	var all sync.WaitGroup
	for range readers {
		all.Go(func() {
			for range calls {
				i := rand.IntN(skills)
				v, err := c.View(ctx)
				if err != nil {
					t.Error(err)
					return
				}
				before := current[i].Load()
				e := v.Named(fmt.Sprintf("s%d", i))
				if e == nil {
					if i%2 == 0 {
						t.Errorf("s%d is gone from version %d", i, v.Version)
					}
					continue
				}
				data, now, err := v.Read(ctx, e)
				if err != nil {
					if i%2 == 0 || !errors.Is(err, fs.ErrNotExist) {
						t.Errorf("s%d: %v", i, err)
					}
					continue
				}
				served.Add(1)
				var n int64
				if _, err := fmt.Sscanf(now.Description, "version %d.", &n); err != nil || skill.DigestOf(data) != now.Digest {
					t.Errorf("s%d: %q, %v", i, now.Description, err)
				}
				// The writer stores the number after writing the file.
				if after := current[i].Load(); i%2 == 0 && (n < before || after < before) {
					wrong.Add(1)
				}
			}
		})
	}
	all.Wait()
	stop()
	work.Wait()
	if n := wrong.Load(); n > 0 {
		t.Errorf("%d of %d answers are older than their call", n, served.Load())
	}
	t.Logf("%d answers", served.Load())
}
