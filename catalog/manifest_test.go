package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
)

// manifestSource is a source of one skill whose files a test changes. It counts reads.
type manifestSource struct {
	mu    sync.Mutex
	files fstest.MapFS
	gone  bool
	reads atomic.Int64
	state uint64            // the scan's Version
	hook  func(name string) // called at each read
}

func (s *manifestSource) Root() skill.Root { return skill.Root{Label: "dir-1", Shown: "skills"} }

func (s *manifestSource) Scan(context.Context) (skill.Scan, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		return skill.Scan{}, nil
	}
	info, err := fs.Stat(s.files, "SKILL.md")
	if err != nil {
		return skill.Scan{}, nil
	}
	return skill.Scan{Version: s.state, Bundles: []*skill.Bundle{{Path: "one", Entry: "SKILL.md", Stamp: skill.StampOf(info), FS: s}}}, nil
}

// Open implements [fs.FS], since the source is also the file system of the skill.
func (s *manifestSource) Open(name string) (fs.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := s.files.Open(name)
	if info, statErr := fs.Stat(s.files, name); err == nil && statErr == nil && !info.IsDir() {
		s.reads.Add(1)
		if s.hook != nil {
			s.mu.Unlock()
			s.hook(name)
			s.mu.Lock()
		}
	}
	return f, err
}

// Stat does not count as a read.
func (s *manifestSource) Stat(name string) (fs.FileInfo, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fs.Stat(s.files, name)
}

func (s *manifestSource) set(name, text string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := fstest.MapFS{}
	for k, v := range s.files {
		next[k] = v
	}
	next[name] = &fstest.MapFile{Data: []byte(text), ModTime: at}
	s.files = next
}

const oneText = "---\nname: one\ndescription: One.\n---\n"

func manifests(t *testing.T) (*manifestSource, *catalog.Catalog) {
	t.Helper()
	old := time.Now().Add(-time.Hour)
	s := &manifestSource{}
	s.set("SKILL.md", oneText, old)
	s.set("a.txt", "a", old)
	s.set("b/c.txt", "c", old)
	c := catalog.New([]catalog.Source{s}, catalog.Options{})
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s, c
}

func manifest(t *testing.T, c *catalog.Catalog) (*catalog.Entry, map[string]string, error) {
	t.Helper()
	v, err := c.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Entries) == 0 {
		t.Fatal("the skill is gone")
	}
	e, files, err := v.Manifest(t.Context(), v.Entries[0])
	out := map[string]string{}
	for _, f := range files {
		out[f.Path] = f.Digest.String()
	}
	return e, out, err
}

func TestManifestHashesEachVersionOnce(t *testing.T) {
	s, c := manifests(t)
	s.reads.Store(0)
	for range 3 {
		if _, files, err := manifest(t, c); err != nil || len(files) != 3 || files["a.txt"] != skill.DigestOf([]byte("a")).String() {
			t.Fatal(files, err)
		}
	}
	if n := s.reads.Load(); n != 2 { // the catalogue has read SKILL.md
		t.Errorf("%d reads for 2 files", n)
	}
	s.set("a.txt", "o", time.Now().Add(-30*time.Minute))
	if _, files, err := manifest(t, c); err != nil || files["a.txt"] != skill.DigestOf([]byte("o")).String() {
		t.Error(files, err)
	}
	if n := s.reads.Load(); n != 3 {
		t.Errorf("%d reads, 3 are due", n)
	}
}

// TestManifestDistrustsYoungFiles checks that a young file is hashed again: a second write
// within the clock's resolution leaves the same stamp.
func TestManifestDistrustsYoungFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := manifests(t)
		now := time.Now()
		s.set("a.txt", "x", now)
		_, _, _ = manifest(t, c)
		s.set("a.txt", "y", now)
		if _, files, err := manifest(t, c); err != nil || files["a.txt"] != skill.DigestOf([]byte("y")).String() {
			t.Error(files, err)
		}
	})
}

func TestManifestAndEntryAgree(t *testing.T) {
	s, c := manifests(t)
	s.set("SKILL.md", strings.Replace(oneText, "One.", "Changed.", 1), time.Now().Add(-time.Minute))
	e, files, err := manifest(t, c) // no refresh in between
	if err != nil || e.Description != "Changed." || files["SKILL.md"] != e.Digest.String() {
		t.Error(e.Description, files, err)
	}
}

func TestManifestRefuses(t *testing.T) {
	old := time.Now().Add(-time.Hour)
	for name, x := range map[string]struct {
		change func(*manifestSource)
		want   error
	}{
		"at the limit of bytes": {func(s *manifestSource) { s.set("big", strings.Repeat("x", 16<<20-len(oneText)-2), old) }, nil},
		"a byte more":           {func(s *manifestSource) { s.set("big", strings.Repeat("x", 16<<20-len(oneText)-1), old) }, skill.ErrTooLarge},
		"512 files": {func(s *manifestSource) {
			for i := range 509 {
				s.set(fmt.Sprint("f", i), "", old)
			}
		}, nil},
		"513 files": {func(s *manifestSource) {
			for i := range 510 {
				s.set(fmt.Sprint("f", i), "", old)
			}
		}, skill.ErrTooLarge},
		"gone":          {func(s *manifestSource) { s.files, s.gone = fstest.MapFS{}, true }, fs.ErrNotExist},
		"not available": {func(s *manifestSource) { s.set("SKILL.md", "no frontmatter", old) }, fs.ErrNotExist},
		"never still": {func(s *manifestSource) {
			n := 0
			s.hook = func(string) { n++; s.set("a.txt", fmt.Sprint(n), old.Add(time.Duration(n)*time.Second)) }
		}, skill.ErrUnstable},
	} {
		s, c := manifests(t)
		x.change(s)
		if _, _, err := manifest(t, c); !errors.Is(err, x.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestStampThatDoesNotChange writes other bytes under an equal stamp, as a write through a memory
// mapping can do. It checks that the stamp is no longer trusted after a read has found the new
// bytes.
func TestStampThatDoesNotChange(t *testing.T) {
	s, c := manifests(t)
	s.state = 1 // the stamps alone show no change of the tree
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	rewrite := func(name, text string) { s.set(name, text, s.files[name].ModTime) }
	main := func(word string) string { return strings.Replace(oneText, "One", word, 1) }
	view := func() (catalog.View, *catalog.Entry) {
		v, err := c.View(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return v, v.Entries[0]
	}
	expect := func(name, text string) {
		t.Helper()
		e, files, err := manifest(t, c)
		if err != nil || files[name] != skill.DigestOf([]byte(text)).String() || files["SKILL.md"] != e.Digest.String() {
			t.Errorf("%s: %v %v", name, files, err)
		}
	}
	expect("a.txt", "a")

	rewrite("a.txt", "b")
	v, e := view()
	if data, err := v.ReadFile(t.Context(), e, "a.txt", 1); string(data) != "b" || err != nil {
		t.Fatalf("%q, %v", data, err)
	}
	expect("a.txt", "b")
	rewrite("a.txt", "c")
	expect("a.txt", "c")

	rewrite("SKILL.md", main("Two"))
	if _, now, err := v.Read(t.Context(), e); err != nil || now.Description != "Two." {
		t.Fatal(now.Description, err)
	}
	expect("SKILL.md", main("Two"))
	rewrite("SKILL.md", main("Six"))
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, e := view(); e.Description != "Six." {
		t.Errorf("after a refresh: %s", e.Description)
	}
	expect("SKILL.md", main("Six"))
}
