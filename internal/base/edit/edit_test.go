package edit

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/knack-dev/knack/internal/test/difftest"
	"github.com/knack-dev/knack/internal/test/testwait"
)

func put(t *testing.T, name, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// holds checks the content of a file, and that its folder has no other file.
func holds(t *testing.T, path, want string) {
	t.Helper()
	if data, err := os.ReadFile(path); err != nil || string(data) != want {
		t.Errorf("the file holds %q (%v), want %q", data, err, want)
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("something is left beside it: %v", entries)
	}
}

func TestReplace(t *testing.T) {
	path := put(t, "a", "old", 0o640)
	if err := Replace(path, []byte("old"), []byte("new\r\n")); err != nil {
		t.Fatal(err)
	}
	holds(t, path, "new\r\n")
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestReplaceRefuses(t *testing.T) {
	changed, readOnly := put(t, "a", "other", 0o644), put(t, "a", "old", 0o444)
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	target := put(t, "target", "old", 0o644)
	if err := os.Symlink(target, link); err != nil {
		t.Skip(err)
	}
	for path, want := range map[string]error{
		changed: ErrChanged, readOnly: ErrReadOnly, dir: ErrIrregular, link: errLink, filepath.Join(dir, "none"): os.ErrNotExist,
	} {
		if err := Replace(path, []byte("old"), []byte("new")); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", filepath.Base(path), err, want)
		}
	}
	holds(t, changed, "other")
	holds(t, readOnly, "old")
	holds(t, target, "old")
	if fi, err := os.Lstat(link); err != nil || fi.Mode()&os.ModeSymlink == 0 {
		t.Error("the link is gone")
	}
}

// TestCreate checks that a new file is made completely, with the folders above it, and only if its
// path does not exist.
func TestCreate(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a", "b", "c")
	if err := Create(path, []byte("new"), 0o640); err != nil {
		t.Fatal(err)
	}
	holds(t, path, "new")
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm()&^0o640 != 0 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := Create(path, []byte("newer"), 0o640); !errors.Is(err, ErrExists) {
		t.Errorf("over a file: %v", err)
	}
	holds(t, path, "new")
	if err := Create(filepath.Join(path, "d"), nil, 0o600); err == nil || errors.Is(err, ErrExists) {
		t.Errorf("below a file: %v", err)
	}
	gone := filepath.Join(dir, "gone")
	if err := os.Symlink("nowhere", gone); err != nil {
		t.Skip(err)
	}
	if err := Create(gone, nil, 0o600); !errors.Is(err, ErrExists) {
		t.Errorf("over a link that leads nowhere: %v", err)
	}
}

// TestCreateAtOnce checks that exactly one of many concurrent calls creates a file, and that the
// others return ErrExists.
func TestCreateAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	var wg sync.WaitGroup
	var made atomic.Int32
	var by atomic.Value
	for i := range 20 {
		wg.Go(func() {
			text := strings.Repeat(string(rune('a'+i)), 10_000)
			switch err := Create(path, []byte(text), 0o600); {
			case err == nil:
				made.Add(1)
				by.Store(text)
			case !errors.Is(err, ErrExists):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := made.Load(); n != 1 {
		t.Fatalf("%d made it", n)
	}
	holds(t, path, by.Load().(string))
}

func TestBackup(t *testing.T) {
	path := put(t, "f", "now", 0o640)
	for _, want := range []string{"f.bak", "f.bak1", "f.bak2"} {
		backup, isNew, err := Backup(path, []byte(want))
		if data, _ := os.ReadFile(backup); err != nil || !isNew || backup != filepath.Join(filepath.Dir(path), want) || string(data) != want {
			t.Errorf("%s holds %q, %v; want %s", backup, data, err, want)
		}
		if info, err := os.Stat(backup); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
	}
	if backup, isNew, err := Backup(path, []byte("f.bak1")); err != nil || isNew || filepath.Base(backup) != "f.bak1" {
		t.Errorf("the same content again: %s, %t, %v", backup, isNew, err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 4 {
		t.Errorf("something is left beside it: %v", entries)
	}
	if _, _, err := Backup(put(t, "f", "now", 0o444), nil); !errors.Is(err, ErrReadOnly) {
		t.Errorf("of a read-only file: %v", err)
	}
	if _, _, err := Backup(filepath.Join(path, "x"), nil); err == nil {
		t.Error("below a file")
	}
}

// TestRemoveUnchanged checks that a file is removed only if it has the expected content.
func TestRemoveUnchanged(t *testing.T) {
	path := put(t, "f", "now", 0o640)
	if err := RemoveUnchanged(path, []byte("old")); !errors.Is(err, ErrChanged) {
		t.Errorf("a changed file: %v", err)
	}
	holds(t, path, "now")
	if err := RemoveUnchanged(path, []byte("now")); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("the file is still there: %v", err)
	}
}

func TestRename(t *testing.T) {
	path := put(t, "skill.md", "text", 0o644)
	if err := Rename(path, "SKILL.md"); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(filepath.Dir(path), "SKILL.md")
	holds(t, to, "text")
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), "b"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Rename(to, "b"); !errors.Is(err, ErrExists) {
		t.Errorf("over another file: %v", err)
	}
}

// TestWritesAreSynced checks that data is synced before the rename, and the folder after it. If the
// disk fails, the old file stays.
func TestWritesAreSynced(t *testing.T) {
	was := fsync
	defer func() { fsync = was }()
	var path string
	var seen []string
	fsync = func(f *os.File) error {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		what := "folder"
		if !info.IsDir() {
			data, _ := os.ReadFile(f.Name())
			what = "file with " + string(data)
		}
		now, _ := os.ReadFile(path)
		seen = append(seen, what+", the name has "+string(now))
		return nil
	}
	for _, c := range []struct {
		name string
		do   func() error
		want []string
	}{
		{"Replace", func() error { return Replace(path, []byte("old"), []byte("new")) }, []string{"file with new, the name has old", "folder, the name has new"}},
		{"Create", func() error { path += ".more"; return Create(path, []byte("new"), 0o600) }, []string{"file with new, the name has ", "folder, the name has new"}},
		{"Rename", func() error {
			defer func() { path = filepath.Join(filepath.Dir(path), "b") }()
			return Rename(path, "b")
		}, []string{"folder, the name has "}},
		{"Backup", func() error { _, _, err := Backup(path, []byte("data")); return err }, []string{"file with data, the name has old", "folder, the name has old"}},
	} {
		path, seen = put(t, "a", "old", 0o600), nil
		if err := c.do(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		difftest.Same(t, seen, c.want, c.name)
	}
	failed := errors.New("the disk is gone")
	fsync = func(*os.File) error { return failed }
	path = put(t, "a", "old", 0o600)
	if err := Replace(path, []byte("old"), []byte("new")); !errors.Is(err, failed) {
		t.Errorf("without the disk: %v", err)
	}
	holds(t, path, "old")
	if err := Create(path+".more", nil, 0o600); !errors.Is(err, failed) {
		t.Errorf("without the disk: %v", err)
	}
	holds(t, path, "old")
}

// TestIsTemporary checks that IsTemporary recognizes the name of a file that a killed process left.
func TestIsTemporary(t *testing.T) {
	dir := t.TempDir()
	in, err := openFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	name, err := writeNew(in, 0o600, []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	defer name.end()
	if !IsTemporary(name.name) {
		t.Errorf("%s is not known", name.name)
	}
	for _, other := range []string{".knack-", ".knack-notes", "knack.yaml", ".knack-abcdefghijklmnopqrstuvwxyz"} {
		if IsTemporary(other) {
			t.Errorf("%s is taken for one", other)
		}
	}
}

// TestSettle checks that Settle waits for the write in progress, and that no other write begins.
func TestSettle(t *testing.T) {
	path := put(t, "a", "old", 0o600)
	was := fsync
	defer func() { fsync = was }()
	begun, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	fsync = func(*os.File) error {
		once.Do(func() {
			close(begun)
			<-goOn
		})
		return nil
	}
	replaced := make(chan error, 1)
	go func() { replaced <- Replace(path, []byte("old"), []byte("new")) }()
	<-begun
	settled := make(chan struct{})
	go func() {
		defer close(settled)
		Settle()
	}()
	testwait.Until(t, func() bool { // until Settle waits
		free := writing.TryRLock()
		if free {
			writing.RUnlock()
		}
		return !free
	}, "Settle does not wait")
	select {
	case <-settled:
		t.Error("Settle returned during a write")
	default:
	}
	close(goOn)
	<-settled
	holds(t, path, "new")
	if err := <-replaced; err != nil {
		t.Error(err)
	}
	if writing.TryRLock() {
		writing.RUnlock()
		t.Fatal("another write may begin")
	}
	writing.Unlock() // for other tests
}
