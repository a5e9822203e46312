package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/distribution/origin"
)

// TestBatchBounds checks that all skills of a batch are counted together, before they
// arrive.
func TestBatchBounds(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "knack"), Options{Room: func(string) (edit.Space, bool) { return edit.Space{}, false }})
	many := make([]origin.Skill, origin.MaxSkills)
	if err := begin(t, s).Expect(many); err != nil {
		t.Error(err)
	}
	half := edit.Extent{Entries: origin.MaxEntries / 2}
	for _, parts := range [][][]origin.Skill{
		{append(slices.Clone(many), origin.Skill{})}, {many, {{}}}, // too many skills
		{{{Extent: half}, {Extent: half}, {}}}, {{{Extent: half}, {Extent: half}}, {{}}}, // too many files
	} {
		b := begin(t, s)
		for i, part := range parts {
			last := i == len(parts)-1
			if err := b.Expect(part); errors.Is(err, origin.ErrLimit) != last {
				t.Errorf("part %d of %d: %v", i+1, len(parts), err)
			}
		}
	}
}

// TestBatchUnannounced checks that unannounced files are counted when they arrive.
func TestBatchUnannounced(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "knack"), Options{})
	b := begin(t, s)
	if err := b.Expect([]origin.Skill{{Path: "x"}}); err != nil {
		t.Fatal(err)
	}
	const depth = 500 // folders of one file
	var err error
	for i := 0; err == nil && i < 2*origin.MaxEntries/depth; i++ {
		path := fmt.Sprint(i, "/", strings.Repeat("a/", depth-1), "x")
		_, _, err = b.admit("x", origin.File{Path: path, Size: -1})
	}
	if !errors.Is(err, origin.ErrLimit) || b.Err() == nil {
		t.Error(err, b.Err())
	}
	if _, err := b.Finish("x"); !errors.Is(err, origin.ErrLimit) {
		t.Error(err)
	}
	if entries, _ := os.ReadDir(s.path(skillsFolder)); len(entries) > 0 {
		t.Error("something was stored")
	}
}
