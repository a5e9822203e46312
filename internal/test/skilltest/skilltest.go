// Package skilltest provides skills in memory for the tests of other packages.
package skilltest

import (
	"context"
	"io/fs"
	"path"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
)

// Memory is a root with skills in memory, and a [catalog.Source]. A test may change its files
// between calls.
type Memory struct {
	In    skill.Root
	Files fstest.MapFS
	FS    fs.FS // reads Files; a test may wrap it
}

// Root implements [catalog.Source].
func (m *Memory) Root() skill.Root { return m.In }

// Scan returns every folder that has a SKILL.md, in any spelling.
func (m *Memory) Scan(context.Context) (skill.Scan, error) {
	folders := map[string]*skill.Bundle{}
	for name := range m.Files {
		dir, file := path.Split(name)
		dir = path.Clean(dir)
		if !skill.IsEntryName(file) {
			continue
		}
		fsys, err := fs.Sub(m.FS, dir)
		if err != nil {
			return skill.Scan{}, err
		}
		b := folders[dir]
		if b == nil {
			b = &skill.Bundle{Path: dir, In: &m.In, FS: fsys}
			folders[dir] = b
		}
		for _, want := range skill.EntryNames {
			if m.Files[path.Join(dir, want)] != nil {
				b.Entry = want
				break
			}
		}
	}
	var scan skill.Scan
	for _, b := range folders {
		f := m.Files[path.Join(b.Path, b.Entry)]
		b.Stamp = skill.Stamp{Size: int64(len(f.Data)), MTime: f.ModTime.UnixNano()}
		scan.Bundles = append(scan.Bundles, b)
	}
	return scan, nil
}

// Put writes a file as an editor does, with the current time.
func (m *Memory) Put(name, content string) {
	m.Files[name] = &fstest.MapFile{Data: []byte(content), Mode: 0o644, ModTime: time.Now()}
}

// New makes a root from files, a map from path to content.
func New(label string, scope skill.Scope, files map[string]string) *Memory {
	m := &Memory{Files: fstest.MapFS{}, In: skill.Root{Label: label, Scope: scope, Prefix: label}}
	switch scope {
	case skill.ScopeProject:
		m.In.Dir, m.In.Shown = "/home/ana/shop/.claude/skills", ".claude/skills"
	case skill.ScopeGlobal:
		m.In.Dir, m.In.Shown = "/home/ana/.claude/skills", "~/.claude/skills"
	case skill.ScopeBuiltin:
		m.In.Prefix = ""
	}
	for name, content := range files {
		m.Files[name] = &fstest.MapFile{Data: []byte(content), Mode: 0o644, ModTime: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}
	}
	m.FS = m.Files
	return m
}

// Project makes a root of the project's skills.
func Project(files map[string]string) *Memory {
	return New("claude-project", skill.ScopeProject, files)
}

// Global makes a root of the user's skills.
func Global(files map[string]string) *Memory {
	return New("claude-user", skill.ScopeGlobal, files)
}

// Document returns a SKILL.md with this name and description.
func Document(name, description string) string {
	return "---\nname: " + name + "\ndescription: " + description + "\n---\n\n# " + name + "\n"
}

// Catalog returns a catalogue of the roots, after one scan.
func Catalog(t testing.TB, roots ...*Memory) *catalog.Catalog {
	t.Helper()
	sources := make([]catalog.Source, len(roots))
	for i, r := range roots {
		sources[i] = r
	}
	c := catalog.New(sources, catalog.Options{})
	if err := c.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	return c
}

// View returns the current view of a catalogue.
func View(t testing.TB, c *catalog.Catalog) catalog.View {
	t.Helper()
	v, err := c.View(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Entries makes a listing of the project's skills from alternating names and descriptions.
func Entries(texts ...string) []*catalog.Entry {
	var out []*catalog.Entry
	for i := 0; i < len(texts); i += 2 {
		out = append(out, &catalog.Entry{
			Skill: &skill.Skill{Name: texts[i], Description: texts[i+1]},
			Root:  &skill.Root{Scope: skill.ScopeProject},
		})
	}
	return out
}

// Deny returns a file system that refuses to open the files of these names.
func Deny(fsys fs.FS, names ...string) fs.FS { return denying{fsys, names} }

type denying struct {
	fs.FS
	names []string
}

func (d denying) Open(name string) (fs.File, error) {
	if slices.Contains(d.names, name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return d.FS.Open(name)
}

// Sub returns a sub file system that still refuses the names.
func (d denying) Sub(dir string) (fs.FS, error) { return Below(d, dir), nil }

// Below returns the folder dir of a file system. It is reached only through the Open of fsys.
func Below(fsys fs.FS, dir string) fs.FS { return below{fsys, dir} }

type below struct {
	fs  fs.FS
	dir string
}

func (b below) Open(name string) (fs.File, error) { return b.fs.Open(path.Join(b.dir, name)) }
