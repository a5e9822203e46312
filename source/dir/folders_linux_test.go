package dir

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/knack-dev/knack/skill"
)

// listingDoor counts how often a root's folder is listed.
type listingDoor struct {
	opener
	lists *int
}

type listingHandle struct {
	stampHandle
	lists *int
}

func (d listingDoor) folder(dir string, plain bool) (handle, error) {
	h, err := d.opener.folder(dir, plain)
	if err != nil {
		return nil, err
	}
	return listingHandle{h.(stampHandle), d.lists}, nil
}

// TestAbsentFoldersCostOneList checks that an unchanged root is not listed again to look for a
// folder that it lacks. A changed root is listed again, and a new folder is found immediately.
func TestAbsentFoldersCostOneList(t *testing.T) {
	root := tree(t, map[string]string{"a/SKILL.md": "x", "b/notes.md": "x"})
	if door, err := pickOpener().folder(root, false); err != nil {
		t.Fatal(err)
	} else if h, ok := door.(stampHandle); !ok || !h.keepsTimes() {
		t.Skip("this file system keeps no times that prove anything")
	}
	lists := 0
	s := New(Options{Root: skill.Root{Label: "x", Dir: root}})
	s.opener = listingDoor{s.opener, &lists}
	has := func(what, name string, want bool, most int) {
		t.Helper()
		before := lists
		if got := s.hasFolder(name); got != want {
			t.Errorf("%s: %s is there: %v", what, name, got)
		}
		if n := lists - before; n != most {
			t.Errorf("%s: %d lists, want %d", what, n, most)
		}
	}
	has("a young folder", "none", false, 1)
	has("its stamp proves nothing", "none", false, 1)
	later := time.Now().Add(2 * skill.StampRacy)
	s.now = func() time.Time { return later }
	has("a folder that is older", "none", false, 1)
	has("the same name", "none", false, 0)
	has("another name", "none-2", false, 0)
	has("one that is there", "a", true, 0)
	must(t, os.Mkdir(filepath.Join(root, "new"), 0o755))
	// The next change comes within the same tick of the file system's clock.
	must(t, os.Chtimes(root, time.Time{}, time.Now().Add(-time.Hour)))
	has("one that has come", "new", true, 1)
	must(t, os.Remove(filepath.Join(root, "b/notes.md")))
	must(t, os.Remove(filepath.Join(root, "b")))
	must(t, os.Symlink("a", filepath.Join(root, "b")))
	s.opt.NoLinks = true
	later = time.Now().Add(4 * skill.StampRacy)
	has("a link in its place", "b", false, 1)
	has("still a link", "b", false, 0)
	later = later.Add(trusted)
	has("times are not believed for ever", "none", false, 1)
}

func (h listingHandle) list(name string, most int) (handle, []os.DirEntry, error) {
	*h.lists++
	return h.stampHandle.list(name, most)
}
