package realpath

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestSameUnderMounts compares paths in a folder that is mounted twice. Some of them do not exist yet.
func TestSameUnderMounts(t *testing.T) {
	base := t.TempDir()
	one, two := filepath.Join(base, "one"), filepath.Join(base, "two")
	for _, dir := range []string{filepath.Join(one, "sub"), two} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mount(one, two, "", syscall.MS_BIND, ""); err != nil {
		t.Skip("mounting needs privileges: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(two, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"one", "two", true}, {"one/sub", "two/sub", true}, {"one/none", "two/none", true}, {"one/none/x", "two/none/x", true},
		{"one/none", "two/other", false}, {"one/none/x", "two/sub/x", false}, {"one/sub", "two/none", false},
	} {
		if got := Same(filepath.Join(base, c.a), filepath.Join(base, c.b)); got != c.same {
			t.Errorf("Same(%s, %s) = %v", c.a, c.b, got)
		}
	}
}
