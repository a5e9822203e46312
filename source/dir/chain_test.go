package dir

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// countingHandle counts the lookups in a folder.
type countingHandle struct {
	handle
	asked *int
}

func (h countingHandle) lstat(name string) (*info, error) { *h.asked++; return h.handle.lstat(name) }
func (h countingHandle) readlink(name string) (string, error) {
	*h.asked++
	return h.handle.readlink(name)
}

// TestChainIsAskedOnce checks that listing a folder of links, each of which leads to the next,
// takes a few lookups for each link. That number does not grow with the chain.
func TestChainIsAskedOnce(t *testing.T) {
	root := t.TempDir()
	const n = 200
	for i := range n {
		if err := os.Symlink(fmt.Sprintf("l-%04d", i+1), filepath.Join(root, fmt.Sprintf("l-%04d", i))); err != nil {
			t.Skip(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, fmt.Sprintf("l-%04d", n)), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	f := &folder{location: &location{opener: pickOpener(), base: root}, sub: "."}
	h, err := f.enter()
	if err != nil {
		t.Fatal(err)
	}
	defer h.close()
	asked := 0
	got, err := f.filtered(countingHandle{h, &asked}, ".", false, raw)
	if err != nil {
		t.Fatal(err)
	}
	// A name that is at most maxLinks links away from the file can be opened, and so is listed.
	if len(got) != maxLinks+1 || got[0].Name() != fmt.Sprintf("l-%04d", n-maxLinks) {
		t.Errorf("%d entries from %v", len(got), got[0])
	}
	for _, e := range got {
		if e.Type() != 0 {
			t.Errorf("%v is of type %v", e, e.Type())
		}
		if _, err := fs.ReadFile(f, e.Name()); err != nil {
			t.Error(err)
		}
	}
	if asked > 3*n {
		t.Errorf("%d questions for %d links", asked, n)
	}
}
