package catalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/knack-dev/knack/internal/test/difftest"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/skill"
)

func TestRefreshReadsOnlyWhatChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := source("a", "x/SKILL.md", text("x", "one"), "y/SKILL.md", text("y", "one"), "z/SKILL.md", text("z", "one"))
		c := catalogOf(t, a)
		news := told(c)
		opened := func(what string, want int64) {
			t.Helper()
			a.opens.Store(0)
			refresh(t, c)
			if n := a.opens.Load(); n != want {
				t.Errorf("%s: %d files opened, want %d", what, n, want)
			}
		}
		opened("nothing changed", 0)
		a.write("y/SKILL.md", text("y", "two"))
		opened("one changed", 1)
		opened("nothing since", 0)
		a.touch("z/SKILL.md", time.Now().Add(-2*time.Hour))
		opened("one touched", 1)
		opened("nothing since", 0)
		a.touch("z/SKILL.md", time.Now())
		opened("one touched just now", 1)
		opened("still so young that a write could hide", 1)
		a.write("new/SKILL.md", text("new", "n"))
		a.remove("x/SKILL.md")
		opened("one new, one gone, one young", 2)
		difftest.Same(t, *news, []string{"v2 listing=true *y", "v3 listing=true +new -x"}, "news")
	})
}

// TestRacyStamp checks that a write within the clock's resolution, which leaves the same
// stamp, is seen.
func TestRacyStamp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := source("a", "x/SKILL.md", text("x", "one"))
		now := time.Now()
		a.touch("x/SKILL.md", now)
		c := catalogOf(t, a)
		a.set(func() { a.files["x/SKILL.md"] = &fstest.MapFile{Data: []byte(text("x", "two")), ModTime: now} })
		refresh(t, c)
		difftest.Same(t, view(t, c).Named("x").Description, "two", "description")
	})
}

func TestFailingSource(t *testing.T) {
	a, b := source("a", "x/SKILL.md", text("x", "one")), source("b", "y/SKILL.md", text("y", "one"))
	c := catalogOf(t, a, b)
	news := told(c)
	a.set(func() { a.err = errDisk })
	b.write("y/SKILL.md", text("y", "two"))
	refresh(t, c)
	v := view(t, c)
	difftest.Same(t, said(v.Listed), []string{"available x skill://a/x/SKILL.md", "available y skill://b/y/SKILL.md"}, "while it fails")
	if !errors.Is(v.Roots[0].Err, errDisk) || v.Roots[1].Err != nil {
		t.Errorf("roots: %+v", v.Roots)
	}
	a.set(func() { a.err = nil })
	refresh(t, c)
	if v := view(t, c); v.Roots[0].Err != nil {
		t.Errorf("roots: %+v", v.Roots)
	}
	a.set(func() { a.missing = true })
	refresh(t, c)
	if v := view(t, c); !v.Roots[0].Missing || v.Named("x") != nil {
		t.Errorf("a root that is gone: %+v", v.Roots)
	}
	a.set(func() { a.missing = false })
	refresh(t, c)
	if view(t, c).Named("x") == nil {
		t.Error("a root that came back has no skills")
	}
	difftest.Same(t, *news, []string{"v2 listing=true *y", "v4 listing=true -x", "v5 listing=true +x"}, "news")
}

// TestOtherRootSameLabel checks that a failing root does not keep the last good skills of
// another root that had its label before.
func TestOtherRootSameLabel(t *testing.T) {
	a, b := source("project", "x/SKILL.md", text("x", "one")), source("project")
	a.root.Dir, b.root.Dir = "/one", "/two"
	c := catalogOf(t, a)
	b.set(func() { b.err = errDisk })
	c.SetSources([]Source{b})
	refresh(t, c)
	if got := said(view(t, c).Entries); len(got) != 0 {
		t.Errorf("served from another root: %q", got)
	}
}

// failing is a source whose files cannot be opened.
type failing struct {
	*memory
	err error
}

