package dir

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir/internal/watch"
)

// watched runs a Watch whose pokes lead to scans, as in a catalogue. It returns a
// channel that gets the skills found after each scan.
func watched(t *testing.T, s *Source) <-chan string {
	t.Helper()
	found, stop := watching(t, s)
	t.Cleanup(stop)
	return found
}

// watching is like watched, but the caller stops it with the returned function.
func watching(t *testing.T, s *Source) (<-chan string, func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	poked, found := make(chan struct{}, 1), make(chan string, 100_000)
	done, scanned := make(chan struct{}), make(chan struct{})
	poke := func() {
		select {
		case poked <- struct{}{}:
		default:
		}
	}
	if _, err := s.Scan(ctx); err != nil {
		t.Fatal(err)
	}
	go func() { s.Watch(ctx, poke); close(done) }()
	go func() {
		defer close(scanned)
		for range poked {
			if scan, err := s.Scan(ctx); err == nil {
				found <- strings.Join(paths(scan), " ")
			}
		}
	}()
	return found, sync.OnceFunc(func() { cancel(); <-done; close(poked); <-scanned })
}

// patience is how long a test waits for an event that must come.
const patience = 30 * time.Second

// settled receives scans until 50 ms pass without one.
func settled(found ...<-chan string) {
	for _, f := range found {
		for quiet := false; !quiet; {
			select {
			case <-f:
			case <-time.After(50 * time.Millisecond):
				quiet = true
			}
		}
	}
}

func expect(t *testing.T, found <-chan string, want string) {
	t.Helper()
	timeout := time.After(patience)
	last := "nothing"
	for {
		select {
		case last = <-found:
			if last == want {
				return
			}
		case <-timeout:
			t.Fatalf("saw %q, waited for %q", last, want)
		}
	}
}

// TestWatchSeesWhatChangedBefore checks that Watch reports a change that comes after the first scan
// and before the folders are watched.
func TestWatchSeesWhatChangedBefore(t *testing.T) {
	root := tree(t, map[string]string{"a/SKILL.md": "x"})
	s := source(pickOpener(), root)
	_, err := s.Scan(t.Context())
	must(t, err)
	add(t, root, map[string]string{"b/SKILL.md": "x"})
	poked, ended := make(chan struct{}, 1), make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	go func() { s.Watch(ctx, func() { poked <- struct{}{} }); close(ended) }()
	select {
	case <-poked:
	case <-time.After(patience):
		t.Error("a change between the scan and the watch goes unseen")
	}
	stop()
	<-ended
}

