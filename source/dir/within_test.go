//go:build unix

package dir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/knack-dev/knack/skill"
)

// swapper puts a link in the place of a folder just before it is opened.
type swapper struct {
	opener
	at, target string
}

func (s swapper) folder(dir string, plain bool) (handle, error) {
	if err := os.Rename(s.at, s.at+".was"); err != nil {
		return nil, err
	}
	if err := os.Symlink(s.target, s.at); err != nil {
		return nil, err
	}
	return s.opener.folder(dir, plain)
}

// TestWithin checks that a root that must stay within its project is dropped if a link leads out of
// the project: from the start, after the scan, or between the check and the opening. A link within
// the project is followed.
func TestWithin(t *testing.T) {
	for name, door := range doors() {
		t.Run(name, func(t *testing.T) {
			outside := tree(t, map[string]string{"skills/a/SKILL.md": "", "skills/a/key": "of the user"})
			top := tree(t, map[string]string{"in/skills/a/SKILL.md": "", "in/skills/a/key": "of the project", "also": "->in"})
			within := func(o *Options) { o.Within, o.NoLinks = top, true }
			at := filepath.Join(top, "in")

			linked := scanned(t, door, filepath.Join(top, "also", "skills"), within)
			if len(linked.Bundles) != 1 {
				t.Fatal(linked)
			}
			if data, err := fs.ReadFile(linked.Bundles[0].FS, "key"); string(data) != "of the project" {
				t.Errorf("through a link within the project: %q, %v", data, err)
			}

			s := source(swapper{door, at, outside}, filepath.Join(at, "skills"), within)
			check := func(when string) {
				t.Helper()
				scan, err := s.Scan(t.Context())
				if !errors.Is(err, skill.ErrLeavesProject) || !scan.Missing || len(scan.Bundles) > 0 {
					t.Errorf("%s: %+v, %v", when, scan, err)
				}
				if names, ok := s.Names("a", 1); ok {
					t.Errorf("%s: %q is listed", when, names)
				}
			}
			check("a link that comes after the check")
			s.opener = door
			check("a link that is there")
			if data, err := fs.ReadFile(linked.Bundles[0].FS, "key"); err == nil {
				t.Errorf("a file behind a link that came after the scan is read: %q", data)
			}
		})
	}
}
