package dir

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// junctions shows each folder whose name begins with "junction" as Go shows a junction
// on Windows: it is neither a folder nor a link.
type junctions struct{ opener }

func (d junctions) folder(dir string, plain bool) (handle, error) {
	h, err := d.opener.folder(dir, plain)
	return junctionHandle{h}, err
}

type junctionHandle struct{ handle }

func (h junctionHandle) list(name string, most int) (handle, []fs.DirEntry, error) {
	in, entries, err := h.handle.list(name, most)
	for i, e := range entries {
		if strings.HasPrefix(e.Name(), "junction") {
			entries[i] = junction{e}
		}
	}
	return in, entries, err
}

type junction struct{ fs.DirEntry }

func (junction) IsDir() bool       { return false }
func (junction) Type() fs.FileMode { return fs.ModeIrregular }

// A junction beside the skills or in one is not followed, and a notice says so.
func TestJunctionsAreNoticed(t *testing.T) {
	root := tree(t, map[string]string{"a/SKILL.md": "", "a/junction-x/file": "", "junction-y/SKILL.md": "", "b/junction-z/SKILL.md": ""})
	scan := scanned(t, junctions{rootOpener{}}, root)
	if diff := cmp.Diff([]string{"a"}, paths(scan)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a/junction-x link-ignored", "b/junction-z link-ignored", "junction-y link-ignored"}, rules(scan)); diff != "" {
		t.Error(diff)
	}
	for _, n := range scan.Notices {
		if !strings.Contains(n.Message, "junction") || n.Fix == "" {
			t.Errorf("%+v", n)
		}
	}
}
