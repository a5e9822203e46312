package notify

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/test/skilltest"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/skill"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// disk counts how often each file is opened or examined, which fails while fault is set.
type disk struct {
	fs.FS
	mu    sync.Mutex
	looks map[string]int
	fault error
}

func (d *disk) look(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.looks[name]++
	return d.fault
}

// change runs do while no file is being opened or examined.
func (d *disk) change(do func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	do()
}

func (d *disk) Open(name string) (fs.File, error) {
	if err := d.look(name); err != nil {
		return nil, err
	}
	return d.FS.Open(name)
}

func (d *disk) Stat(name string) (fs.FileInfo, error) {
	if err := d.look(name); err != nil {
		return nil, err
	}
	return fs.Stat(d.FS, name)
}

// world has a table for the skill "a", whose main file is spelt SKILL.MD. The skill also has the
// files 0.txt to 9.txt.
type world struct {
	*Table[int]
	*testing.T
	root *skilltest.Memory
	disk *disk
	view catalog.View
	told []string
}

func newWorld(t *testing.T, files, own int) *world {
	texts := map[string]string{"a/SKILL.MD": skilltest.Document("a", "d")}
	for i := range 10 {
		texts[fmt.Sprintf("a/%d.txt", i)] = "text"
	}
	w := &world{T: t, root: skilltest.Project(texts)}
	for _, f := range w.root.Files {
		f.ModTime = time.Now().Add(-time.Hour) // of the bubble's clock
	}
	w.disk = &disk{FS: w.root.FS, looks: map[string]int{}}
	w.root.FS = w.disk
	c := skilltest.Catalog(t, w.root)
	w.view = skilltest.View(t, c)
	w.Table = New(Options[int]{Period: Period, MaxFiles: files, MaxOwn: own, View: c.View, Changed: func(_ int, uri string) {
		w.disk.mu.Lock()
		defer w.disk.mu.Unlock()
		w.told = append(w.told, uri)
	}})
	return w
}

// add subscribes a session of a client to a file.
func (w *world) add(session int, client, spelling string) error {
	w.Helper()
	uri, err := skill.ParseURI(spelling)
	if err != nil {
		w.Fatal(err)
	}
	return w.Add(w.Context(), session, client, w.view, uri, spelling)
}

// period waits for one period and returns its notifications.
func (w *world) period() []string {
	testwait.Advance(Period)
	w.disk.mu.Lock()
	defer w.disk.mu.Unlock()
	told := slices.Sorted(slices.Values(w.told))
	w.told = nil
	return told
}

// TestOneFile checks that all spellings of a URI count as one file, which is read once in a period
// for any number of sessions. Each session is notified with its own spelling.
func TestOneFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 100, 2)
		spellings := []string{"skill://claude-project/a/SKILL.md", "skill://claude-project/a/SKILL.MD"}
		for i := range 50 {
			must(t, w.add(i, fmt.Sprint(i), spellings[i%2]))
		}
		if n := w.Len(); n != 1 {
			t.Errorf("%d files, want one", n)
		}
		w.period()
		w.disk.change(func() { clear(w.disk.looks) })
		if told := w.period(); len(told) > 0 || w.disk.looks["a/SKILL.MD"] != 1 {
			t.Errorf("nothing has changed: notified %q, looks %v", told, w.disk.looks)
		}
		w.disk.change(func() { w.root.Put("a/SKILL.MD", skilltest.Document("a", "another")) })
		slices.Sort(spellings)
		if told := w.period(); len(told) != 50 || !slices.Equal(slices.Compact(told), spellings) {
			t.Errorf("notified %q, want %q of 25 each", told, spellings)
		}
		for i := range 50 {
			w.End(i)
		}
		if testwait.Advance(Period); w.Len() != 0 || w.running {
			t.Errorf("%d files are left, and checks go on: %v", w.Len(), w.running)
		}
	})
}

// TestShares checks the bounds: a session has MaxOwn subscriptions, a client leaves a quarter
// to others, and an ended subscription frees its place.
func TestShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 8, 2)
		taken := func(client string, first int) (n int) {
			for s := range 5 {
				before := n
				for i := range 3 {
					switch err := w.add(first+s, client, fmt.Sprintf("skill://claude-project/a/%d.txt", i+2*s%7)); {
					case err == nil:
						n++
					case !errors.Is(err, ErrTooMany):
						t.Fatal(err)
					}
				}
				if n > before+2 {
					t.Errorf("session %d of %s has %d subscriptions", first+s, client, n-before)
				}
			}
			return n
		}
		if n := taken("one", 0); n != 6 {
			t.Errorf("one client has %d of 8", n)
		}
		if n := taken("another", 10); n != 2 {
			t.Errorf("another client has %d of the other 2", n)
		}
		w.End(0)
		if n := taken("third", 20); n != 2 {
			t.Errorf("a third client has %d of the 2 that became free", n)
		}
		for s := range 30 {
			w.End(s)
		}
		testwait.Advance(Period)
	})
}

