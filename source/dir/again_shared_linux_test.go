package dir

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/knack-dev/knack/skill"
)

// TestScanLeavesEarlierOnes: what a scan found is shared by skills and snapshots, so that
// a later one, for which a file has another stamp, leaves it as it was.
func TestScanLeavesEarlierOnes(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"a/SKILL.md": main, "b/SKILL.md": main})
	s := source(pickDoor(), root)
	old := time.Now().Add(-time.Hour)
	for _, p := range []string{"a/SKILL.md", "b/SKILL.md", "a", "b", "."} {
		must(t, os.Chtimes(filepath.Join(root, p), old, old))
	}
	time.Sleep(skill.StampRacy + 100*time.Millisecond) // until the stamps prove something
	first, err := s.Scan(t.Context())
	must(t, err)
	was := *first.Bundles[0]
	if l := s.last; l == nil || !l.sure {
		t.Skip("this file system keeps no stamps that prove anything")
	}
	must(t, os.WriteFile(filepath.Join(root, "a/SKILL.md"), []byte(main+"\nmore\n"), 0o644))
	second, err := s.Scan(t.Context())
	must(t, err)
	if second.Version == first.Version || len(second.Bundles) != 2 {
		t.Fatalf("the change was not seen: %d bundles", len(second.Bundles))
	}
	if *first.Bundles[0] != was {
		t.Error("the later scan has changed a bundle of the earlier one")
	}
	if second.Bundles[0].Stamp == was.Stamp || second.Bundles[0].FS == was.FS {
		t.Error("the bundle of the changed file is the one before")
	}
	if second.Bundles[1] != first.Bundles[1] {
		t.Error("a bundle that is the same was made anew")
	}
}
