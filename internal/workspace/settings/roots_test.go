package settings

import (
	"os"
	"path/filepath"
	"testing"
)

// TestOverlap checks that an overlap of two folders is found through any path or link.
func TestOverlap(t *testing.T) {
	at := t.TempDir()
	for _, name := range []string{"a/b/c", "ab", "other"} {
		if err := os.MkdirAll(filepath.Join(at, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"to-a": "a", "other/in": "../a/b", "to-other": "other"} {
		if err := os.Symlink(to, filepath.Join(at, link)); err != nil {
			t.Skip(err)
		}
	}
	for _, c := range []struct {
		one, other, how string
	}{
		{"a", "a", "is"}, {"a", "to-a", "is"}, {"to-a", "a", "is"}, {"a/b/c", "a", "is inside"}, {"a", "a/b/c", "contains"}, {"to-a/b", "a", "is inside"},
		{"other/in", "a", "is inside"}, {"a", "to-other/in/c", "contains"}, {"other/in/c", "to-a/b", "is inside"},
		{"a", "ab", ""}, {"ab", "a", ""}, {"other", "a", ""}, {"a", "nowhere", ""}, {"nowhere", "a", ""},
	} {
		i, how := overlaps(filepath.Join(at, c.one), []string{filepath.Join(at, "nothing"), filepath.Join(at, c.other)})
		if how != c.how || (i == 1) != (how != "") {
			t.Errorf("%s %q %s, want %q", c.one, how, c.other, c.how)
		}
	}
}
