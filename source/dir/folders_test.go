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
	for _, noLinks := range []bool{false, true} {
		s := New(Options{Root: skill.Root{Label: "x", Dir: root}, NoLinks: noLinks})
		for name, want := range map[string]bool{
			"empty": true, "a": true, "ünï": true, "Empty": false, "deep": false, "file": false, "none": false, "": false, ".": false,
			"..": false, "a/deep": false, "out": !noLinks, "in": !noLinks, "tofile": false, "nowhere": false,
		} {
			if !linked && (name == "out" || name == "in") {
				continue
			}
			if got := s.hasFolder(name); got != want {
				t.Errorf("no links %v: hasFolder(%q) = %v", noLinks, name, got)
			}
		}
	}
	if New(Options{Root: skill.Root{Label: "x", Dir: filepath.Join(root, "none")}}).hasFolder("empty") {
		t.Error("a root that is not there has a folder")
	}
}
