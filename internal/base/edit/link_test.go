package edit

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestLink checks that Link makes relative links, but not over an existing file or through a link.
// Unlink must remove only a link with the given text.
func TestLink(t *testing.T) {
	top := Named(t.TempDir())
	target := filepath.Join(top, ".agents", "skills", "pdf")
	at := filepath.Join(top, ".claude", "skills", "pdf")
	if err := os.MkdirAll(target, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Link(at, target); err != nil {
		t.Fatal(err)
	}
	const text = "../../.agents/skills/pdf"
	if to, err := os.Readlink(at); err != nil || filepath.ToSlash(to) != text {
		t.Errorf("the link is %s, %v", to, err)
	}
	if err := Link(at, target); !errors.Is(err, ErrExists) {
		t.Errorf("over a link: %v", err)
	}
	if err := Unlink(at, "../elsewhere"); !errors.Is(err, ErrChanged) {
		t.Errorf("another link was removed: %v", err)
	}
	if err := Unlink(at, filepath.FromSlash(text)); err != nil {
		t.Error(err)
	}
	if err := os.Mkdir(at, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Link(at, target); !errors.Is(err, ErrExists) {
		t.Errorf("over a folder: %v", err)
	}
	if err := Unlink(at, text); !errors.Is(err, ErrChanged) {
		t.Errorf("a folder was removed: %v", err)
	}
	behind := filepath.Join(top, "behind")
	if err := os.Symlink(filepath.Dir(at), behind); err != nil {
		t.Skip(err)
	}
	if err := Link(filepath.Join(behind, "xlsx"), target); err == nil {
		t.Error("through a link")
	}
}

// TestNoLinks checks that a failure to make a link is reported as ErrNoLinks only if the system or
// the user's rights allow no links at all.
func TestNoLinks(t *testing.T) {
	was := symlink
	defer func() { symlink = was }()
	top := Named(t.TempDir())
	for _, c := range []struct {
		err  error
		none bool
	}{
		{syscall.EPERM, true}, {errors.ErrUnsupported, true}, {syscall.Errno(1314), true},
		{syscall.EACCES, false}, {syscall.EROFS, false}, {syscall.ENOSPC, false},
	} {
		symlink = func(*os.Root, string, string) error { return &os.LinkError{Op: "symlinkat", Err: c.err} }
		if err := Link(filepath.Join(top, "a"), top); errors.Is(err, ErrNoLinks) != c.none {
			t.Errorf("%v: %v", c.err, err)
		}
	}
}
