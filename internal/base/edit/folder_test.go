package edit

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestNoLinkInPath checks that no function writes, moves or removes anything through a link, and
// that each function works with the resolved path.
func TestNoLinkInPath(t *testing.T) {
	for name, do := range map[string]func(dir, free string) error{
		"Replace":         func(dir, _ string) error { return Replace(filepath.Join(dir, "f"), []byte("old"), []byte("new")) },
		"Create":          func(dir, _ string) error { return Create(filepath.Join(dir, "new", "f"), nil, 0o600) },
		"Backup":          func(dir, _ string) error { _, _, err := Backup(filepath.Join(dir, "f"), nil); return err },
		"Rename":          func(dir, _ string) error { return Rename(filepath.Join(dir, "f"), "g") },
		"Remove":          func(dir, _ string) error { return Remove(filepath.Join(dir, "f")) },
		"RemoveUnchanged": func(dir, _ string) error { return RemoveUnchanged(filepath.Join(dir, "f"), []byte("old")) },
		"Touch":           func(dir, _ string) error { return Touch(filepath.Join(dir, "f"), time.Unix(1, 0)) },
		"MakeFolder":      func(dir, _ string) error { return MakeFolder(filepath.Join(dir, "new"), 0o700) },
		"SweepFiles":      func(dir, _ string) error { return SweepFiles(dir) },
		"Lock": func(dir, _ string) error {
			unlock, err := Lock(filepath.Join(dir, "f"))
			if err == nil {
				unlock()
			}
			return err
		},
		"NewTree": func(dir, _ string) error {
			tree, err := NewTree(filepath.Join(dir, "new"))
			if err == nil {
				err = tree.Remove()
			}
			return err
		},
		"NewSpool": func(dir, _ string) error {
			s, err := NewSpool(filepath.Join(dir, "new"))
			if err == nil {
				err = s.Close()
			}
			return err
		},
		"Sweep":   func(dir, _ string) error { return Sweep(filepath.Join(dir, "folder"), nil) },
		"Discard": func(dir, free string) error { return Discard(filepath.Join(dir, "folder"), free) },
		"Move":    func(dir, free string) error { return Move(filepath.Join(dir, "folder"), filepath.Join(free, "x")) },
		"Move to": func(dir, free string) error {
			return Move(filepath.Join(filepath.Dir(free), "folder"), filepath.Join(dir, "x"))
		},
		"Place": func(dir, free string) error {
			return inTree(free, func(t *Tree) error { return t.Place(filepath.Join(dir, "new")) })
		},
		"Exchange": func(dir, free string) error {
			return inTree(free, func(t *Tree) error { return t.Exchange(filepath.Join(dir, "folder")) })
		},
		"Take": func(dir, free string) error {
			return inTree(free, func(t *Tree) error { return t.Take(filepath.Join(dir, "folder")) })
		},
	} {
		top := t.TempDir()
		outside, link, free := filepath.Join(top, "outside"), filepath.Join(top, "project", "link"), filepath.Join(top, "free")
		err := errors.Join(
			os.MkdirAll(filepath.Join(outside, "folder"), 0o755), os.MkdirAll(filepath.Dir(link), 0o755), os.MkdirAll(filepath.Join(top, "folder"), 0o755),
			os.WriteFile(filepath.Join(outside, "f"), []byte("old"), 0o644),
			os.WriteFile(filepath.Join(outside, "folder", "mine"), []byte("mine"), 0o644))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(outside, link); err != nil {
			t.Skip(err)
		}
		before, was := files(t, outside), names(t, outside)
		if err := do(link, free); !errors.Is(err, ErrLink) {
			t.Errorf("%s: %v, want %v", name, err, ErrLink)
		}
		if diff := cmp.Diff(before, files(t, outside)) + cmp.Diff(was, names(t, outside)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if err := do(Named(filepath.Join(link, "x"))[:len(outside)], free); err != nil {
			t.Errorf("%s on the resolved path: %v", name, err)
		}
		if _, err := Within(filepath.Dir(link), link); !errors.As(err, new(*OutsideError)) {
			t.Errorf("Within: %v", err)
		}
	}
}

func inTree(parent string, do func(*Tree) error) error {
	tree, err := NewTree(parent)
	if err != nil {
		return err
	}
	defer tree.Remove()
	return do(tree)
}
