package dir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/knack-dev/knack/internal/testwait"
)

func shared(w *Watches) func(*Options) { return func(o *Options) { o.Watches = w } }

// holds counts the watched folders and their uses.
func (w *Watches) holds() (folders, uses int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.spots {
		uses += len(s.uses)
	}
	return len(w.spots), uses
}

func (w *Watches) open() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fw != nil
}

// until waits for a condition that another goroutine fulfils.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	testwait.Until(t, ok, what)
}

func isOn(s *Source) func() bool {
	return func() bool { on, _ := s.Watching(); return on }
}

// Two sources on the same folders have one watch for each folder. If one source gives a
// watch back, the other keeps it.
func TestWatchesAreCounted(t *testing.T) {
	root := tree(t, map[string]string{"a/SKILL.md": "x", "b/SKILL.md": "x"})
	w := NewWatches()
	var found []<-chan string
	var stops []func()
	for range 2 {
		f, stop := watching(t, source(pickDoor(), root, shared(w)))
		t.Cleanup(stop)
		expect(t, f, "a b")
		found, stops = append(found, f), append(stops, stop)
	}
	count := func(folders, uses int) func() bool {
		return func() bool { f, u := w.holds(); return f == folders && u == uses }
	}
	until(t, "3 folders, used twice", count(3, 6))
	add(t, root, map[string]string{"c/SKILL.md": "x"})
	expect(t, found[0], "a b c")
	expect(t, found[1], "a b c")
	until(t, "4 folders, used twice", count(4, 8))
	must(t, os.RemoveAll(filepath.Join(root, "a")))
	expect(t, found[0], "b c")
	expect(t, found[1], "b c")
	until(t, "a forgotten", count(3, 6))

	stops[0]()
	until(t, "the first one's uses given back", count(3, 3))
	add(t, root, map[string]string{"d/SKILL.md": "x"})
	expect(t, found[1], "b c d")
	stops[1]()
	if folders, uses := w.holds(); folders != 0 || uses != 0 || w.open() {
		t.Errorf("%d folders and %d uses are left", folders, uses)
	}

	again := watched(t, source(pickDoor(), root, shared(w)))
	expect(t, again, "b c d")
	add(t, root, map[string]string{"e/SKILL.md": "x"})
	expect(t, again, "b c d e")
}

// Two roots that are missing beside each other, as in a home folder, have one watch.
// Neither is poked by events that concern the other.
func TestWatchesMissingRootsShareTheirParent(t *testing.T) {
	home := tree(t, nil)
	w := NewWatches()
	one := watched(t, source(pickDoor(), filepath.Join(home, ".one", "skills"), shared(w)))
	two := watched(t, source(pickDoor(), filepath.Join(home, ".two", "skills"), shared(w)))
	expect(t, one, "")
	expect(t, two, "")
	until(t, "one folder, used twice", func() bool { f, u := w.holds(); return f == 1 && u == 2 })
	settled(two)
	add(t, home, map[string]string{".one/skills/a/SKILL.md": "x"})
	expect(t, one, "a")
	if len(two) > 0 {
		t.Error("the other root was scanned")
	}
	add(t, home, map[string]string{".two/skills/b/SKILL.md": "x"})
	expect(t, two, "b")
}

// A source that does not fit polls and says so. The others keep their watches, and the
// watches that they give back are used.
func TestWatchesBound(t *testing.T) {
	defer func(n int, d time.Duration) { maxWatches, pollEvery = n, d }(maxWatches, pollEvery)
	maxWatches, pollEvery = 4, 20*time.Millisecond
	base := tree(t, map[string]string{"small/a/SKILL.md": "x", "big/a/SKILL.md": "x", "big/b/SKILL.md": "x"})
	w := NewWatches()
	t.Run("bound", func(t *testing.T) {
		small := source(pickDoor(), filepath.Join(base, "small"), shared(w))
		big := source(pickDoor(), filepath.Join(base, "big"), shared(w))
		inSmall, stop := watching(t, small)
		t.Cleanup(stop)
		until(t, "the small one", isOn(small))
		inBig := watched(t, big)
		expect(t, inBig, "a b")
		on, reason := big.Watching()
		if want := "3 folders are more than the 2 that may still be watched"; on || reason != want {
			t.Errorf("%t, %q; want %q", on, reason, want)
		}
		add(t, base, map[string]string{"big/c/SKILL.md": "x"})
		expect(t, inBig, "a b c")
		if !isOn(small)() {
			t.Error("the small one lost its watches")
		}
		add(t, base, map[string]string{"small/b/SKILL.md": "x", "small/c/SKILL.md": "x"})
		expect(t, inSmall, "a b c") // now 4 folders: the bound itself
		if f, _ := w.holds(); f > maxWatches {
			t.Errorf("%d folders are watched", f)
		}
		stop()
		until(t, "room for the big one", isOn(big))
	})
}

