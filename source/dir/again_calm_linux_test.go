package dir

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/knack-dev/knack/skill"
)

// calmTree is a tree with one skill some folders below its root, and the look at its
// file, made as the looks of answers are.
func calmTree(t *testing.T) (top string, f *folder, l *look) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	add(t, top, map[string]string{"above/root/group/skill/SKILL.md": "x"})
	time.Sleep(skill.StampRacy + 100*time.Millisecond)
	s := New(Options{Root: skill.Root{Label: "r", Dir: filepath.Join(top, "above/root")}})
	if _, ok := s.door.(kernelDoor); !ok {
		t.Skip("openat2 is not to be had here")
	}
	scan, err := s.Scan(t.Context())
	if err != nil || len(scan.Bundles) != 1 {
		t.Fatal(scan, err)
	}
	f = scan.Bundles[0].FS.(*folder)
	if f.dev == 0 {
		t.Skip("no file system that keeps stamps")
	}
	l = f.lookFor("SKILL.md")
	if l.stamp, err = f.Look("SKILL.md"); err != nil {
		t.Fatal(err)
	}
	l.byPath()
	return top, f, l
}

// calms makes the look until it relies on a calm.
func (l *look) calms(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if !l.same() {
			t.Fatal("nothing has changed, and the look says that something has")
		}
		if l.calmed() != nil && l.calmed().lasts() {
			return
		}
	}
	t.Fatal("no calm came")
}

// Whatever takes the place of a folder on the way, below the root or above it, is seen
// by a look that goes by path.
func TestCalm(t *testing.T) {
	top, f, l := calmTree(t)
	aside := filepath.Join(top, "aside")
	move := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	link := func(target, at string) {
		t.Helper()
		if err := os.Symlink(target, at); err != nil {
			t.Fatal(err)
		}
	}
	for _, at := range []string{"above", "above/root", "above/root/group", "above/root/group/skill"} {
		at = filepath.Join(top, at)
		for _, c := range []struct {
			name     string
			do, undo func()
		}{
			{"a link to where it is now takes its place", func() { move(at, aside); link(aside, at) }, func() { _ = os.Remove(at); move(aside, at) }},
			{"it changes places with a link to where it is now", func() {
				link(aside, aside)
				if err := unix.Renameat2(unix.AT_FDCWD, aside, unix.AT_FDCWD, at, unix.RENAME_EXCHANGE); err != nil {
					t.Fatal(err)
				}
			}, func() { _ = os.Remove(at); move(aside, at) }},
			{"it goes", func() { move(at, aside) }, func() { move(aside, at) }},
		} {
			// A folder that was moved has another stamp: what is looked at is the file.
			for _, shares := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s: %s, shared %t", strings.TrimPrefix(at, top), c.name, shares), func(t *testing.T) {
					same := f.Same([]string{"SKILL.md"}, []skill.Stamp{l.stamp})
					l.calms(t)
					ask := func() bool {
						if !shares {
							return same(nil)
						}
						var shared io.Closer
						defer func() {
							if shared != nil {
								shared.Close()
							}
						}()
						first, second := same(&shared), same(&shared)
						return first && second
					}
					for range 3 { // the first relies on the calm that there is
						if !ask() {
							t.Error("nothing has changed, and the look says that something has")
						}
					}
					if l.calmed() == nil || !l.calmed().lasts() {
						t.Fatal("the calm has ended") // or nothing is tried here
					}
					c.do()
					if ask() {
						t.Error("not seen")
					}
					if l.same() {
						t.Error("not seen by the look that is calm")
					}
					c.undo()
					if !ask() || !l.same() {
						t.Error("all is as it was, and the look says that it is not")
					}
				})
			}
		}
	}
}

// A calm that begins while a link lies on the way watches the folder that comes back in
// its place.
func TestCalmAfterALink(t *testing.T) {
	top, _, l := calmTree(t)
	at, aside := filepath.Join(top, "above/root/group"), filepath.Join(top, "aside")
	must(t, os.Rename(at, aside))
	must(t, os.Symlink(aside, at))
	tried := func() bool {
		calms.mu.Lock()
		defer calms.mu.Unlock()
		if calms.last == nil {
			return false
		}
		calms.last.mu.Lock()
		defer calms.last.mu.Unlock()
		w, known := calms.last.known[at]
		return known && w == watchedFolder{}
	}
	for end := time.Now().Add(patience); !tried(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("no calm has tried to watch what is a link")
		}
		if l.same() {
			t.Fatal("a link was followed")
		}
	}
	must(t, os.Remove(at))
	must(t, os.Rename(aside, at))
	l.calms(t)
}

// A folder that is deleted while somebody has it open, and made anew, is another one:
// the system tells nothing of it.
func TestCalmAfterDeletion(t *testing.T) {
	top, f, l := calmTree(t)
	at := filepath.Join(top, "above/root/group/skill")
	l.calms(t)
	held, err := os.Open(at)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := os.RemoveAll(at); err != nil {
		t.Fatal(err)
	}
	add(t, at, map[string]string{"SKILL.md": "new"})
	time.Sleep(skill.StampRacy + 100*time.Millisecond)
	again := f.lookFor("SKILL.md")
	if again.stamp, err = f.Look("SKILL.md"); err != nil {
		t.Fatal(err)
	}
	again.byPath()
	for end := time.Now().Add(3 * calmEvery); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if !again.same() {
			t.Fatal("nothing has changed, and the look says that something has")
		}
	}
	outside := filepath.Join(top, "outside")
	if err := os.Rename(at, outside); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, at); err != nil {
		t.Fatal(err)
	}
	if again.same() {
		t.Error("a link in place of the folder is followed")
	}
}

// A calm watches so many folders and no more; what it does not watch is looked at
// the long way.
func TestCalmIsBounded(t *testing.T) {
	top, _, l := calmTree(t)
	l.calms(t)
	c := l.calmed()
	for i := range mostCalm + 10 {
		name := filepath.Join(top, fmt.Sprint(i), "SKILL.md")
		if err := os.Mkdir(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		covered := c.covers(cString(name))
		if c.over.Load() {
			t.Fatal("the calm has ended")
		}
		if full := i >= mostCalm-strings.Count(top, "/"); full && covered {
			t.Fatalf("the folder %d is watched too", i)
		} else if i == 0 && !covered {
			t.Fatal("the first folder is not watched")
		}
	}
	watched, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", c.queue))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(watched), "inotify wd:"); n > mostCalm || n < mostCalm/2 {
		t.Errorf("%d folders are watched, and %d may be", n, mostCalm)
	}
	c.mu.Lock()
	c.end() // while somebody is at it
	if c.closed {
		t.Error("the queue is closed under who works with it")
	}
	if c.covers(cString(filepath.Join(top, "SKILL.md"))) {
		t.Error("it waits, or covers what it cannot")
	}
	c.mu.Unlock()
	if c.tidy(); !c.closed {
		t.Error("the queue is open")
	}
	if c.lasts() || l.calmed() != nil {
		t.Error("it has ended, and lasts")
	}
	if !l.same() {
		t.Error("the long way says that something has changed")
	}
}