// TestWatchUnreadable checks that the watch of a root that cannot be read begins after the first
// scan, although that scan has failed.
func TestWatchUnreadable(t *testing.T) {
	root := tree(t, map[string]string{"loop": "->loop"})
	s := source(pickOpener(), filepath.Join(root, "loop"))
	if _, err := s.Scan(t.Context()); err == nil {
		t.Fatal("a root that is a link to itself was scanned")
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { s.Watch(ctx, func() {}); close(ended) }()
	until(t, "an answer of the watch", func() bool { on, reason := s.Watching(); return on || reason != "" })
	stop()
	<-ended
}

func TestWatch(t *testing.T) {
	base := tree(t, map[string]string{"r/a/SKILL.md": "x", "out/SKILL.md": "x", "r/l": "->../out"})
	root := filepath.Join(base, "r")
	s := source(pickOpener(), root)
	found := watched(t, s)
	expect(t, found, "a l")
	if on, reason := s.Watching(); !on {
		t.Fatal(reason)
	}

	add(t, root, map[string]string{"b/c/d/SKILL.md": "x"}) // new folders in new folders
	expect(t, found, "a b/c/d l")
	add(t, root, map[string]string{"b/c/d/n/SKILL.md": "x"})
	expect(t, found, "a b/c/d b/c/d/n l")
	add(t, base, map[string]string{"out/n/SKILL.md": "x"}) // in a link's target
	expect(t, found, "a b/c/d b/c/d/n l l/n")
	must(t, os.Remove(filepath.Join(root, "l")))
	expect(t, found, "a b/c/d b/c/d/n")
	must(t, os.Rename(filepath.Join(root, "b"), filepath.Join(root, "z")))
	expect(t, found, "a z/c/d z/c/d/n")
	add(t, root, map[string]string{"z/c/d/n/o/SKILL.md": "x"}) // below the renamed folder
	expect(t, found, "a z/c/d z/c/d/n z/c/d/n/o")
	must(t, os.RemoveAll(filepath.Join(root, "z")))
	expect(t, found, "a")
	// Another folder takes a's place before the next scan.
	add(t, base, map[string]string{"new/SKILL.md": "x"})
	must(t, os.Rename(filepath.Join(root, "a"), filepath.Join(base, "old")))
	must(t, os.Rename(filepath.Join(base, "new"), filepath.Join(root, "a")))
	settled(found)
	add(t, root, map[string]string{"a/n/SKILL.md": "x"})
	expect(t, found, "a a/n")
	must(t, os.RemoveAll(filepath.Join(root, "a/n")))
	expect(t, found, "a")
	must(t, os.WriteFile(filepath.Join(root, "a/SKILL.md"), []byte("changed"), 0o644))
	expect(t, found, "a")
}

func TestWatchRootThatComesAndGoes(t *testing.T) {
	base := tree(t, nil)
	root := filepath.Join(base, ".claude", "skills")
	s := source(pickOpener(), root)
	found := watched(t, s)
	expect(t, found, "")
	add(t, root, map[string]string{"a/SKILL.md": "x"})
	expect(t, found, "a")
	must(t, os.RemoveAll(filepath.Join(base, ".claude")))
	expect(t, found, "")
	add(t, root, map[string]string{"b/SKILL.md": "x"})
	expect(t, found, "b")
}

func TestWatchFallsBackToPolling(t *testing.T) {
	defer func(d time.Duration) { pollInterval = d }(pollInterval)
	pollInterval = 10 * time.Millisecond
	root := tree(t, map[string]string{"a/SKILL.md": "x", "b/SKILL.md": "x"})
	t.Run("poll", func(t *testing.T) {
		s := source(pickOpener(), root, shared(watch.New(2)))
		found := watched(t, s)
		expect(t, found, "a b")
		if on, reason := s.Watching(); on || !strings.Contains(reason, "3 folders are more than the 2") {
			t.Error(on, reason)
		}
		add(t, root, map[string]string{"c/SKILL.md": "x"})
		expect(t, found, "a b c")
	})
}

// TestWatchRequiredRootThatComesAndGoes checks that a required root that reappears is served again,
// although its absence is an error.
func TestWatchRequiredRootThatComesAndGoes(t *testing.T) {
	base := tree(t, map[string]string{"r/a/SKILL.md": "x"})
	root := filepath.Join(base, "r")
	s := New(Options{Root: skill.Root{Dir: root}, Required: true})
	found := watched(t, s)
	expect(t, found, "a")
	must(t, os.RemoveAll(root))
	add(t, root, map[string]string{"b/SKILL.md": "x"})
	expect(t, found, "b")
	// A file takes the place of the root for a while.
	must(t, os.RemoveAll(root))
	must(t, os.WriteFile(root, nil, 0o644))
	settled(found)
	must(t, os.Remove(root))
	add(t, root, map[string]string{"c/SKILL.md": "x"})
	expect(t, found, "c")
}

// TestWatchAfterScan checks that a source is not watched before the first scan has ended. Until
// then its disk may not answer, and a call that waits for it would delay the watches of all roots.
func TestWatchAfterScan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Root: skill.Root{Label: "late", Dir: filepath.Join(string(filepath.Separator), "nowhere")}})
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			s.Watch(ctx, func() {})
			close(ended)
		}()
		synctest.Wait()
		if on, why := s.Watching(); on || why != "" {
			t.Errorf("before its first scan, the source watches (%v), or says %q", on, why)
		}
		end()
		<-ended
	})
}
