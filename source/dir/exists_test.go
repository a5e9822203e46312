package dir

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/knack-dev/knack/skill"
)

func TestHasFolder(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	for _, d := range []string{"empty", "a/deep", "ünï"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	linked := true
	for name, to := range map[string]string{"out": outside, "in": "empty", "tofile": "file", "nowhere": "gone"} {
		if os.Symlink(to, filepath.Join(root, name)) != nil {
			linked = false // not every user may make links on Windows
		}
	}
	for links, follows := range map[Links]map[string]bool{
		LinksFollow: {"out": true, "in": true}, LinksInside: {"in": true}, LinksNever: {},
	} {
		s := New(Options{Root: skill.Root{Label: "x", Dir: root}, Links: links})
		for name, want := range map[string]bool{
			"empty": true, "a": true, "ünï": true, "Empty": false, "deep": false, "file": false, "none": false, "": false, ".": false,
			"..": false, "a/deep": false, "out": follows["out"], "in": follows["in"], "tofile": false, "nowhere": false,
		} {
			if !linked && (name == "out" || name == "in") {
				continue
			}
			if got := s.HasFolder(name); got != want {
				t.Errorf("links %d: HasFolder(%q) = %v", links, name, got)
			}
		}
	}
	if New(Options{Root: skill.Root{Label: "x", Dir: filepath.Join(root, "none")}}).HasFolder("empty") {
		t.Error("a root that is not there has a folder")
	}
}