// A new folder is not watched beyond the bound, not even until the scan.
func TestWatchesBoundBeforeTheScan(t *testing.T) {
	defer func(n int) { maxWatches = n }(maxWatches)
	maxWatches = 1
	root := tree(t, map[string]string{"a/": ""})
	w, f := silent(t), newFollower(root)
	w.followers[f] = true
	_, err := w.want(f, []string{root})
	must(t, err)
	w.event(w.fw, fsnotify.Event{Name: filepath.Join(root, "a"), Op: fsnotify.Create})
	if folders, _ := w.holds(); folders != 1 || len(f.poked) != 1 {
		t.Errorf("%d folders are watched, %d pokes", folders, len(f.poked))
	}
}

// A root can appear after the scan that missed it, and before its place is watched.
// Changes in it must then not go unseen until the next scan.
func TestWatchesRootAfterTheScan(t *testing.T) {
	base := tree(t, map[string]string{"r/a/": "", "r/.git/": "", "other/": ""})
	root := filepath.Join(base, "r")
	w, f := silent(t), newFollower(root)
	w.followers[f] = true
	_, err := w.want(f, nil)
	must(t, err)
	for path, want := range map[string]int{"r/a": 1, "r/.git": 0, "other": 0} {
		w.event(w.fw, fsnotify.Event{Name: filepath.Join(base, path), Op: fsnotify.Create})
		if got := len(f.poked); got != want || (f.at[filepath.Join(base, path)] != nil) != (want > 0) {
			t.Errorf("%s: %d pokes, watched: %v", path, got, f.at)
		}
		for len(f.poked) > 0 {
			<-f.poked
		}
	}
}

// A failure of the watcher itself reaches every follower.
func TestWatchesTrouble(t *testing.T) {
	defer func(d time.Duration) { pollEvery = d }(pollEvery)
	pollEvery = 10 * time.Millisecond
	t.Run("trouble", func(t *testing.T) {
		w := NewWatches()
		root := tree(t, map[string]string{"a/SKILL.md": "x"})
		one, two := source(pickDoor(), root, shared(w)), source(pickDoor(), root, shared(w))
		found := watched(t, one)
		watched(t, two)
		until(t, "both", func() bool { return isOn(one)() && isOn(two)() })
		w.mu.Lock()
		fw := w.fw
		w.mu.Unlock()
		for _, err := range []error{fsnotify.ErrEventOverflow, syscall.EINVAL} {
			w.trouble(fw, err)
			if testwait.Within(20*time.Millisecond, func() bool { return !isOn(one)() || !isOn(two)() }) {
				t.Errorf("%v ends the watch", err)
			}
		}
		w.trouble(fw, errors.New("it burns"))
		for _, s := range []*Source{one, two} {
			until(t, "a reason", func() bool { on, reason := s.Watching(); return !on && reason == "it burns" })
		}
		if w.open() {
			t.Error("the watcher is still open")
		}
		add(t, root, map[string]string{"b/SKILL.md": "x"})
		expect(t, found, "a b")
	})
}

// silent is a Watches whose events are lost, as when the queue overflows.
func silent(t *testing.T) *Watches {
	fw, err := fsnotify.NewWatcher()
	must(t, err)
	go func() {
		for range fw.Events {
		}
	}()
	go func() {
		for range fw.Errors {
		}
	}()
	t.Cleanup(func() { fw.Close() })
	w := NewWatches()
	w.fw = fw
	return w
}

// After an overflow, a folder may have been replaced without an event.
func TestWatchesOverflow(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a folder has no identity there")
	}
	base := tree(t, map[string]string{"r/a/": "", "r/b/": "", "new/": ""})
	at := func(p string) string { return filepath.Join(base, p) }
	w, f := silent(t), newFollower(at("r"))
	w.followers[f] = true
	_, err := w.want(f, []string{at("r"), at("r/a"), at("r/b")})
	must(t, err)
	must(t, os.Rename(at("r/a"), at("old")))
	must(t, os.Rename(at("new"), at("r/a")))
	w.trouble(w.fw, fsnotify.ErrEventOverflow)
	if f.at[at("r/a")] != nil || f.at[at("r/b")] == nil || w.spots[at("r/a")] != nil {
		t.Error("the watch of a folder that was replaced was kept, or another lost")
	}
	select {
	case <-f.poked:
	default:
		t.Error("no poke")
	}
}

// A scan sees a folder by its new name before the event of its move arrives. The system
// knows one watch for both names, and ends it with the old one.
func TestWatchesMovedFolder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a folder has no identity there")
	}
	base := tree(t, map[string]string{"r/a/": ""})
	at := func(p string) string { return filepath.Join(base, p) }
	w, f := silent(t), newFollower(at("r"))
	w.followers[f] = true
	_, err := w.want(f, []string{at("r"), at("r/a")})
	must(t, err)
	must(t, os.Rename(at("r/a"), at("r/b")))
	w.mu.Lock()
	_, err = w.add(f, at("r/b"))
	w.mu.Unlock()
	must(t, err)
	w.event(w.fw, fsnotify.Event{Name: at("r/a"), Op: fsnotify.Rename})
	if f.at[at("r/a")] != nil || f.at[at("r/b")] != nil {
		t.Errorf("a watch that has ended is relied on: %v", f.at)
	}
	added, err := w.want(f, []string{at("r"), at("r/b")})
	must(t, err)
	if !added || f.at[at("r/b")] == nil {
		t.Error("the folder is not watched by its new name")
	}
}

