package catalog_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
)

// passSource is a manifestSource whose file system makes manifests in one pass.
type passSource struct {
	*manifestSource
	passes atomic.Int64
	refuse atomic.Bool
}

func (s *passSource) Scan(ctx context.Context) (skill.Scan, error) {
	scan, err := s.manifestSource.Scan(ctx)
	for i := range scan.Bundles {
		scan.Bundles[i].FS = s
	}
	return scan, err
}

func (s *passSource) Whole(ctx context.Context, known []skill.File) ([]skill.File, bool) {
	s.passes.Add(1)
	if s.refuse.Load() {
		return nil, false
	}
	plain := skill.Skill{Bundle: &skill.Bundle{Entry: "SKILL.md", FS: s.manifestSource}}
	files, err := plain.Manifest(ctx)
	return files, err == nil
}

func passing(t *testing.T) (*passSource, catalog.View, *catalog.Manifests) {
	t.Helper()
	plain, _, _ := manifests(t)
	s := &passSource{manifestSource: plain}
	c := catalog.New([]catalog.Source{s}, catalog.Options{})
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	v, err := c.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s, v, catalog.NewManifests(c)
}

type manifestOf = func(context.Context, catalog.View, *catalog.Entry) (*catalog.Entry, []skill.File, error)

func digestOf(t *testing.T, of manifestOf, v catalog.View, path string) skill.Digest {
	t.Helper()
	return digestOfEntry(t, of, v, v.Entries[0], path)
}

func digestOfEntry(t *testing.T, of manifestOf, v catalog.View, e *catalog.Entry, path string) skill.Digest {
	t.Helper()
	_, files, err := of(t.Context(), v, e)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Path == path {
			return f.Digest
		}
	}
	return skill.Digest{}
}

// announce has the manifest of the only skill made, and waits until it is.
func announce(t *testing.T, s *passSource, v catalog.View, m *catalog.Manifests) {
	t.Helper()
	was := s.passes.Load()
	m.Ahead(v, 0)
	for end := time.Now().Add(10 * time.Second); s.passes.Load() == was; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nothing is made ahead")
		}
	}
}

// TestAheadIsForLists: what was made ahead answers one list, and nothing that must
// be of now.
func TestAheadIsForLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, v, m := passing(t)
		announce(t, s, v, m)
		s.set("a.txt", "new", time.Now().Add(-time.Minute))
		if digestOf(t, m.Of, v, "a.txt") != skill.DigestOf([]byte("new")) {
			t.Error("Of answers with what was")
		}
		announce(t, s, v, m)
		was := s.passes.Load()
		digestOf(t, ofList(m), v, "a.txt")
		if n := s.passes.Load(); n != was {
			t.Errorf("%d passes for a list of what was made ahead", n-was)
		}
		s.set("a.txt", "newer", time.Now().Add(-time.Second*30))
		if digestOf(t, ofList(m), v, "a.txt") != skill.DigestOf([]byte("newer")) {
			t.Error("the same answers two lists")
		}
	})
}

// TestPassThatDoesNotDo: the long way has the answer, and is gone at once the next
// time.
func TestPassThatDoesNotDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, v, m := passing(t)
		s.refuse.Store(true)
		for range 3 {
			if digestOf(t, m.Of, v, "a.txt") != skill.DigestOf([]byte("a")) {
				t.Error("no manifest")
			}
		}
		if n := s.passes.Load(); n != 1 {
			t.Errorf("%d passes are tried", n)
		}
	})
}

// ofList is [Manifests.OfList] without the time.
func ofList(m *catalog.Manifests) manifestOf {
	return func(ctx context.Context, v catalog.View, e *catalog.Entry) (*catalog.Entry, []skill.File, error) {
		now, files, _, err := m.OfList(ctx, v, e)
		return now, files, err
	}
}