func (f *failing) Scan(ctx context.Context) (skill.Scan, error) {
	s, err := f.memory.Scan(ctx)
	for i := range s.Bundles {
		s.Bundles[i].FS = failingFS{f, s.Bundles[i].FS}
	}
	return s, err
}

type failingFS struct {
	owner *failing
	fs.FS
}

func (f failingFS) Open(name string) (fs.File, error) {
	if f.owner.err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: f.owner.err}
	}
	return f.FS.Open(name)
}

func TestDiff(t *testing.T) {
	a, b := source("a", "x/SKILL.md", text("x", "one")), source("b", "y/SKILL.md", text("y", "one"))
	c := catalogOf(t, a, b)
	news := told(c)
	step := func(f func()) { f(); refresh(t, c) }
	step(func() { a.write("y/SKILL.md", text("y", "ours")) })                           // shadows b's
	step(func() { b.write("y/SKILL.md", text("y", "ours")) })                           // becomes a copy
	step(func() { a.write("x/SKILL.md", text("x", "one")+"more body\n") })              // only the body
	step(func() { a.write("x/notes.md", "n") })                                         // another file
	step(func() { a.write("x/SKILL.md", "---\nname: x\n---\n") })                       // no description
	step(func() { a.remove("x/SKILL.md"); a.write("x/skill.md", text("x", "one")) })    // spelt otherwise
	step(func() { a.remove("y/SKILL.md"); a.write("why/SKILL.md", text("y", "ours")) }) // the folder renamed
	step(func() { c.SetSources([]Source{b}) })
	difftest.Same(t, *news, []string{
		"v2 listing=true +y *y", "v3 listing=false *y", "v4 listing=false *x", "v5 listing=true *x", "v6 listing=true *x", "v7 listing=false +why -y", "v8 listing=true -why -x *y"}, "news")
}

// TestSubscriberMayAct checks that a subscriber may take a view, read and set sources, and
// gets the differences one by one.
func TestSubscriberMayAct(t *testing.T) {
	a := source("a", "x/SKILL.md", text("x", "one"))
	c := catalogOf(t, a)
	var seen []string
	inside := false
	cancel := c.Subscribe(func(d Diff) {
		if inside {
			t.Error("called while it was being called")
		}
		inside = true
		defer func() { inside = false }()
		v := view(t, c)
		e := v.Named("x")
		if len(seen) == 0 { // the file changes once more before it is read
			a.write("x/SKILL.md", text("x", "three"))
			c.SetSources([]Source{a})
		}
		data, _, err := v.Read(context.Background(), e)
		seen = append(seen, fmt.Sprintf("v%d %v %v", d.next.Version, strings.Contains(string(data), "three"), err))
	})
	a.write("x/SKILL.md", text("x", "two"))
	finished := make(chan struct{})
	go func() { defer close(finished); refresh(t, c) }()
	select {
	case <-finished:
	case <-time.After(slowDay):
		t.Fatal("a subscriber that reads waits for ever")
	}
	difftest.Same(t, seen, []string{"v2 true <nil>", "v3 true <nil>"}, "seen")
	cancel()
	a.write("x/SKILL.md", text("x", "four"))
	refresh(t, c)
	if len(seen) != 2 {
		t.Errorf("told after the end: %q", seen)
	}
}

func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	testwait.Until(t, ok, what)
}

// TestBlocked checks that a blocked source or file delays neither View nor Read. A
// refresh that waits for it ends with its context.
func TestBlocked(t *testing.T) {
	a, b := source("a", "x/SKILL.md", text("x", "one")), source("b", "y/SKILL.md", text("y", "one"))
	c := catalogOf(t, a, b)
	b.set(func() { b.block = make(chan struct{}) })
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	for range 2 { // the second waits for the first
		go func() { ended <- c.Refresh(ctx) }()
	}
	a.write("x/SKILL.md", text("x", "two"))
	v := view(t, c)
	data, e, err := v.Read(context.Background(), v.Named("x"))
	if err != nil || e.Description != "two" || skill.DigestOf(data) != e.Digest || view(t, c).Named("x").Description != "two" {
		t.Errorf("%q, %v, %v", data, e, err)
	}
	cancel()
	for range 2 {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
	}

	slow := &failing{memory: source("c", "z/SKILL.md", text("z", "one"))}
	stuck := blocking{slow, make(chan struct{})}
	defer close(stuck.until)
	c = New([]Source{stuck}, Options{})
	ctx, cancel = context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := c.Refresh(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a file that blocks: %v", err)
	}
	if _, err := c.View(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a view before the first snapshot: %v", err)
	}
}

