package catalog

import (
	"io/fs"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// slowFS is a file system that takes a second to open a file, and counts the opens.
type slowFS struct {
	fs.FS
	opened *atomic.Int64
}

func (f slowFS) Open(name string) (fs.File, error) {
	if name == "data.txt" {
		f.opened.Add(1)
		<-time.After(time.Second)
	}
	return f.FS.Open(name)
}

// TestManifestsAreShared checks that at most two manifests are made for many concurrent callers.
// The callers take no slot from a caller that reads a file of the skill.
func TestManifestsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := view(t, catalogOf(t, source("a", "x/SKILL.md", text("x", "one"), "x/data.txt", "d", "x/y.txt", "y")))
		x, s, b, opened := *v.Named("x"), *v.Named("x").Skill, *v.Named("x").Bundle, new(atomic.Int64)
		b.FS = slowFS{b.FS, opened}
		s.Bundle, x.Skill = &b, &s
		if _, _, err := v.Manifest(t.Context(), &x); err != nil {
			t.Fatal(err)
		}
		opened.Store(0)
		var wg sync.WaitGroup
		for i := range 3 * readsOfSkill {
			wg.Go(func() {
				<-time.After(time.Duration(i) * time.Millisecond)
				begun := time.Now()
				if _, files, err := v.Manifest(t.Context(), &x); err != nil || len(files) != 3 || time.Since(begun) > 2*time.Second {
					t.Errorf("%d files after %v: %v", len(files), time.Since(begun), err)
				}
			})
		}
		<-time.After(500 * time.Millisecond)
		begun := time.Now()
		if data, err := Await(t.Context(), v, &x, func() string { return "read" }); err != nil || data != "read" || time.Since(begun) > 0 {
			t.Errorf("a reader has %q after %v: %v", data, time.Since(begun), err)
		}
		wg.Wait()
		if n := opened.Load(); n > 2 {
			t.Errorf("the file was hashed %d times", n)
		}
	})
}
