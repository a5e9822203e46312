package policy_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/policy"
	"github.com/knack-dev/knack/internal/test/skilltest"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// bad is the text for which the decider of these tests holds a skill back.
const bad = "BAD"

// reader works like a real decider: it reads every file of a candidate completely, and remembers
// its verdict on each set of files.
type reader struct {
	mu     sync.Mutex
	known  map[skill.Digest]bool // sets that were judged, and whether they are bad
	judged atomic.Int64
	before func(ctx context.Context) // before a file is read
	also   string                    // the path of a skill that is always held back
}

func newReader() *reader { return &reader{known: map[skill.Digest]bool{}} }

func (r *reader) source(s catalog.Source) catalog.Source {
	return policy.Guarded(s, &policy.Decider{Decide: r.decide})
}

func (r *reader) decide(ctx context.Context, c *policy.Candidate) policy.Ruling {
	c.Read(ctx, 0, 0)
	later := func(string, bool) error {
		return &skill.HeldError{Pending: true, Name: c.Name, Message: "held back: it is not judged yet"}
	}
	ruling := policy.Ruling{Files: c.Files, Hides: true, Differs: later}
	if c.Err != nil {
		ruling.Held = &skill.HeldError{Name: c.Name, Message: "held back: cannot be listed"}
		return ruling
	}
	r.mu.Lock()
	isBad, ok := r.known[c.Set]
	r.mu.Unlock()
	if !ok {
		if isBad, ok = r.read(ctx, c); ok {
			r.mu.Lock()
			r.known[c.Set] = isBad
			r.mu.Unlock()
		}
	}
	switch {
	case !ok:
		ruling.Held = later("", false)
	case isBad || c.Path == r.also:
		ruling.Held = &skill.HeldError{Name: c.Name, Message: "held back: it is bad"}
	}
	return ruling
}

