package web_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/skill"
)

// TestLargeFile checks that every route that serves files answers a file over the limit
// with an explanation and the right status.
func TestLargeFile(t *testing.T) {
	f := open(t, files)
	large := filepath.Join(f.dir, "one", "git", "large.bin")
	for size, want := range map[int64]int{skill.MaxFile: 200, skill.MaxFile + 1: 413} {
		must(t, os.WriteFile(large, nil, 0o644))
		must(t, os.Truncate(large, size))
		for _, route := range []string{"/skills/", "/raw/", "/api/v1/files/"} {
			path := route + "one/git/large.bin"
			a := f.get(path)
			if a.status != want || want == 413 && !strings.Contains(a.body, "another file 16 MiB") {
				t.Errorf("%s of %d bytes: %d %.300s", path, size, a.status, a.body)
			}
		}
	}
}

// TestFolderWithoutRoom checks that a folder is not reported as absent if there is no memory
// to look for it.
func TestFolderWithoutRoom(t *testing.T) {
	f := open(t, map[string]string{"one/git/SKILL.md": "---\nname: git\ndescription: d\n---\n", "one/git/docs/a.md": "a"})
	for units, want := range map[int64]int{1: http.StatusServiceUnavailable, 64 << 20: http.StatusFound} {
		room := limit.NewBudget(units, 0)
		room.Open("").Try(1)
		r := httptest.NewRequestWithContext(limit.WithAccount(t.Context(), room.Open("")), "GET", "/skills/one/git/docs", nil)
		w := httptest.NewRecorder()
		if f.site.ServeHTTP(w, r); w.Code != want {
			t.Errorf("with room for %d bytes: %d, want %d", units, w.Code, want)
		}
	}
}

// TestManyLines checks that a page shows the first lines of a file of 300,000 lines, and says that
// there are more.
func TestManyLines(t *testing.T) {
	text := "---\nname: git\ndescription: d\n---\n" + strings.Repeat("\n", 300_000)
	f := open(t, map[string]string{"one/git/SKILL.md": text, "one/git/lines.txt": strings.Repeat("\n", 300_000), "two/git/SKILL.md": text + "end"})
	for path, more := range map[string]string{
		"/skills/one/git/lines.txt":      `href="/raw/one/git/lines.txt">the raw file</a> is whole`,
		"/skills/one/git/?view=source":   `href="/raw/one/git/SKILL.md">the raw file</a> is whole`,
		"/skills/one/git/?view=compare":  "Only the beginnings are compared",
		"/skills/one/git/?view=problems": "",
	} {
		a := f.get(path)
		if a.status != 200 || !strings.Contains(a.body, more) || len(a.body) > 4<<20 {
			t.Errorf("%s: status %d, %d bytes, and %q is in it: %v", path, a.status, len(a.body), more, strings.Contains(a.body, more))
		}
	}
}
