package watch

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/fsnotify/fsnotify"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tree makes a folder with the given files. A name that ends in a slash makes a folder.
func tree(t *testing.T, names ...string) string {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	for _, name := range names {
		at := filepath.Join(base, filepath.FromSlash(name))
		if strings.HasSuffix(name, "/") {
			must(t, os.MkdirAll(at, 0o755))
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(at), 0o755))
		must(t, os.WriteFile(at, []byte("x"), 0o644))
	}
	return base
}

// silent is a Watcher whose events are lost, as when the queue overflows.
func silent(t *testing.T) *Watcher {
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
	w := New(DefaultMax)
	w.fw = fw
	return w
}

// TestBoundBeforeTheScan checks that a new folder beyond the bound is not watched, not even until
// the next scan.
func TestBoundBeforeTheScan(t *testing.T) {
	root := tree(t, "a/")
	w := silent(t)
	w.max = 1
	r := w.add(root)
	_, err := r.Set([]string{root})
	must(t, err)
	w.event(w.fw, fsnotify.Event{Name: filepath.Join(root, "a"), Op: fsnotify.Create})
	if folders, _ := w.Watched(); folders != 1 || len(r.poked) != 1 {
		t.Errorf("%d folders are watched, %d pokes", folders, len(r.poked))
	}
}

// TestRootAfterTheScan checks that changes in a root are seen if it appears between the scan that
// missed it and the watch on its place.
func TestRootAfterTheScan(t *testing.T) {
	base := tree(t, "r/a/", "r/.git/", "other/")
	root := filepath.Join(base, "r")
	w := silent(t)
	r := w.add(root)
	_, err := r.Set(nil)
	must(t, err)
	for path, want := range map[string]int{"r/a": 1, "r/.git": 0, "other": 0} {
		w.event(w.fw, fsnotify.Event{Name: filepath.Join(base, path), Op: fsnotify.Create})
		if got := len(r.poked); got != want || (r.at[filepath.Join(base, path)] != nil) != (want > 0) {
			t.Errorf("%s: %d pokes, watched: %v", path, got, r.at)
		}
		for len(r.poked) > 0 {
			<-r.poked
		}
	}
}

// TestOverflow checks that an overflow ends the watch of a folder that was replaced meanwhile, and
// no other. No event reports such a replacement.
func TestOverflow(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a folder has no identity there")
	}
	base := tree(t, "r/a/", "r/b/", "new/")
	at := func(p string) string { return filepath.Join(base, p) }
	w := silent(t)
	r := w.add(at("r"))
	_, err := r.Set([]string{at("r"), at("r/a"), at("r/b")})
	must(t, err)
	must(t, os.Rename(at("r/a"), at("old")))
	must(t, os.Rename(at("new"), at("r/a")))
	w.handle(w.fw, fsnotify.ErrEventOverflow)
	if r.at[at("r/a")] != nil || r.at[at("r/b")] == nil || w.watched[at("r/a")] != nil {
		t.Error("the watch of a folder that was replaced was kept, or another lost")
	}
	select {
	case <-r.poked:
	default:
		t.Error("no poke")
	}
}

// TestMovedFolder checks that a moved folder is watched again. A scan may see the folder by its new
// name before the event of the move arrives. The system has one watch for both names, and ends it
// with the old name.
func TestMovedFolder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a folder has no identity there")
	}
	base := tree(t, "r/a/")
	at := func(p string) string { return filepath.Join(base, p) }
	w := silent(t)
	r := w.add(at("r"))
	_, err := r.Set([]string{at("r"), at("r/a")})
	must(t, err)
	must(t, os.Rename(at("r/a"), at("r/b")))
	w.mu.Lock()
	_, err = w.use(r, at("r/b"))
	w.mu.Unlock()
	must(t, err)
	w.event(w.fw, fsnotify.Event{Name: at("r/a"), Op: fsnotify.Rename})
	if r.at[at("r/a")] != nil || r.at[at("r/b")] != nil {
		t.Errorf("a watch that has ended is relied on: %v", r.at)
	}
	added, err := r.Set([]string{at("r"), at("r/b")})
	must(t, err)
	if !added || r.at[at("r/b")] == nil {
		t.Error("the folder is not watched by its new name")
	}
}

// TestGoneFolder checks that Set reports a change if a folder has disappeared after the scan, since
// no event does. The existing folders stay watched.
func TestGoneFolder(t *testing.T) {
	base := tree(t, "r/a/", "r/file")
	at := func(p string) string { return filepath.Join(base, p) }
	for _, gone := range []string{"r/gone", "r/file"} {
		w := silent(t)
		r := w.add(at("r"))
		_, err := r.Set([]string{at("r"), at("r/a")})
		must(t, err)
		for _, unseen := range []bool{true, false} {
			dirs := []string{at("r"), at("r/a")}
			if unseen {
				dirs = append(dirs, at(gone))
			}
			changed, err := r.Set(dirs)
			must(t, err)
			if changed != unseen {
				t.Errorf("%v: changed = %v", dirs, changed)
			}
		}
		if len(r.at) != 2 {
			t.Errorf("%s: watched are %v", gone, r.at)
		}
	}
}

// TestFailure checks that a failure of the system's watcher closes the watcher and reaches every
// root. An error that the watcher survives reaches no root.
func TestFailure(t *testing.T) {
	w := silent(t)
	base := tree(t, "a/")
	one, two := w.add(base), w.add(base)
	for _, r := range []*Root{one, two} {
		_, err := r.Set([]string{base})
		must(t, err)
	}
	for _, err := range []error{fsnotify.ErrEventOverflow, syscall.EINVAL} {
		w.handle(w.fw, err)
		if len(one.failed)+len(two.failed) > 0 || w.fw == nil {
			t.Errorf("%v ends the watch", err)
		}
	}
	fire := errors.New("it burns")
	w.handle(w.fw, fire)
	for _, r := range []*Root{one, two} {
		if len(r.failed) != 1 || <-r.failed != fire {
			t.Error("a root was not told why its watch ended")
		}
	}
	if folders, uses := w.Watched(); folders+uses > 0 || w.fw != nil {
		t.Error("the watcher is still open")
	}
}