func (r *reader) read(ctx context.Context, c *policy.Candidate) (isBad, ok bool) {
	r.judged.Add(1)
	if r.before != nil {
		r.before(ctx)
	}
	for _, f := range c.Files {
		data, _, err := c.ReadServed(f.Path, skill.MaxFile)
		if err != nil {
			return false, false
		}
		isBad = isBad || strings.Contains(string(data), bad)
	}
	return isBad, ctx.Err() == nil && !c.Changed()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func md(name, text string) string {
	return "---\nname: " + name + "\ndescription: Does " + name + ".\n---\n" + text
}

// tree is a folder with skills, and the catalogue of those that the decider accepts.
type tree struct {
	t       *testing.T
	root    string
	decider *reader
	c       *catalog.Catalog
}

func (k *tree) write(files map[string]string) {
	k.t.Helper()
	for at, text := range files {
		at = filepath.Join(k.root, filepath.FromSlash(at))
		must(k.t, os.MkdirAll(filepath.Dir(at), 0o755))
		must(k.t, os.WriteFile(at, []byte(text), 0o644))
	}
}

func newTree(t *testing.T, files map[string]string) *tree {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	k := &tree{t: t, root: root, decider: newReader()}
	k.write(files)
	return k
}

func (k *tree) source(label, at string) catalog.Source {
	return k.decider.source(dir.New(dir.Options{Root: skill.Root{Label: label, Scope: skill.ScopeProject, Dir: filepath.Join(k.root, at), Shown: label}, Load: true}))
}

func (k *tree) view(sources ...catalog.Source) catalog.View {
	k.t.Helper()
	if k.c == nil {
		if len(sources) == 0 {
			sources = []catalog.Source{k.source("a", "")}
		}
		k.c = catalog.New(sources, catalog.Options{})
	}
	must(k.t, k.c.Refresh(k.t.Context()))
	v, err := k.c.View(k.t.Context())
	must(k.t, err)
	return v
}

// states returns a line for each skill, with its place, name and state.
func states(v catalog.View) string {
	var all []string
	for _, e := range v.Entries {
		state := string(e.Status)
		if p, ok := e.SkipReason(); ok {
			state = p.Message
		}
		all = append(all, e.Root.Label+"/"+e.Path+" "+e.Name+": "+state)
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

func (k *tree) want(what string, v catalog.View, want ...string) {
	k.t.Helper()
	if got := states(v); got != strings.Join(want, "\n") {
		k.t.Errorf("%s:\n%s\nwant:\n%s", what, got, strings.Join(want, "\n"))
	}
}

// TestSteps checks that a skill is held back while it is bad and served while it is good, as its
// script, its folder and links change.
func TestSteps(t *testing.T) {
	k := newTree(t, map[string]string{"pdf/SKILL.md": md("pdf", ""), "pdf/run.sh": "echo", "other/good.sh": "echo", "other/bad.sh": bad})
	at := filepath.Join(k.root, "pdf")
	const good, isBad = "a/pdf pdf: available", "a/pdf pdf: held back: it is bad"
	for _, step := range []struct {
		name   string
		change func()
		want   string
	}{
		{"as it is", func() {}, good},
		{"a script turns bad", func() { k.write(map[string]string{"pdf/run.sh": bad}) }, isBad},
		{"mended", func() { k.write(map[string]string{"pdf/run.sh": "echo 2"}) }, good},
		{"SKILL.md turns bad", func() { k.write(map[string]string{"pdf/SKILL.md": md("pdf", bad)}) }, isBad},
		{"another name", func() { k.write(map[string]string{"pdf/SKILL.md": md("doc", bad)}) }, "a/pdf doc: held back: it is bad"},
		{"mended", func() { k.write(map[string]string{"pdf/SKILL.md": md("pdf", "new")}) }, good},
		{"a file is added", func() { k.write(map[string]string{"pdf/deep/x.txt": bad}) }, isBad},
		{"and removed", func() { must(t, os.RemoveAll(filepath.Join(at, "deep"))) }, good},
		{"a link inside leads to one that is bad", func() {
			k.write(map[string]string{"pdf/x/b.txt": "fine"})
			must(t, os.Symlink("b.txt", filepath.Join(at, "x/link.txt")))
			k.write(map[string]string{"pdf/x/b.txt": bad})
		}, isBad},
		{"the link's target is mended", func() { k.write(map[string]string{"pdf/x/b.txt": "fine"}) }, good},
		{"the folder is swapped", func() {
			must(t, os.Rename(at, filepath.Join(k.root, "was")))
			must(t, os.Remove(filepath.Join(k.root, "was/SKILL.md")))
			k.write(map[string]string{"pdf/SKILL.md": md("pdf", "new"), "pdf/run.sh": bad})
		}, isBad},
		{"spelled otherwise", func() { must(t, os.Rename(at+"/SKILL.md", at+"/skill.md")) }, isBad},
		{"mended", func() { k.write(map[string]string{"pdf/run.sh": "echo 3"}) }, good},
		{"a broken SKILL.md, and nothing bad", func() { k.write(map[string]string{"pdf/skill.md": "none"}) }, "a/pdf : the file has no frontmatter"},
		{"a broken SKILL.md, and a bad script", func() { k.write(map[string]string{"pdf/run.sh": bad}) }, "a/pdf : held back: it is bad"},
	} {
		step.change()
		v := k.view()
		if got := states(v); !strings.HasPrefix(got, step.want) {
			t.Fatalf("%s:\n%s\nwant\n%s", step.name, got, step.want)
		}
		e := v.Entries[0]
		for _, file := range []string{"SKILL.md", "run.sh"} {
			_, _, err := e.ReadServed(file, 1000)
			if (err == nil) != !e.HeldBack() {
				t.Errorf("%s: reading %s: %v", step.name, file, err)
			}
		}
		if _, err := fs.ReadDir(e.FS, "."); (err == nil) != !e.HeldBack() {
			t.Errorf("%s: listing: %v", step.name, err)
		}
	}
	n := k.decider.judged.Load()
	if k.view(); k.decider.judged.Load() != n {
		t.Error("what is known is judged again")
	}
}

// TestBetween checks that a file that changes between two scans cannot be read, and that an added
// file is not listed.
func TestBetween(t *testing.T) {
	k := newTree(t, map[string]string{"pdf/SKILL.md": md("pdf", ""), "pdf/run.sh": "echo", "pdf/sub/a.txt": "a", "pdf/.env": bad})
	e := k.view().Entries[0]
	k.write(map[string]string{"pdf/run.sh": bad + "!", "pdf/new.txt": bad, "pdf/sub/new.txt": bad, "pdf/subs/new.txt": bad})
	for _, name := range []string{"run.sh", "new.txt", "sub/new.txt", "subs/new.txt", ".env"} {
		if data, err := fs.ReadFile(e.FS, name); err == nil || strings.Contains(string(data), bad) {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	var names []string
	must(t, fs.WalkDir(e.FS, ".", func(p string, _ fs.DirEntry, err error) error { names = append(names, p); return err }))
	if got := strings.Join(names, " "); got != ". SKILL.md run.sh sub sub/a.txt" {
		t.Error("lists ", got)
	}
	if f, err := e.FS.Open("sub"); err != nil {
		t.Error(err)
	} else if _, ok := f.(fs.ReadDirFile); ok {
		t.Error("an open folder lists what was not judged")
	}
}

// TestNested checks that a held-back skill also holds back the skills whose folders contain it,
// since its files belong to them too.
func TestNested(t *testing.T) {
	k := newTree(t, map[string]string{"SKILL.md": md("whole", ""), "out/SKILL.md": md("out", ""), "out/mid/in/SKILL.md": md("in", ""), "out/mid/in/x.sh": "echo", "by/SKILL.md": md("by", "")})
	k.want("all good", k.view(), "a/. whole: available", "a/by by: available", "a/out out: available", "a/out/mid/in in: available")
	k.decider.also = "out/mid/in" // the outer skills are good themselves, as if they accepted its findings
	v := k.view()
	k.want("the innermost is held back", v, "a/. whole: held back: it contains 'out/mid/in', which is held back", "a/by by: available", "a/out out: held back: it contains 'out/mid/in', which is held back", "a/out/mid/in in: held back: it is bad")
	for _, e := range v.Entries {
		at, _ := filepath.Rel(e.Path, "out/mid/in/x.sh")
		if _, err := fs.ReadFile(e.FS, filepath.ToSlash(at)); filepath.IsLocal(at) && err == nil {
			t.Errorf("%s has its files", e.Path)
		}
	}
	k.decider.also = ""
	k.write(map[string]string{"out/x.sh": bad})
	k.want("around it is bad", k.view(), "a/. whole: held back: it is bad", "a/by by: available", "a/out out: held back: it is bad", "a/out/mid/in in: available")
}

// TestSameName checks that another skill with the same name is loaded instead of a held-back one.
func TestSameName(t *testing.T) {
	k := newTree(t, map[string]string{"one/pdf/SKILL.md": md("pdf", "one"), "two/pdf/SKILL.md": md("pdf", "two")})
	must(t, os.Symlink("one", filepath.Join(k.root, "link")))
	sources := []catalog.Source{k.source("a", "link"), k.source("b", "two")}
	text := func(v catalog.View) string {
		e := v.Named("pdf")
		if e == nil {
			return "none"
		}
		data, _, err := v.Read(t.Context(), e)
		if err != nil {
			return err.Error()
		}
		return string(data)
	}
	for i, step := range []struct{ change, want string }{
		{"", "one"}, {"one/pdf/x.sh", "two"}, {"two/pdf/x.sh", "none"}, {"-one/pdf/x.sh", "one"},
	} {
		if at, mends := strings.CutPrefix(step.change, "-"); mends {
			must(t, os.Remove(filepath.Join(k.root, at)))
		} else if at != "" {
			k.write(map[string]string{at: bad})
		}
		if got := text(k.view(sources...)); !strings.HasSuffix(got, step.want) {
			t.Errorf("step %d: %q, want that of %s", i, got, step.want)
		}
	}
}

// failing is a file system in which one file can be made to fail.
type failing struct {
	fs.FS
	with atomic.Pointer[error]
}

func (f *failing) Open(name string) (fs.File, error) {
	if err := f.with.Load(); err != nil && strings.HasSuffix(name, "/notes.md") {
		return nil, &fs.PathError{Op: "open", Path: name, Err: *err}
	}
	return f.FS.Open(name)
}

// TestGoneMeanwhile checks that a file that could not be read during the judgement counts as not
// judged, even if it can be read afterwards.
func TestGoneMeanwhile(t *testing.T) {
	for _, err := range []error{fs.ErrNotExist, fs.ErrPermission} {
		m := skilltest.Project(map[string]string{"pdf/SKILL.md": md("pdf", ""), "pdf/notes.md": bad})
		f := &failing{FS: m.Files}
		m.FS = f
		k := &tree{t: t, decider: newReader()}
		k.decider.before = func(context.Context) { f.with.Store(&err) }
		v := k.view(k.decider.source(m))
		k.want(err.Error(), v, "claude-project/pdf pdf: held back: it is not judged yet")
		f.with.Store(nil)
		k.decider.before = nil
		k.want("back", k.view(), "claude-project/pdf pdf: held back: it is bad")
	}
}

// TestSwappedMeanwhile checks that two files that are swapped while one of them is judged have no
// verdict.
func TestSwappedMeanwhile(t *testing.T) {
	k := newTree(t, map[string]string{"pdf/SKILL.md": md("pdf", ""), "pdf/notes.md": bad, "good/notes.md": "nil"})
	a, b := filepath.Join(k.root, "pdf/notes.md"), filepath.Join(k.root, "good/notes.md")
	swap := func() {
		must(t, os.Rename(a, a+".x"))
		must(t, os.Rename(b, a))
		must(t, os.Rename(a+".x", b))
	}
	k.decider.before = func(context.Context) { swap(); k.decider.before = nil }
	k.want("good while it is judged", k.view(), "a/pdf pdf: held back: it is not judged yet")
	swap()
	k.want("bad again", k.view(), "a/pdf pdf: held back: it is bad")
}

// steady is a source that finds the same bundles in each scan, even after their files have changed.
type steady struct {
	catalog.Source
	scan skill.Scan
}

func (s *steady) Scan(ctx context.Context) (_ skill.Scan, err error) {
	if s.scan.Bundles == nil {
		s.scan, err = s.Source.Scan(ctx)
		slices.SortFunc(s.scan.Bundles, func(a, b *skill.Bundle) int { return strings.Compare(a.Path, b.Path) })
	}
	return s.scan, err
}

// TestBrokenOff checks that an interrupted scan changes nothing, and that its verdicts are not
// used.
func TestBrokenOff(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // judge one skill after the other
	m := skilltest.Project(map[string]string{"a/SKILL.md": md("a", ""), "b/SKILL.md": md("b", "")})
	k := &tree{t: t, decider: newReader()}
	k.view(k.decider.source(&steady{Source: m}))
	m.Put("a/x.sh", bad)
	m.Put("b/x.sh", "echo")
	ctx, cancel := context.WithCancel(t.Context())
	var n atomic.Int64
	k.decider.before = func(ctx context.Context) {
		if n.Add(1) == 2 {
			cancel()
			<-ctx.Done()
		}
	}
	if err := k.c.Refresh(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	v, err := k.c.View(t.Context())
	must(t, err)
	k.want("as before", v, "claude-project/a a: available", "claude-project/b b: available")
	k.decider.before = nil
	k.want("later", k.view(), "claude-project/a a: held back: it is bad", "claude-project/b b: available")
}

// TestSoon checks that a mended skill is served, and a bad one removed, within 2 s of a poke, and
// that reading a file that has changed since it was judged does the same.
func TestSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := skilltest.Project(map[string]string{"pdf/SKILL.md": md("pdf", ""), "pdf/run.sh": bad})
		c := catalog.New([]catalog.Source{newReader().source(m)}, catalog.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- c.Run(ctx) }()
		<-c.Ready()
		view := func() catalog.View {
			v, err := c.View(ctx)
			must(t, err)
			return v
		}
		testwait.Advance(10 * time.Second)
		read := func() { _, _, _ = view().Entries[0].ReadServed("run.sh", 100) }
		for i, step := range []struct {
			text   string
			notice func()
			served bool
		}{{"echo", c.Poke, true}, {bad, read, false}, {"echo 2", c.Poke, true}, {bad + bad, c.Poke, false}, {"echo 3", c.Poke, true}, {"echo 44", read, true}} {
			m.Put("pdf/run.sh", step.text)
			step.notice()
			if data, _, err := view().Entries[0].ReadServed("run.sh", 100); err == nil {
				t.Errorf("step %d: %q is read before it is judged", i, data)
			}
			testwait.Advance(2 * time.Second)
			v := view()
			if got := len(v.Listed) == 1; got != step.served {
				t.Errorf("step %d: served is %v", i, got)
			}
			data, _, err := v.Entries[0].ReadServed("run.sh", 100)
			if step.served && (err != nil || string(data) != step.text) || !step.served && err == nil {
				t.Errorf("step %d: %q, %v", i, data, err)
			}
			testwait.Advance(7*time.Second + 300*time.Millisecond) // so that no periodic scan happens during a step
		}
		cancel()
		<-done
	})
}
