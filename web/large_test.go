package web_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/knack-dev/knack/skill"
)

// TestLargeFile checks that every route that serves files answers a file over the limit
// with an explanation and the right status.
func TestLargeFile(t *testing.T) {
	f := open(t, files)
	large := filepath.Join(f.dir, "one", "git", "large.bin")
	for size, want := range map[int64]int{skill.MaxFile: 200, skill.MaxFile + 1: 413} {
		if err := os.WriteFile(large, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(large, size); err != nil {
			t.Fatal(err)
		}
		for _, route := range []string{"/skills/", "/raw/", "/api/v1/files/"} {
			path := route + "one/git/large.bin"
			a := f.get(path)
			if a.status != want || want == 413 && !strings.Contains(a.body, "another file 16 MiB") {
				t.Errorf("%s of %d bytes: %d %.300s", path, size, a.status, a.body)
			}
		}
	}
}