// TestUnreadableIsNoChange checks that no change is reported of a file that cannot be read for a
// while. Its deletion is reported as a change, and so is its return.
func TestUnreadableIsNoChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 8, 8)
		const uri = "skill://claude-project/a/0.txt"
		must(t, w.add(1, "one", uri))
		set := func(fault error) { w.disk.change(func() { w.disk.fault = fault }) }
		for _, fault := range []error{skill.ErrBusy, fs.ErrPermission, nil} {
			set(fault)
			if told := w.period(); len(told) > 0 {
				t.Errorf("the disk says %v: notified %q", fault, told)
			}
		}
		set(skill.ErrBusy)
		if err := w.add(2, "one", "skill://claude-project/a/1.txt"); err == nil || errors.Is(err, ErrNoFile) || !strings.Contains(err.Error(), "try again") {
			t.Errorf("a file that cannot be read now: %v", err)
		}
		set(nil)
		file := w.root.Files["a/0.txt"]
		w.disk.change(func() { delete(w.root.Files, "a/0.txt") })
		if told := w.period(); !slices.Equal(told, []string{uri}) {
			t.Errorf("deleted: notified %q", told)
		}
		if err := w.add(2, "one", uri); !errors.Is(err, ErrNoFile) {
			t.Errorf("a deleted file: %v", err)
		}
		w.disk.change(func() { w.root.Files["a/0.txt"] = file })
		if told := w.period(); !slices.Equal(told, []string{uri}) {
			t.Errorf("back again: notified %q", told)
		}
		w.End(1)
		testwait.Advance(Period)
	})
}

// TestSilentDisk checks that a file whose disk does not answer delays a subscription only for a
// while. It does not delay the notifications about files of other roots.
func TestSilentDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent, other := skilltest.Project(map[string]string{"a/SKILL.md": skilltest.Document("a", "d"), "a/x": "x"}), skilltest.Global(map[string]string{"b/SKILL.md": skilltest.Document("b", "d"), "b/x": "x"})
		s := &silentFS{FS: silent.FS}
		silent.FS = s
		var changing replacedFS
		changing.Store(&other.Files)
		other.FS = &changing
		c := skilltest.Catalog(t, silent, other)
		told := 0
		table := New(Options[int]{Period: Period, MaxFiles: 8, MaxOwn: 8, View: c.View, Changed: func(int, string) { told++ }})
		add := func(session int, text string) error {
			uri, err := skill.ParseURI(text)
			must(t, err)
			return table.Add(t.Context(), session, "one", skilltest.View(t, c), uri, text)
		}
		const x, y = "skill://claude-project/a/x", "skill://claude-user/b/x"
		must(t, errors.Join(add(1, x), add(1, y)))
		answer := make(chan struct{})
		s.answer.Store(&answer)
		testwait.Advance(2 * Period)
		files := maps.Clone(other.Files)
		files["b/x"] = &fstest.MapFile{Data: []byte("another"), Mode: 0o644}
		changing.Store(&files)
		testwait.Advance(4 * Period)
		if told != 1 {
			t.Errorf("%d notifications of the other root's file", told)
		}
		if err := add(2, x); !errors.Is(err, ErrUnread) {
			t.Errorf("a file on the disk: %v", err)
		}
		s.answer.Store(nil)
		close(answer)
		table.End(1)
		testwait.Advance(2 * Period)
	})
}

// replacedFS has files that are replaced while they are read.
type replacedFS struct{ atomic.Pointer[fstest.MapFS] }

func (r *replacedFS) Open(name string) (fs.File, error) { return r.Load().Open(name) }

// silentFS is a file system that opens no file until answer is closed.
type silentFS struct {
	fs.FS
	answer atomic.Pointer[chan struct{}]
}

func (s *silentFS) Open(name string) (fs.File, error) {
	if answer := s.answer.Load(); answer != nil {
		<-*answer
	}
	return s.FS.Open(name)
}
