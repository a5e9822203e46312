package mcpserver

import (
	"testing"

	"github.com/knack-dev/knack/catalog"
)

// TestPagesAheadAreBounded: pages that are never done, since a disk hangs, keep their
// places, be they waited for or not.
func TestPagesAheadAreBounded(t *testing.T) {
	var a pages
	var v catalog.View
	all := make([]*page, pagesAhead)
	for i := range all {
		all[i] = &page{of: v, from: i, done: make(chan struct{})}
		if !a.put(all[i]) {
			t.Fatalf("no room for page %d", i)
		}
	}
	another := &page{of: v, from: pagesAhead, done: make(chan struct{})}
	if a.put(another) {
		t.Error("one more is made than may be")
	}
	if p := a.take(v, 1); p != all[1] {
		t.Fatalf("took %p", p)
	}
	if a.take(v, 1) != nil {
		t.Error("two have one page")
	}
	if a.put(another) {
		t.Error("a page that is waited for has lost its place")
	}
	a.ready(all[1])
	if !a.put(another) {
		t.Error("a page that is done and taken keeps its place")
	}
	a.ready(all[2])
	if p := a.take(v, 2); p != all[2] || a.take(v, 2) != nil || len(a.ahead) != pagesAhead-1 {
		t.Errorf("took %p, and %d are left", p, len(a.ahead))
	}
}