// No event tells of folders that have gone since the scan, so the scan must be
// repeated. The existing folders stay watched.
func TestWatchesGoneFolder(t *testing.T) {
	base := tree(t, map[string]string{"r/a/": "", "r/file": "x"})
	at := func(p string) string { return filepath.Join(base, p) }
	for _, gone := range []string{"r/gone", "r/file"} {
		w, f := silent(t), newFollower(at("r"))
		w.followers[f] = true
		_, err := w.want(f, []string{at("r"), at("r/a")})
		must(t, err)
		for _, unseen := range []bool{true, false} {
			dirs := []string{at("r"), at("r/a")}
			if unseen {
				dirs = append(dirs, at(gone))
			}
			changed, err := w.want(f, dirs)
			must(t, err)
			if changed != unseen {
				t.Errorf("%v: changed = %v", dirs, changed)
			}
		}
		if len(f.at) != 2 {
			t.Errorf("%s: watched are %v", gone, f.at)
		}
	}
}

// Sources come and go, as when a client changes its roots.
func TestWatchesComeAndGo(t *testing.T) {
	base := tree(t, nil)
	w := NewWatches()
	var stops []func()
	for i := range 60 {
		root := fmt.Sprintf("r%d", i%5)
		add(t, base, map[string]string{root + fmt.Sprintf("/s%d/SKILL.md", i): "x"})
		found, stop := watching(t, source(pickDoor(), filepath.Join(base, root), shared(w)))
		go func() {
			for range found {
			}
		}()
		stops = append(stops, stop)
		if i >= 10 {
			must(t, os.RemoveAll(filepath.Join(base, root, fmt.Sprintf("s%d", i-10))))
			stops[i-10]()
		}
	}
	for _, stop := range stops {
		stop()
	}
	if folders, uses := w.holds(); folders != 0 || uses != 0 || w.open() || len(w.ids) != 0 || len(w.followers) != 0 {
		t.Errorf("left: %d folders, %d uses, %d ids, %d followers", folders, uses, len(w.ids), len(w.followers))
	}
}

// A link on the way to a root, or in its place, is noticed at once if its target
// changes. This holds in place of the root itself or further up, for an existing or a
// missing root. Other events beside it are not reported.
func TestWatchesSeeLinksRetargeted(t *testing.T) {
	base := tree(t, map[string]string{
		"one/a/SKILL.md": "x", "two/b/SKILL.md": "x", "one/deep/skills/c/SKILL.md": "x", "two/deep/skills/d/SKILL.md": "x",
		"three/": "", "three/other/e/SKILL.md": "x",
		"links/root": "->../one", "links/chain": "->mid", "links/mid": "->" + "../one", "links/up": "->../one/deep", "links/gone": "->../three",
	})
	at := func(name string) string { return filepath.Join(base, filepath.FromSlash(name)) }
	retarget := func(name, target string) {
		t.Helper()
		must(t, os.Symlink(target, at(name+".new")))
		must(t, os.Rename(at(name+".new"), at(name)))
	}
	w := NewWatches()
	root := watched(t, source(pickDoor(), at("links/root"), shared(w)))
	chain := watched(t, source(pickDoor(), at("links/chain"), shared(w)))
	up := watched(t, source(pickDoor(), at("links/up/skills"), shared(w)))
	missing := watched(t, source(pickDoor(), at("links/gone/other/e/none"), shared(w)))
	expect(t, root, "a deep/skills/c")
	expect(t, chain, "a deep/skills/c")
	expect(t, up, "c")
	expect(t, missing, "")
	settled(root, chain, up, missing)
	add(t, base, map[string]string{"links/unrelated": "x"})
	testwait.Within(50*time.Millisecond, func() bool { return len(root)+len(chain)+len(up)+len(missing) > 0 })
	for i, found := range []<-chan string{root, chain, up, missing} {
		if len(found) > 0 {
			t.Errorf("root %d was scanned for what is beside its link", i)
		}
	}
	retarget("links/root", "../two")
	expect(t, root, "b deep/skills/d")
	retarget("links/mid", "../two")
	expect(t, chain, "b deep/skills/d")
	retarget("links/up", "../two/deep")
	expect(t, up, "d")
	add(t, base, map[string]string{"four/other/e/none/f/SKILL.md": "x"})
	retarget("links/gone", "../four")
	expect(t, missing, "f")
	// From now on the new place is watched.
	add(t, base, map[string]string{"two/g/SKILL.md": "x"})
	expect(t, root, "b deep/skills/d g")
}