// blocking is a source whose files block when they are opened.
type blocking struct {
	*failing
	until chan struct{}
}

func (b blocking) Scan(ctx context.Context) (skill.Scan, error) {
	s, err := b.failing.Scan(ctx)
	for i := range s.Bundles {
		s.Bundles[i].FS = blockingFS{s.Bundles[i].FS, b.until}
	}
	return s, err
}

type blockingFS struct {
	fs.FS
	until chan struct{}
}

func (b blockingFS) Open(name string) (fs.File, error) {
	<-b.until
	return b.FS.Open(name)
}

// TestLog checks that a skipped skill is logged once, and once more if it is skipped again
// later.
func TestLog(t *testing.T) {
	var log bytes.Buffer
	a := source("a", "x/SKILL.md", "nothing")
	c := New([]Source{a}, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	for _, data := range []string{"", "", text("x", "fine"), "nothing"} {
		if data != "" {
			a.write("x/SKILL.md", data)
		}
		refresh(t, c)
	}
	if n := strings.Count(log.String(), "skill skipped"); n != 2 || !strings.Contains(log.String(), ".a/x/SKILL.md:1:1") {
		t.Errorf("said %d times:\n%s", n, &log)
	}
	if len(c.logged) != 1 {
		t.Errorf("remembers %d lines", len(c.logged))
	}
}

// TestErrorOfMissingRootChanges checks that the status of a missing root has the latest
// error, even if no skill was added or removed.
func TestErrorOfMissingRootChanges(t *testing.T) {
	a := source("a")
	a.missing = true
	c := catalogOf(t, a, source("b", "x/SKILL.md", text("x", "one")))
	for i, err := range []error{nil, fs.ErrNotExist, skill.ErrNotFolder, nil, errDisk} {
		a.set(func() { a.err = err })
		refresh(t, c)
		if r := view(t, c).Roots[0]; !r.Missing || !errors.Is(r.Err, err) {
			t.Errorf("step %d: %v, want %v", i, r.Err, err)
		}
	}
}

// TestFileGoneBeforeItIsRead checks that a file that disappears between the scan and the
// read is gone, not skipped.
func TestFileGoneBeforeItIsRead(t *testing.T) {
	a := source("a", "x/SKILL.md", text("x", "one"), "y/SKILL.md", text("y", "one"))
	c := catalogOf(t, late{a, "x/SKILL.md"})
	difftest.Same(t, said(view(t, c).Entries), []string{"available y skill://a/y/SKILL.md"}, "entries")
}

// late is a source that loses a file right after the scan.
type late struct {
	*memory
	file string
}

func (l late) Scan(ctx context.Context) (skill.Scan, error) {
	s, err := l.memory.Scan(ctx)
	l.remove(l.file)
	return s, err
}

// TestDiffServed checks that [Diff.Served] is false if every changed skill was skipped both before
// and after the change. Served finds the old states in Before.
func TestDiffServed(t *testing.T) {
	a := source("a", "x/SKILL.md", "no frontmatter", "y/SKILL.md", text("y", "one"))
	c := catalogOf(t, a)
	var served []bool
	c.Subscribe(func(d Diff) {
		served = append(served, d.Served())
		if len(d.Before) != len(d.Changed) {
			t.Errorf("%d states before, %d after", len(d.Before), len(d.Changed))
		}
	})
	for _, step := range []func(){
		func() { a.write("x/SKILL.md", "still none") },
		func() { a.write("x/SKILL.md", text("x", "one")) },
		func() { a.write("y/SKILL.md", text("y", "two")) },
		func() { a.write("x/SKILL.md", "none again") },
		func() { a.write("x/SKILL.md", "and no more") },
		func() { a.remove("x/SKILL.md") },
		func() { a.remove("y/SKILL.md") },
	} {
		step()
		refresh(t, c)
	}
	// In the fourth step only the old state is served.
	difftest.Same(t, served, []bool{false, true, true, true, false, false, true}, "served")
}

// TestUncomparableSource checks that a source may be of any type, even one that is not
// comparable.
func TestUncomparableSource(t *testing.T) {
	a := source("a", "x/SKILL.md", text("x", "one"))
	s := uncomparable{a, map[string]int{"any": 1}}
	c := catalogOf(t, s)
	c.SetSources([]Source{s, uncomparable{source("b"), nil}})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	waitFor(t, "it is watched", func() bool { a.mu.Lock(); defer a.mu.Unlock(); return a.poke != nil })
	c.SetSources([]Source{s})
	refresh(t, c)
	difftest.Same(t, said(view(t, c).Entries), []string{"available x skill://a/x/SKILL.md"}, "entries")
	if got, _ := view(t, c).FoldersNow(ctx, func(string) bool { return true }); got != nil {
		t.Errorf("it cannot tell its folders, and has %v", got)
	}
	cancel()
	<-ended
}

type uncomparable struct {
	*memory
	extra map[string]int
}

func (u uncomparable) Watch(ctx context.Context, poke func()) { watched{u.memory}.Watch(ctx, poke) }

// TestSourceThatStays checks that a source is scanned by one goroutine at a time and watched once,
// though SetSources is called with it again, even while its disk does not answer.
func TestSourceThatStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &solitary{memory: source("a", "x/SKILL.md", text("x", "one"))}
		c := New([]Source{s}, Options{Patience: 20 * time.Millisecond})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		for range 3 {
			testwait.Advance(10 * time.Second) // in the midst of a scan
			c.SetSources(nil)
			c.SetSources([]Source{source("b"), s})
		}
		testwait.Advance(2 * time.Minute)
		if s.most.Load() != 1 || s.watches.Load() != 1 {
			t.Errorf("%d scans at the same time, and %d watches", s.most.Load(), s.watches.Load())
		}
		if view(t, c).Named("x") == nil {
			t.Error("its skill is not there")
		}
		c.SetSources(nil)
		testwait.Advance(time.Minute)
		if s.scans.Load() != 0 || s.watching.Load() != 0 {
			t.Errorf("%d scans and %d watches of a source that was removed", s.scans.Load(), s.watching.Load())
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Run: %v", err)
		}
	})
}

