package dir

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/knack-dev/knack/internal/test/difftest"
)

// TestJunctionsOfTheSystem checks that real junctions are followed like links, also on the way to
// the root. Making a junction needs no privilege.
func TestJunctionsOfTheSystem(t *testing.T) {
	root := tree(t, map[string]string{"a/SKILL.md": "", "a/docs/file": "text"})
	outside := tree(t, map[string]string{"linked/SKILL.md": "", "secret": "text"})
	for name, target := range map[string]string{"child": filepath.Join(outside, "linked"), `a\out`: outside, `a\inner`: filepath.Join(root, "a", "docs")} {
		at := filepath.Join(root, name)
		out, err := exec.Command("cmd", "/c", "mklink", "/J", at, target).CombinedOutput()
		if _, there := os.Lstat(at); err != nil || there != nil {
			t.Skipf("no junctions here: %s", out) // as in Wine 8
		}
	}
	scan := scanned(t, rootOpener{}, root)
	difftest.Same(t, paths(scan), []string{"a", "child"})
	difftest.Same(t, rules(scan), []string{"a/out link-outside"})
	if text, err := fs.ReadFile(scan.Bundles[0].FS, "inner/file"); string(text) != "text" || err != nil {
		t.Errorf("through a junction in the skill: %q, %v", text, err)
	}
	way := filepath.Join(t.TempDir(), "way")
	if out, err := exec.Command("cmd", "/c", "mklink", "/J", way, filepath.Dir(root)).CombinedOutput(); err != nil {
		t.Skipf("%s", out)
	}
	difftest.Same(t, paths(scanned(t, rootOpener{}, filepath.Join(way, filepath.Base(root)))), []string{"a", "child"}, "a root below a junction")
}
