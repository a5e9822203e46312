package dir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/source/dir/internal/watch"
)

func shared(w *Watches) func(*Options) { return func(o *Options) { o.Watches = w } }

// until waits for a condition that another goroutine fulfils.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	testwait.Until(t, ok, what)
}

func isOn(s *Source) func() bool {
	return func() bool { on, _ := s.Watching(); return on }
}

// TestWatchesAreCounted checks that two sources of the same folders share one watch for each
// folder. If one source ends its use of a watch, the other source keeps the watch.
func TestWatchesAreCounted(t *testing.T) {
	root := tree(t, map[string]string{"a/SKILL.md": "x", "b/SKILL.md": "x"})
	w := NewWatches()
	var found []<-chan string
	var stops []func()
	for range 2 {
		f, stop := watching(t, source(pickOpener(), root, shared(w)))
		t.Cleanup(stop)
		expect(t, f, "a b")
		found, stops = append(found, f), append(stops, stop)
	}
	count := func(folders, uses int) func() bool {
		return func() bool { f, u := w.Watched(); return f == folders && u == uses }
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
	if folders, uses := w.Watched(); folders != 0 || uses != 0 {
		t.Errorf("%d folders and %d uses are left", folders, uses)
	}

	again := watched(t, source(pickOpener(), root, shared(w)))
	expect(t, again, "b c d")
	add(t, root, map[string]string{"e/SKILL.md": "x"})
	expect(t, again, "b c d e")
}

// TestWatchesMissingRootsShareTheirParent checks that two missing roots in the same parent, such as
// a home folder, share one watch. Neither root is poked by events that concern the other.
func TestWatchesMissingRootsShareTheirParent(t *testing.T) {
	home := tree(t, nil)
	w := NewWatches()
	one := watched(t, source(pickOpener(), filepath.Join(home, ".one", "skills"), shared(w)))
	two := watched(t, source(pickOpener(), filepath.Join(home, ".two", "skills"), shared(w)))
	expect(t, one, "")
	expect(t, two, "")
	until(t, "one folder, used twice", func() bool { f, u := w.Watched(); return f == 1 && u == 2 })
	settled(two)
	add(t, home, map[string]string{".one/skills/a/SKILL.md": "x"})
	expect(t, one, "a")
	if len(two) > 0 {
		t.Error("the other root was scanned")
	}
	add(t, home, map[string]string{".two/skills/b/SKILL.md": "x"})
	expect(t, two, "b")
}

// TestWatchesBound checks that a source polls if it has more folders than may still be watched, and
// reports the reason. Other sources keep their watches, and once one of them ends, its watches can
// be used.
func TestWatchesBound(t *testing.T) {
	defer func(d time.Duration) { pollInterval = d }(pollInterval)
	pollInterval = 20 * time.Millisecond
	base := tree(t, map[string]string{"small/a/SKILL.md": "x", "big/a/SKILL.md": "x", "big/b/SKILL.md": "x"})
	const bound = 4
	w := watch.New(bound)
	t.Run("bound", func(t *testing.T) {
		small := source(pickOpener(), filepath.Join(base, "small"), shared(w))
		big := source(pickOpener(), filepath.Join(base, "big"), shared(w))
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
		if f, _ := w.Watched(); f > bound {
			t.Errorf("%d folders are watched", f)
		}
		stop()
		until(t, "room for the big one", isOn(big))
	})
}

// TestWatchesFail checks that a failure of the watcher itself reaches every source, and that the
// sources then poll.
func TestWatchesFail(t *testing.T) {
	defer func(d time.Duration) { pollInterval = d }(pollInterval)
	pollInterval = 10 * time.Millisecond
	t.Run("fail", func(t *testing.T) {
		w := NewWatches()
		root := tree(t, map[string]string{"a/SKILL.md": "x"})
		one, two := source(pickOpener(), root, shared(w)), source(pickOpener(), root, shared(w))
		found := watched(t, one)
		watched(t, two)
		until(t, "both", func() bool { return isOn(one)() && isOn(two)() })
		w.Fail(errors.New("it burns"))
		for _, s := range []*Source{one, two} {
			until(t, "a reason", func() bool { on, reason := s.Watching(); return !on && reason == "it burns" })
		}
		add(t, root, map[string]string{"b/SKILL.md": "x"})
		expect(t, found, "a b")
	})
}

// TestWatchesComeAndGo checks that no watch is left after sources have come and gone, as when a
// client changes its roots.
func TestWatchesComeAndGo(t *testing.T) {
	base := tree(t, nil)
	w := NewWatches()
	var stops []func()
	for i := range 60 {
		root := fmt.Sprintf("r%d", i%5)
		add(t, base, map[string]string{root + fmt.Sprintf("/s%d/SKILL.md", i): "x"})
		found, stop := watching(t, source(pickOpener(), filepath.Join(base, root), shared(w)))
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
	if folders, uses := w.Watched(); folders != 0 || uses != 0 {
		t.Errorf("left: %d folders, %d uses", folders, uses)
	}
}

// TestWatchesSeeLinksRetargeted checks that a source immediately notices a new target of a link on
// the way to its root. The link may be the root itself or a folder above, and the root may be
// missing. Other events beside the link are not reported.
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
	root := watched(t, source(pickOpener(), at("links/root"), shared(w)))
	chain := watched(t, source(pickOpener(), at("links/chain"), shared(w)))
	up := watched(t, source(pickOpener(), at("links/up/skills"), shared(w)))
	missing := watched(t, source(pickOpener(), at("links/gone/other/e/none"), shared(w)))
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
