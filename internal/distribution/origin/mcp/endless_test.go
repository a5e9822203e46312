package mcp

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestEndless checks that reading an endless list of skills, or of a folder's members, ends with an
// error.
func TestEndless(t *testing.T) {
	for name, c := range map[string]struct {
		list, cursor string
		limit        time.Duration
		says         string
	}{
		"long cursors":              {"skills/list", strings.Repeat("x", 1<<20), 0, "a cursor of the server has more than 4 KiB"},
		"long cursors of a folder":  {"resources/directory/read", strings.Repeat("x", 1<<20), 0, "a cursor of the server has more than 4 KiB"},
		"slow pages":                {"skills/list", "", time.Millisecond, "was not complete after 1ms"},
		"slow pages of a directory": {"resources/directory/read", "", time.Millisecond, "was not complete after 1ms"},
	} {
		s := serve(t, map[string]string{"skill://pdf/SKILL.md": pdf})
		s.folders = true
		s.listing = func() []any {
			e := s.entry("skill://pdf", nil)
			e["resources"] = "dynamic"
			return []any{e}
		}
		pages := 0
		s.override = func(method string, _ map[string]any) (any, bool) {
			if method != c.list {
				return nil, false
			}
			if pages++; pages == 100_000 {
				t.Error(name, "goes on")
				return nil, false
			}
			return map[string]any{"skills": []any{}, "resources": []any{}, "nextCursor": fmt.Sprint(pages, c.cursor)}, true
		}
		_, got, err := s.take(t, func(o *Options) { o.listTime = c.limit })
		if err == nil {
			err = got.Failed["pdf"]
		}
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v after %d pages", name, err, pages)
		}
	}
}
