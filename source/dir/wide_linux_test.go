package dir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/knack-dev/knack/skill"
)

// TestWideFolder checks that neither opener lists a folder of a skill with too many names, and that
// its files can still be opened by name.
func TestWideFolder(t *testing.T) {
	if testing.Short() {
		t.Skip("ten thousand files")
	}
	base := t.TempDir()
	file := func(i int) string { return fmt.Sprintf("wide/%04d", i) }
	must(t, os.Mkdir(filepath.Join(base, "wide"), 0o755))
	for i := range skill.MaxFolder {
		must(t, os.WriteFile(filepath.Join(base, file(i)), nil, 0o644))
	}
	for _, o := range []opener{kernelOpener{}, rootOpener{}} {
		f := &folder{&location{opener: o, base: base}, "."}
		if names, err := fs.ReadDir(f, "wide"); err != nil || len(names) != skill.MaxFolder {
			t.Errorf("%T: %d names, %v", o, len(names), err)
		}
	}
	must(t, os.WriteFile(filepath.Join(base, file(skill.MaxFolder)), nil, 0o644))
	for _, o := range []opener{kernelOpener{}, rootOpener{}} {
		f := &folder{&location{opener: o, base: base}, "."}
		if names, err := fs.ReadDir(f, "wide"); !errors.Is(err, skill.ErrTooLarge) || len(names) != 0 {
			t.Errorf("%T of one more: %d names, %v", o, len(names), err)
		}
		if _, err := fs.Stat(f, file(skill.MaxFolder)); err != nil {
			t.Errorf("%T: %v", o, err)
		}
		s := &skill.Skill{Bundle: &skill.Bundle{FS: f}}
		if files, more, err := s.List(t.Context(), 9); err != nil || !more || len(files) != 0 {
			t.Errorf("%T: %d files are listed, more %v: %v", o, len(files), more, err)
		}
	}
}
