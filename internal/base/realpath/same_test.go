package realpath

import (
	"os"
	"path/filepath"
	"testing"
)

// TestSamePlace checks that Same and Inside compare places, and not the links that lead there.
func TestSamePlace(t *testing.T) {
	base := t.TempDir()
	if err := os.MkdirAll(filepath.Join(base, "real", "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"link": "real", "real/up": "..", "gone": "none"} {
		if err := os.Symlink(target, filepath.Join(base, link)); err != nil {
			t.Skip(err)
		}
	}
	for _, c := range []struct {
		dir, target  string
		same, inside bool
	}{
		{"real", "real", true, true}, {"link", "real", true, true}, {"real", "link", true, true},
		{"link", "real/sub", false, true}, {"real", "link/sub", false, true}, {"real/sub", "link", false, false},
		{"real/sub", "link/up/link/sub", true, true}, {"link", "real/none/x", false, true}, {"real/none", "link/none", true, true},
		{"none", "real", false, false}, {"real", "none", false, false}, {"gone", "gone", true, true}, {"real", "reality", false, false},
	} {
		a, b := filepath.Join(base, c.dir), filepath.Join(base, c.target)
		if got := Same(a, b); got != c.same {
			t.Errorf("Same(%s, %s) = %v", c.dir, c.target, got)
		}
		if got := Inside(a, b); got != c.inside {
			t.Errorf("Inside(%s, %s) = %v", c.dir, c.target, got)
		}
	}
}

// TestWithin checks the comparison of paths as they are written.
func TestWithin(t *testing.T) {
	for paths, want := range map[[2]string]bool{{"/a", "/a"}: true, {"/a", "/a/b"}: true, {"/a", "/ab"}: false, {"/a/b", "/a"}: false, {"/", "/a"}: true} {
		dir, target := filepath.FromSlash(paths[0]), filepath.FromSlash(paths[1])
		if Within(dir, target) != want {
			t.Errorf("Within(%s, %s) = %v", dir, target, !want)
		}
	}
}
