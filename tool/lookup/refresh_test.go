package lookup

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/test/skilltest"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// These tests run in a synctest bubble, whose clock stops while a disk is read, so the machine's
// speed does not matter.

// scanned counts the scans of a folder.
type scanned struct {
	*dir.Source
	scans atomic.Int64
}

func (c *scanned) Scan(ctx context.Context) (skill.Scan, error) {
	c.scans.Add(1)
	return c.Source.Scan(ctx)
}

// slow is an empty root whose scans take half a second.
type slow struct {
	*skilltest.Memory
	scans atomic.Int64
}

func (s *slow) Scan(ctx context.Context) (skill.Scan, error) {
	s.scans.Add(1)
	<-time.After(500 * time.Millisecond)
	return s.Memory.Scan(ctx)
}

// TestAbsentNamesCostATenth checks that names of missing skills cost at most a tenth of the time if
// a refresh takes long.
func TestAbsentNamesCostATenth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &slow{Memory: &skilltest.Memory{In: skill.Root{Label: "dir-1", Scope: skill.ScopeProject, Dir: "/slow"}}}
		f := &Finder{Catalog: catalog.New([]catalog.Source{r}, catalog.Options{})}
		if err := f.Catalog.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		before, begun := r.scans.Load(), time.Now()
		for i := 0; time.Since(begun) < time.Minute; i++ {
			if _, e, err := f.Named(t.Context(), skilltest.View(t, f.Catalog), fmt.Sprint("none-", i)); e != nil || err != nil {
				t.Fatalf("none-%d: %v, %v", i, e, err)
			}
			testwait.Advance(100 * time.Millisecond)
		}
		if n := r.scans.Load() - before; n > 12 || n == 0 { // a scan every 5 s
			t.Errorf("%d scans of half a second in a minute", n)
		}
	})
}

// TestFruitlessRefreshesAreBounded checks that at most maxFruitless folders that stay unknown cause
// a refresh.
func TestFruitlessRefreshesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := t.TempDir()
		c := &scanned{Source: dir.New(dir.Options{Root: skill.Root{Label: "dir-1", Scope: skill.ScopeProject, Dir: root}})}
		f := &Finder{Catalog: catalog.New([]catalog.Source{c}, catalog.Options{})}
		if err := os.Mkdir(filepath.Join(root, "a"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, "a", "SKILL.md"), []byte(skilltest.Document("a", "d")), 0o644); err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			if err := os.Symlink("a", filepath.Join(root, fmt.Sprint("twice-", i))); err != nil {
				t.Skip(err)
			}
		}
		if err := f.Catalog.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		before, begun := c.scans.Load(), time.Now()
		for range 5 {
			testwait.Advance(minInterval / 3)
			for i := range 20 {
				if _, e, _ := f.Named(t.Context(), skilltest.View(t, f.Catalog), fmt.Sprint("twice-", i)); e != nil {
					t.Errorf("twice-%d is %s", i, e.Name)
				}
			}
		}
		intervals := int64(time.Since(begun)/minInterval) + 1
		if n := c.scans.Load() - before; n > (maxFruitless+2)*intervals || n < maxFruitless {
			t.Errorf("%d refreshes in %d intervals", n, intervals)
		}
	})
}

// listing is a root that lists its folders.
type listing struct{ *skilltest.Memory }

func (l *listing) Folders(match func(string) bool) (all []skill.Folder) {
	for file := range l.Files {
		if name := strings.TrimSuffix(file, "/"+skill.MainFile); match(name) {
			all = append(all, skill.Folder{Name: name, Main: true})
		}
	}
	return all
}

// TestFolderWithoutRefresh checks that Fresh is unsure of a folder that caused no refresh because
// too many others were fruitless. It may have a skill.
func TestFolderWithoutRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &listing{skilltest.Global(map[string]string{"a/SKILL.md": skilltest.Document("a", "A")})}
		c := catalog.New([]catalog.Source{r}, catalog.Options{})
		if err := c.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		f, v := &Finder{Catalog: c}, skilltest.View(t, c)
		folder := func(name string) catalog.FolderNow {
			return catalog.FolderNow{Folder: skill.Folder{Name: name, Main: true}, Root: r.Root()}
		}
		for i := range maxFruitless {
			one := folder(fmt.Sprint("vain-", i))
			f.refresh.note([]catalog.FolderNow{one}, []catalog.FolderNow{one}, time.Now().Add(time.Hour))
		}
		r.Files["new/SKILL.md"] = r.Files["a/SKILL.md"]
		if _, folder, unsure := f.Fresh(t.Context(), v, func(name string) bool { return name == "new" }); !folder || unsure == nil {
			t.Errorf("the folder is there: %v, and its skill is known: %v", folder, unsure == nil)
		}
		if worth, inVain := f.refresh.isWorth(folder("vain-0"), time.Now()); worth || !inVain {
			t.Errorf("one that was in vain: %v, %v", worth, inVain)
		}
	})
}

// hanging is a source whose scans, while hangs is set, end only with their context.
type hanging struct{ hangs atomic.Bool }

func (h *hanging) Root() skill.Root { return skill.Root{Label: "dir-1"} }

func (h *hanging) Scan(ctx context.Context) (skill.Scan, error) {
	if h.hangs.Load() {
		<-ctx.Done()
	}
	return skill.Scan{}, ctx.Err()
}

// TestFreshOfAnOlderView checks that Fresh is unsure after a refresh that left out a late root,
// even for a request with an older view.
func TestFreshOfAnOlderView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &hanging{}
		c := catalog.New([]catalog.Source{source}, catalog.Options{Patience: 2 * time.Second})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); _ = c.Run(ctx) }()
		<-c.Ready()
		v, err := c.View(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		source.hangs.Store(true)
		if err := c.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		f := Finder{Catalog: c}
		if _, _, unsure := f.Fresh(t.Context(), v, func(string) bool { return false }); unsure == nil {
			t.Error("it is sure of what the disk has, which does not answer")
		}
		stop()
		<-ended
	})
}
