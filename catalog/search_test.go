package catalog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/knack-dev/knack/internal/test/difftest"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/skill"
)

// foundBy returns the folders of the skills that a query finds.
func foundBy(t testing.TB, v View, q Query) (folders []string) {
	t.Helper()
	found, err := v.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range found.Hits {
		folders = append(folders, h.Folder())
	}
	if q.Limit == 0 && found.Total != len(folders) {
		t.Errorf("%v: %d hits of %d", q, len(folders), found.Total)
	}
	return folders
}

// searched returns the entries that a model finds.
func searched(t testing.TB, v View, text string) (entries []*Entry) {
	t.Helper()
	found, err := v.Search(t.Context(), Query{Text: text})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range found.Hits {
		entries = append(entries, h.Entry)
	}
	return entries
}

const userOnly = "---\nname: %s\ndescription: Secret plans for git\ndisable-model-invocation: true\n---\n# Hidden heading\n"

// TestSearchHides checks that a model finds only skills that it may load. People also find
// skills that are kept from models. No search finds skipped skills or copies.
func TestSearchHides(t *testing.T) {
	v := view(t, catalogOf(t,
		source("a", "git/SKILL.md", text("git", "Secret one"), "kept/SKILL.md", fmt.Sprintf(userOnly, "kept"), "bad/SKILL.md", "---\nname: bad\n---\nSecret"),
		source("b", "copy/SKILL.md", text("git", "Secret one"), "other/SKILL.md", text("git", "Secret two"), "kept2/SKILL.md", fmt.Sprintf(userOnly, "git"))))
	for query, want := range map[string][2][]string{
		"secret": {{"git", "other"}, {"git", "other", "kept", "kept2"}},
		"kept":   {nil, {"kept"}}, // the skill in kept2 has less than a fifth of the score of kept
		"hidden": {nil, {"kept", "kept2"}},
		"plans":  {nil, {"kept", "kept2"}},
		"":       {{"git", "other"}, {"git", "kept", "kept2", "other"}},
		"bad":    {nil, nil},
	} {
		difftest.Same(t, foundBy(t, v, Query{Text: query}), want[0], query+" for models")
		difftest.Same(t, foundBy(t, v, Query{Text: query, People: true}), want[1], query+" for people")
	}
}

// TestSearchOnABlockedDisk checks that a silent disk delays no search beyond its context or the
// catalogue's patience. Until the disk answers, its skills are found by everything but their
// headings.
func TestSearchOnABlockedDisk(t *testing.T) {
	for _, patience := range []time.Duration{0, 300 * time.Millisecond} {
		t.Run(patience.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { searchBlocked(t, patience) })
		})
	}
}

func searchBlocked(t *testing.T, patience time.Duration) {
	disk := &turnstile{memory: source("a", "git/SKILL.md", text("git", "Commits")+"# Rebasing\n")}
	c := New([]Source{disk, source("b", "hg/SKILL.md", text("hg", "Commits")+"# Rebasing\n")}, Options{Patience: patience})
	refresh(t, c)
	v := view(t, c)
	open := disk.close()
	if patience == 0 {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if _, err := v.Search(ctx, Query{Text: "commits"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a context that ends: %v", err)
		}
		select {
		case <-v.indexing.done:
			t.Error("the search has waited for the disk")
		default:
		}
		open()
		difftest.Same(t, foundBy(t, v, Query{Text: "rebasing"}), []string{"git", "hg"}, "when it answers")
		return
	}
	difftest.Same(t, foundBy(t, v, Query{Text: "commits"}), []string{"hg", "git"}, "all but the text")
	difftest.Same(t, foundBy(t, v, Query{Text: "rebasing"}), []string{"hg"}, "of the disk that answers")
	open()
	waitFor(t, "the headings are read", func() bool { return len(foundBy(t, v, Query{Text: "rebasing"})) == 2 })
}

// TestHeadingsOfADiskThatCameBack checks that headings missing after a disk hung are read
// when the disk answers, although its skills have not changed.
func TestHeadingsOfADiskThatCameBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &turnstile{memory: source("a", "git/SKILL.md", text("git", "Commits")+"# Rebasing\n")}
		c := New([]Source{&versionedTurnstile{disk}}, Options{Patience: 300 * time.Millisecond})
		refresh(t, c)
		open := disk.close()
		block := make(chan struct{})
		disk.set(func() { disk.block = block })
		difftest.Same(t, foundBy(t, view(t, c), Query{Text: "rebasing"}), []string(nil), "of the disk that hangs")
		testwait.Advance(2 * headingsMost) // no goroutine is still reading
		refresh(t, c)
		if late := c.current.Load(); !late.Roots[0].Late() {
			t.Fatal("the disk hangs, and its root is not late")
		}
		disk.set(func() { disk.block = nil })
		close(block)
		open()
		testwait.Advance(time.Second)
		refresh(t, c)
		if r := c.current.Load().Roots[0]; r.Err != nil {
			t.Fatal(r.Err)
		}
		testwait.Advance(time.Second)
		difftest.Same(t, foundBy(t, view(t, c), Query{Text: "rebasing"}), []string{"git"}, "of the disk that came back")
	})
}

