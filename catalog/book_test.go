package catalog

import (
	"fmt"
	"testing"

	"github.com/knack-dev/knack/skill"
)

// A book that grows finds what a map finds, and nothing else.
func TestBook(t *testing.T) {
	for _, room := range []int{0, 3, 1000} {
		b := newBook(func(e *Entry) string { return string(e.Key) }, room)
		var entries []*Entry
		for i := range 1000 {
			entries = append(entries, &Entry{Key: skill.Key(fmt.Sprint(i))})
		}
		for i, e := range entries {
			if got := b.find(entries, string(e.Key)); got != nil {
				t.Fatalf("%d: found before it was taken in", i)
			}
			b.add(entries, i)
			if i%97 != 0 {
				continue
			}
			for k, e := range entries {
				want := e
				if k > i {
					want = nil
				}
				if got := b.find(entries, string(e.Key)); got != want {
					t.Fatalf("of %d, %d is %v, want %v", i, k, got, want)
				}
			}
		}
		for _, other := range []string{"", "1000", "-1"} {
			if got := b.find(entries, other); got != nil {
				t.Errorf("%q finds %v", other, got)
			}
		}
	}
	if got := (&book{}).find(nil, "x"); got != nil {
		t.Errorf("an empty book finds %v", got)
	}
}
