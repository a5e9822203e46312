package edit

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/test/difftest"
)

// newTestTree makes a tree with the files a and sub/b.
func newTestTree(t *testing.T, parent string) *Tree {
	t.Helper()
	tree, err := NewTree(parent)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tree.Remove() })
	for _, path := range []string{"a", "sub/b"} {
		if _, _, err := tree.File(path, path == "sub/b", strings.NewReader("new "+path), 100); err != nil {
			t.Fatal(err)
		}
	}
	return tree
}

// files returns the texts of the files below a folder, by their paths.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, path))
		all[path] = string(data)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return all
}

var newFiles = map[string]string{"a": "new a", "sub/b": "new sub/b"}

func TestTree(t *testing.T) {
	dir := t.TempDir()
	parent, at := filepath.Join(dir, "tmp"), filepath.Join(dir, "skills", "x")
	tree := newTestTree(t, parent)
	big := bytes.Repeat([]byte("x"), 200_000)
	n, sum, err := tree.File("big", false, iotest.HalfReader(bytes.NewReader(big)), 200_000)
	if err != nil || n != 200_000 || sum != sha256.Sum256(big) {
		t.Errorf("%d bytes, %x, %v", n, sum, err)
	}
	broken := errors.New("the source broke")
	for _, c := range []struct {
		path string
		r    io.Reader
		want error
	}{
		{"a", strings.NewReader("again"), ErrExists},
		{"sub", strings.NewReader("again"), ErrExists},
		{"larger", strings.NewReader(strings.Repeat("x", 101)), ErrTooLarge},
		{"half", io.MultiReader(strings.NewReader("x"), iotest.ErrReader(broken)), broken},
		{"../a", strings.NewReader("x"), fs.ErrInvalid},
		{"/a", strings.NewReader("x"), fs.ErrInvalid},
		{"", strings.NewReader("x"), fs.ErrInvalid},
	} {
		if _, _, err := tree.File(c.path, false, c.r, 100); !errors.Is(err, c.want) {
			t.Errorf("%q: %v, want %v", c.path, err, c.want)
		}
	}
	if _, _, err := tree.File("a/b", false, strings.NewReader("x"), 100); err == nil {
		t.Error("a file below a file")
	}
	if info, err := os.Stat(filepath.Dir(tree.Path())); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
		t.Errorf("until it is placed: %v, %v", info.Mode(), err)
	}
	if err := errors.Join(tree.Sync(), syncEach(tree.root)); err != nil {
		t.Error(err)
	}
	if err := tree.Place(at); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"a": "new a", "sub/b": "new sub/b", "big": string(big)}
	difftest.Same(t, files(t, at), want)
	for path, mode := range map[string]fs.FileMode{"": 0o755, "a": 0o644, "sub": 0o755, "sub/b": 0o755} {
		if info, err := os.Stat(filepath.Join(at, path)); err != nil || runtime.GOOS != "windows" && (info.Mode().Perm()&^mode != 0 || info.Mode()&0o100 != mode&0o100) {
			t.Errorf("%q: %v, %v", path, info.Mode(), err)
		}
	}
	if entries, _ := os.ReadDir(parent); len(entries) > 0 {
		t.Errorf("left over: %v", entries)
	}
}