// solitary is a source that counts the calls under way. A scan takes longer than a refresh waits.
type solitary struct {
	*memory
	scans, most, watches, watching atomic.Int32
}

func (s *solitary) Scan(ctx context.Context) (skill.Scan, error) {
	s.most.Store(max(s.most.Load(), s.scans.Add(1)))
	defer s.scans.Add(-1)
	select {
	case <-time.After(45 * time.Second):
		return s.memory.Scan(ctx)
	case <-ctx.Done():
		return skill.Scan{}, ctx.Err()
	}
}

func (s *solitary) Watch(ctx context.Context, _ func()) {
	s.watches.Add(1)
	s.watching.Add(1)
	defer s.watching.Add(-1)
	<-ctx.Done()
}

// versioned is a source with a version for the state of its tree.
type versioned struct {
	*memory
	version uint64
}

func (v *versioned) Scan(ctx context.Context) (skill.Scan, error) {
	scan, err := v.memory.Scan(ctx)
	scan.Version = v.version
	return scan, err
}

// TestUnseenChangeIsTakenInOnce checks that an invisible change costs work in one refresh,
// not in every later one, and that later visible changes are seen.
func TestUnseenChangeIsTakenInOnce(t *testing.T) {
	s := &versioned{source("a", "x/SKILL.md", text("x", "one"), "y/SKILL.md", text("y", "two")), 1}
	c := catalogOf(t, s)
	first := c.current.Load()
	built := func() uint64 { return first.basis()[0].version }
	if built() != 1 {
		t.Fatalf("made of version %d", built())
	}
	s.version = 2
	refresh(t, c)
	if c.current.Load() != first {
		t.Fatal("nothing to be seen has changed, and the snapshot is another one")
	}
	if built() != 2 {
		t.Errorf("the scan of version 2 is forgotten: the next would build all again (%d)", built())
	}
	taken := first.found.Load()
	refresh(t, c)
	if first.found.Load() != taken {
		t.Error("a scan that found what the last one did was built again")
	}
	s.write("x/SKILL.md", text("x", "three"))
	s.remove("y/SKILL.md")
	s.version = 3
	refresh(t, c)
	if all := view(t, c).Entries; len(all) != 1 || all[0].Description != "three" {
		t.Errorf("%v after a change that is seen", said(all))
	}
}