// versionedTurnstile is a turnstile whose scans all have the same version.
type versionedTurnstile struct{ *turnstile }

func (s *versionedTurnstile) Scan(ctx context.Context) (skill.Scan, error) {
	scan, err := s.turnstile.Scan(ctx)
	scan.Version = 7
	return scan, err
}

// turnstile is a source whose files can be opened only while it is open.
type turnstile struct {
	*memory
	mu   sync.Mutex
	wait chan struct{}
}

func (s *turnstile) close() (open func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wait := make(chan struct{})
	s.wait = wait
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.wait = nil
		close(wait)
	}
}

func (s *turnstile) Scan(ctx context.Context) (skill.Scan, error) {
	scan, err := s.memory.Scan(ctx)
	for i := range scan.Bundles {
		scan.Bundles[i].FS = turnstileFS{scan.Bundles[i].FS, s}
	}
	return scan, err
}

type turnstileFS struct {
	fs.FS
	s *turnstile
}

func (f turnstileFS) Open(name string) (fs.File, error) {
	f.s.mu.Lock()
	wait := f.s.wait
	f.s.mu.Unlock()
	if wait != nil {
		<-wait
	}
	return f.FS.Open(name)
}

// TestSearchIgnoresWhatIsNew checks that a file that differs from the snapshot gives no
// headings. Search results and the listing show one state.
func TestSearchIgnoresWhatIsNew(t *testing.T) {
	m := source("a", "git/SKILL.md", text("git", "Commits")+"# Rebasing\n")
	c := catalogOf(t, m)
	v := view(t, c)
	m.write("git/SKILL.md", text("git", "Commits")+"# Bisecting\n")
	difftest.Same(t, foundBy(t, v, Query{Text: "rebasing"}), []string(nil), "what was")
	difftest.Same(t, foundBy(t, v, Query{Text: "bisecting"}), []string(nil), "what is")
	difftest.Same(t, foundBy(t, v, Query{Text: "commits"}), []string{"git"}, "both have")
	refresh(t, c)
	difftest.Same(t, foundBy(t, view(t, c), Query{Text: "bisecting"}), []string{"git"}, "what is")
}

// TestSearchIgnoresWhatLooksTheSame checks that a young file gives no headings after a write
// within the clock's resolution, which leaves its stamp.
func TestSearchIgnoresWhatLooksTheSame(t *testing.T) {
	const name = "git/SKILL.md"
	at := time.Now()
	m := source("a", name, text("git", "Commits")+"# Rebasing.\n")
	m.set(func() { m.files[name].ModTime = at })
	v := view(t, catalogOf(t, m))
	m.set(func() {
		m.files[name] = &fstest.MapFile{Data: []byte(text("git", "Commits") + "# Bisecting\n"), ModTime: at}
	})
	difftest.Same(t, foundBy(t, v, Query{Text: "bisecting"}), []string(nil), "what is")
	difftest.Same(t, foundBy(t, v, Query{Text: "commits"}), []string{"git"}, "both have")
}

// TestIndexFollowsRefresh checks that after a first search, a refresh makes the next index
// before a search needs it.
func TestIndexFollowsRefresh(t *testing.T) {
	m := source("a", "git/SKILL.md", text("git", "Commits"))
	c := catalogOf(t, m)
	m.write("a/SKILL.md", text("a", "One"))
	refresh(t, c)
	if view(t, c).indexing.begun.Load() {
		t.Error("indexed, and nobody asked")
	}
	foundBy(t, view(t, c), Query{Text: "git"})
	m.write("b/SKILL.md", text("b", "Two"))
	refresh(t, c)
	select {
	case <-view(t, c).indexing.done:
	case <-t.Context().Done():
		t.Error("never indexed")
	}
}

// TestIndexOfAPart checks that the index of a part shares the documents with the index of the
// whole. It must read only a copy of a hidden skill, which the whole does not search.
func TestIndexOfAPart(t *testing.T) {
	a := source("a", "git/SKILL.md", text("git", "Commits"), "hg/SKILL.md", text("hg", "Commits")+"# Shelving\n")
	b := source("b", "copy/SKILL.md", text("git", "Commits"))
	c := catalogOf(t, a, b)
	v := view(t, c)
	difftest.Same(t, foundBy(t, v, Query{Text: "commits"}), []string{"git", "hg"}, "the whole")
	read := a.opens.Load() + b.opens.Load()
	w, err := c.View(WithFilter(t.Context(), &Filter{Visible: func(e *Entry) bool { return e.Path != "git" }}))
	if err != nil {
		t.Fatal(err)
	}
	difftest.Same(t, foundBy(t, w, Query{Text: "commits"}), []string{"copy", "hg"}, "a part")
	difftest.Same(t, foundBy(t, w, Query{Text: "shelving"}), []string{"hg"}, "its headings")
	if n := a.opens.Load() + b.opens.Load() - read; n != 1 {
		t.Errorf("%d files read", n)
	}
	if c.index.Load() != v.indexing.index.Load() {
		t.Error("the next index would be made of the part's")
	}
}