// TestTreePlaceTaken checks that a tree does not replace an existing file or folder, and can still
// be placed elsewhere.
func TestTreePlaceTaken(t *testing.T) {
	dir := t.TempDir()
	tree := newTestTree(t, dir)
	empty, full, file := filepath.Join(dir, "empty"), filepath.Join(dir, "full"), filepath.Join(dir, "file")
	if err := errors.Join(os.Mkdir(empty, 0o755), Create(filepath.Join(full, "mine"), nil, 0o600), Create(file, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{empty, full, file} {
		if err := tree.Place(at); !errors.Is(err, ErrExists) {
			t.Errorf("%s: %v", at, err)
		}
		in, err := openFolder(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		if err := moveChecked(tree.in, tree.name, in, filepath.Base(at)); !errors.Is(err, ErrExists) {
			t.Errorf("without the system's help: %s: %v", at, err)
		}
	}
	if _, _, err := tree.File("c", false, strings.NewReader(""), 0); err != nil {
		t.Error(err)
	}
	if err := tree.MovePart("sub", filepath.Join(dir, "part")); err != nil {
		t.Error(err)
	}
	if err := tree.MovePart("../..", filepath.Join(dir, "other")); !errors.Is(err, fs.ErrInvalid) {
		t.Error(err)
	}
	if err := tree.Place(filepath.Join(dir, "free")); err != nil {
		t.Error(err)
	}
	difftest.Same(t, files(t, dir), map[string]string{"free/a": "new a", "free/c": "", "part/b": "new sub/b", "full/mine": "", "file": ""})
}

// TestTreeExchange checks that the new folder is in its place, and that the caller finds the old
// folder in the tree.
func TestTreeExchange(t *testing.T) {
	old := map[string]string{"mine": "old"}
	twice := func(t *Tree, with string) error { return inFolderOf(with, t.exchangeTwice) }
	for name, exchange := range map[string]func(*Tree, string) error{"at once": (*Tree).Exchange, "twice": twice} {
		dir := t.TempDir()
		parent, at := filepath.Join(dir, "tmp"), filepath.Join(dir, "x")
		if err := Create(filepath.Join(at, "mine"), []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		tree := newTestTree(t, parent)
		if err := exchange(tree, at); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(newFiles, files(t, at)) + cmp.Diff(old, files(t, tree.Path())); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if err := tree.Remove(); err != nil {
			t.Error(err)
		}
		if err := Sweep(parent, nil); err != nil {
			t.Error(err)
		}
		difftest.Same(t, names(t, dir), []string{"x"}, name)
	}
}

// TestTreeExchangeRefuses checks that a failed exchange leaves both folders unchanged.
func TestTreeExchangeRefuses(t *testing.T) {
	dir := t.TempDir()
	tree := newTestTree(t, dir)
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := errors.Join(Create(file, nil, 0o600), os.Symlink(dir, link)); err != nil {
		t.Skip(err)
	}
	for at, want := range map[string]error{filepath.Join(dir, "none"): fs.ErrNotExist, file: errFolder, link: errFolder} {
		if err := tree.Exchange(at); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", at, err, want)
		}
	}
	// The system refuses to exchange a folder with one that contains it.
	if err := tree.Exchange(dir); err == nil {
		t.Error("with the folder that it is in")
	}
	if err := inFolderOf(dir, tree.exchangeTwice); err == nil {
		t.Error("with the folder that it is in, by two renames")
	}
	if _, _, err := tree.File("c", false, strings.NewReader("c"), 1); err != nil {
		t.Error(err)
	}
	difftest.Same(t, files(t, tree.Path()), map[string]string{"a": "new a", "sub/b": "new sub/b", "c": "c"})
}

func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Error(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// TestSweep checks that Sweep removes the remains of killed processes. It must call keep for the
// user's files among them, and leave the trees of living processes.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	parent, at := filepath.Join(dir, "tmp"), filepath.Join(dir, "x")
	if err := Create(filepath.Join(at, "mine"), []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	alive, dead, exchanged := newTestTree(t, parent), newTestTree(t, parent), newTestTree(t, parent)
	if err := exchanged.Exchange(at); err != nil {
		t.Fatal(err)
	}
	unlocked := filepath.Join(parent, tempPrefix+strings.Repeat("A", 26)) // killed before it was locked
	other := filepath.Join(parent, "notes")
	if err := errors.Join(os.Mkdir(unlocked, 0o700), os.Mkdir(other, 0o700), dead.lock.Close(), exchanged.lock.Close()); err != nil {
		t.Fatal(err)
	}
	failed := errors.New("no room")
	if err := Sweep(parent, func(string) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("%v, want %v", err, failed)
	}
	moved := filepath.Join(dir, "kept")
	if err := Sweep(parent, func(path string) error { return os.Rename(path, moved) }); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(map[string]string{"mine": "old"}, files(t, moved)) + cmp.Diff(newFiles, files(t, alive.Path())); diff != "" {
		t.Error(diff)
	}
	difftest.Same(t, names(t, parent), []string{filepath.Base(alive.dir), "notes"})
	if err := errors.Join(alive.Remove(), os.Remove(other), Sweep(parent, nil), Sweep(parent, nil)); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(parent); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}

func TestSpool(t *testing.T) {
	parent := filepath.Join(t.TempDir(), "tmp")
	s, err := NewSpool(parent)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Write([]byte("abc")); err != nil {
		t.Error(err)
	}
	if runtime.GOOS != "windows" {
		if left := names(t, parent); len(left) > 0 {
			t.Errorf("it has a name: %v", left)
		}
	}
	got := make([]byte, 2)
	if _, err := s.ReadAt(got, 1); err != nil || string(got) != "bc" {
		t.Errorf("%s, %v", got, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if left := names(t, parent); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

// TestSweepFiles checks that SweepFiles removes the file of a killed process, and leaves the file
// of a living one.
func TestSweepFiles(t *testing.T) {
	dir := t.TempDir()
	in, err := openFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	alive, err := writeNew(in, 0o600, []byte("alive"))
	if err != nil {
		t.Fatal(err)
	}
	dead, err := writeNew(in, 0o444, []byte("dead"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(dead.f.Close(), Create(filepath.Join(dir, "mine"), nil, 0o600), os.Mkdir(filepath.Join(dir, tempPrefix+strings.Repeat("A", 26)), 0o700)); err != nil && runtime.GOOS != "windows" {
		t.Fatal(err)
	}
	if err := SweepFiles(dir); err != nil {
		t.Error(err)
	}
	want := []string{alive.name, tempPrefix + strings.Repeat("A", 26), "mine"}
	slices.Sort(want)
	if diff := cmp.Diff(want, names(t, dir)); diff != "" && runtime.GOOS != "windows" {
		t.Error(diff)
	}
	alive.end()
}

// TestTreeWithoutLocks checks that trees work on a file system without locks, and that Sweep
// removes nothing there.
func TestTreeWithoutLocks(t *testing.T) {
	was := lockFile
	defer func() { lockFile = was }()
	lockFile = func(*os.File) error { return errors.ErrUnsupported }
	dir := t.TempDir()
	parent, at := filepath.Join(dir, "tmp"), filepath.Join(dir, "x")
	tree := newTestTree(t, parent)
	if err := Sweep(parent, nil); err == nil {
		t.Error("something was swept")
	}
	if err := tree.Place(at); err != nil {
		t.Error(err)
	}
	difftest.Same(t, files(t, at), newFiles)
	in, err := openFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	temp, err := writeNew(in, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer temp.end()
	if err := SweepFiles(dir); err != nil {
		t.Error(err)
	}
	if _, err := in.Lstat(temp.name); err != nil {
		t.Error(err)
	}
}
