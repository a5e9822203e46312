package catalog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/knack-dev/knack/skill"
)

// memory is a source of skills in memory that can change, fail, disappear and
// block. It counts how often a SKILL.md is opened.
type memory struct {
	version uint64 // of its scans
	root    skill.Root
	opens   atomic.Int64

	mu      sync.Mutex
	files   map[string]*fstest.MapFile
	clock   int64
	err     error
	missing bool
	poke    func()
	block   chan struct{} // while not nil, Scan waits for it
}

func source(label string, files ...string) *memory {
	m := &memory{root: skill.Root{Label: label, Scope: skill.ScopeProject, Shown: "." + label, Prefix: label}, files: map[string]*fstest.MapFile{}}
	for i := 0; i < len(files); i += 2 {
		m.write(files[i], files[i+1])
	}
	return m
}

func (m *memory) Root() skill.Root { return m.root }

// write gives a file new bytes and a unique stamp that is an hour old.
func (m *memory) write(name, data string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clock++
	m.files[name] = &fstest.MapFile{Data: []byte(data), ModTime: time.Now().Add(-time.Hour).Add(time.Duration(m.clock))}
}

func (m *memory) touch(name string, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files[name] = &fstest.MapFile{Data: m.files[name].Data, ModTime: at}
}

func (m *memory) remove(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.files, name)
}

func (m *memory) set(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

func (m *memory) Scan(ctx context.Context) (skill.Scan, error) {
	m.mu.Lock()
	block := m.block
	m.mu.Unlock()
	if block != nil {
		select {
		case <-block:
		case <-ctx.Done():
			return skill.Scan{}, ctx.Err()
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil || m.missing {
		return skill.Scan{Missing: m.missing}, m.err
	}
	byFolder := map[string]*skill.Bundle{}
	for name, f := range m.files {
		dir, base := path.Dir(name), path.Base(name)
		if !strings.EqualFold(base, skill.MainFile) {
			continue
		}
		b := byFolder[dir]
		if b == nil {
			b = &skill.Bundle{Path: dir, FS: folder{m, dir}, Extra: new(skill.Extra)}
			if dir == "." {
				b.In = &skill.Root{Dir: m.root.Label + "-root"}
			}
			byFolder[dir] = b
		}
		rank := func(n string) int { return slices.Index(skill.EntryNames[:], n) }
		switch {
		case rank(base) < 0:
			b.Extra.Others = append(b.Extra.Others, base)
			continue
		case b.Entry != "" && rank(b.Entry) < rank(base):
			b.Extra.Others = append(b.Extra.Others, base)
			continue
		case b.Entry != "":
			b.Extra.Others = append(b.Extra.Others, b.Entry)
		}
		b.Entry, b.Stamp = base, skill.Stamp{Size: int64(len(f.Data)), MTime: f.ModTime.UnixNano()}
	}
	s := skill.Scan{Version: m.version}
	for _, b := range byFolder {
		slices.Sort(b.Extra.Others)
		s.Bundles = append(s.Bundles, b)
	}
	return s, nil
}

// watched is a source that reports changes.
type watched struct{ *memory }

func (w watched) Watch(ctx context.Context, poke func()) {
	w.set(func() { w.poke = poke })
	<-ctx.Done()
}

// folder is the folder of one skill. Each call sees its present state.
type folder struct {
	m   *memory
	dir string
}

func (f folder) now() fstest.MapFS {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	out := fstest.MapFS{}
	for name, file := range f.m.files {
		if f.dir == "." {
			out[name] = file
		} else if rel, ok := strings.CutPrefix(name, f.dir+"/"); ok {
			out[rel] = file
		}
	}
	return out
}

func (f folder) Open(name string) (fs.File, error) {
	if strings.EqualFold(name, skill.MainFile) {
		f.m.opens.Add(1)
	}
	return f.now().Open(name)
}

func (f folder) Stat(name string) (fs.FileInfo, error) { return fs.Stat(f.now(), name) }

// text returns a SKILL.md.
func text(name, description string) string {
	return "---\nname: " + name + "\ndescription: " + description + "\n---\nBody of " + description + "\n"
}

// catalogOf returns a catalogue after its first scan.
func catalogOf(t testing.TB, sources ...Source) *Catalog {
	t.Helper()
	c := New(sources, Options{})
	refresh(t, c)
	return c
}

func refresh(t testing.TB, c *Catalog) {
	t.Helper()
	if err := c.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// slowDay is how long a test waits for an event that must happen.
const slowDay = 30 * time.Second

func view(t testing.TB, c *Catalog) View {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), slowDay)
	defer cancel()
	v, err := c.View(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// said formats entries as "status name uri".
func said(entries []*Entry) []string {
	var out []string
	for _, e := range entries {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s", e.Status, e.Name, e.URI())))
	}
	return out
}

// told records the changes that a catalogue delivers to its subscribers.
func told(c *Catalog) *[]string {
	var all []string
	c.Subscribe(func(d Diff) {
		line := fmt.Sprintf("v%d listing=%v", d.next.Version, d.Listing)
		for _, part := range []struct {
			sign    string
			entries []*Entry
		}{{"+", d.Added}, {"-", d.Removed}, {"*", d.Changed}} {
			for _, e := range part.entries {
				line += " " + part.sign + e.Path
			}
		}
		all = append(all, line)
	})
	return &all
}

var errDisk = errors.New("the disk is on fire")