// TestUnchangedIsKeptBesideOthers checks that roots that are missing or late cause no
// rebuild of unchanged roots.
func TestUnchangedIsKeptBesideOthers(t *testing.T) {
	s := &versioned{source("a", "x/SKILL.md", text("x", "one")), 1}
	gone := source("b")
	gone.missing = true
	c := New([]Source{s, gone}, Options{Patience: 100 * time.Millisecond})
	refresh(t, c)
	first := c.current.Load()
	if _, err := view(t, c).Search(t.Context(), Query{Text: "one"}); err != nil {
		t.Fatal(err)
	}
	taken := first.found.Load()
	refresh(t, c)
	if c.current.Load() != first || first.found.Load() != taken {
		t.Error("beside a root that is not there an unchanged one was built again")
	}

	block := make(chan struct{})
	s.set(func() { s.block = block })
	refresh(t, c)
	late := c.current.Load()
	if !late.Roots[0].Late() || late.Version == first.Version || late.Roots[1].Late() {
		t.Errorf("the disk does not answer, and the roots say %v and %v", late.Roots[0].Err, late.Roots[1].Err)
	}
	s.set(func() { s.block = nil })
	close(block)
	waitFor(t, "the root answers", func() bool { refresh(t, c); return c.current.Load().Roots[0].Err == nil })
	for _, now := range []*Snapshot{late, c.current.Load()} {
		if len(now.Entries) != 1 || now.Entries[0] != first.Entries[0] || now.indexing != first.indexing || now.Roots[0].Count != 1 {
			t.Errorf("what is the same was made again: %v", said(now.Entries))
		}
	}

	// The root exists now, and gets a skill later.
	gone.set(func() { gone.missing = false })
	refresh(t, c)
	if r := c.current.Load().Roots[1]; r.Missing {
		t.Error("a root that has come is missing still")
	}
	gone.write("y/SKILL.md", text("y", "two"))
	refresh(t, c)
	if all := view(t, c).Entries; len(all) != 2 {
		t.Errorf("%v after a root has come", said(all))
	}
}

// TestIndexesAreMadeOneAfterTheOther checks that the second snapshot's index is made from
// the first one's, so that each file is read once.
func TestIndexesAreMadeOneAfterTheOther(t *testing.T) {
	a := source("a")
	for i := range 200 {
		a.write(fmt.Sprintf("s%d/SKILL.md", i), text(fmt.Sprintf("s%d", i), "one"))
	}
	c := catalogOf(t, a)
	before := a.opens.Load()
	first := c.current.Load()
	c.turn.Lock() // the first is under way
	c.indexOf(first)
	a.write("t/SKILL.md", text("t", "two"))
	refresh(t, c)
	refreshed := a.opens.Load() - before
	c.indexOf(c.current.Load())
	c.turn.Unlock()
	<-first.indexing.done
	<-c.current.Load().indexing.done
	if got := a.opens.Load() - before - refreshed; got != 201 {
		t.Errorf("%d files were read for the indexes of 200 skills and of one more", got)
	}
}
