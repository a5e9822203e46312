package realpath

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// irregular is a symbolic link that looks like a junction of Windows.
type irregular struct{ fs.FileInfo }

func (irregular) Mode() fs.FileMode { return fs.ModeIrregular }

// TestEvalFollowsJunctions checks that Eval follows a file that looks like a junction as
// EvalSymlinks follows a symbolic link.
func TestEvalFollowsJunctions(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"real/sub", "other"} {
		if err := os.MkdirAll(filepath.Join(base, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		"desk": filepath.Join(base, "real"), "other/up": filepath.Join("..", "desk"), "real/back": base,
		"round": "round", "gone": filepath.Join(base, "none"),
	} {
		if err := os.Symlink(target, filepath.Join(base, name)); err != nil {
			t.Skip(err)
		}
	}
	looked := 0
	lstat := func(name string) (fs.FileInfo, error) {
		fi, err := os.Lstat(name)
		if err == nil && fi.Mode()&fs.ModeSymlink != 0 {
			looked++
			return irregular{fi}, nil
		}
		return fi, err
	}
	for name, links := range map[string]int{"real/sub": 0, "desk": 1, "desk/sub": 1, "other/up/sub": 2, "desk/back/desk/sub": 3, "desk/../other": 1, ".": 0} {
		looked = 0
		path := base + string(filepath.Separator) + filepath.FromSlash(name) // Join would clean it
		want, err := filepath.EvalSymlinks(path)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := eval(path, lstat); got != want || err != nil || looked != links {
			t.Errorf("%s leads to %s through %d links, want %s through %d (%v)", name, got, looked, want, links, err)
		}
	}
	for name, want := range map[string]error{"round": syscall.ELOOP, "round/x": syscall.ELOOP, "gone": fs.ErrNotExist, "desk/none": fs.ErrNotExist} {
		if got, err := eval(filepath.Join(base, name), lstat); got != "" || !errors.Is(err, want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// TestOf checks that Of resolves the existing part of a path, as EvalSymlinks does for each of its
// parents.
func TestOf(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(base, "real", "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"desk": "real", "real/back": base, "here": ".", "round": "round", "gone": "none", "far": filepath.Join("none", "x")} {
		if err := os.Symlink(target, filepath.Join(base, name)); err != nil {
			t.Skip(err)
		}
	}
	var want func(path string) string
	want = func(path string) string {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return real
		}
		return filepath.Join(want(filepath.Dir(path)), filepath.Base(path))
	}
	for _, name := range []string{".", "real/sub", "none", "none/x/y", "desk", "desk/none", "desk/none/x", "real/sub/none/x", "real/back/none/x", "desk/back/desk/none", "here/none", "here/here/none/x", "round", "round/x", "gone", "gone/x", "far", "far/x", "here/gone/x"} {
		path := filepath.Join(base, filepath.FromSlash(name))
		if got, want := Of(path), want(path); got != want {
			t.Errorf("%s leads to %s, want %s", name, got, want)
		}
	}
}

func TestIsLink(t *testing.T) {
	for mode, want := range map[fs.FileMode]bool{
		fs.ModeSymlink: true, fs.ModeIrregular: true, fs.ModeIrregular | 0o666: true,
		fs.ModeIrregular | fs.ModeDir: false, fs.ModeDir: false, 0: false, fs.ModeNamedPipe: false, fs.ModeSocket: false,
	} {
		if IsLink(mode) != want {
			t.Errorf("%v: %v", mode, !want)
		}
	}
}
