package tool

import (
	"context"
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
)

var update = flag.Bool("update", false, "rewrite the goldens; read the difference before you commit it")

// memory is a root with skills in memory. Files may change between calls.
type memory struct {
	root  skill.Root
	files fstest.MapFS
	fsys  fs.FS // over files, where a test puts something between
}

func (m *memory) Root() skill.Root { return m.root }

// Scan finds every folder with a SKILL.md in any spelling.
func (m *memory) Scan(context.Context) (skill.Scan, error) {
	folders := map[string]*skill.Bundle{}
	for name := range m.files {
		dir, file := path.Split(name)
		dir = path.Clean(dir)
		if !slices.Contains(skill.EntryNames[:], file) {
			continue
		}
		fsys, err := fs.Sub(m.fsys, dir)
		if err != nil {
			return skill.Scan{}, err
		}
		b := folders[dir]
		if b == nil {
			b = &skill.Bundle{Path: dir, In: &m.root, FS: fsys}
			folders[dir] = b
		}
		for _, want := range skill.EntryNames {
			if m.files[path.Join(dir, want)] != nil {
				b.Entry = want
				break
			}
		}
	}
	var scan skill.Scan
	for _, b := range folders {
		f := m.files[path.Join(b.Path, b.Entry)]
		b.Stamp = skill.Stamp{Size: int64(len(f.Data)), MTime: f.ModTime.UnixNano()}
		scan.Bundles = append(scan.Bundles, b)
	}
	return scan, nil
}

// put writes a file like an editor.
func (m *memory) put(name, content string) {
	m.files[name] = &fstest.MapFile{Data: []byte(content), Mode: 0o644, ModTime: time.Now()}
}

var written = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// rootOf makes a root with files by path.
func rootOf(label string, scope skill.Scope, files map[string]string) *memory {
	m := &memory{files: fstest.MapFS{}, root: skill.Root{Label: label, Scope: scope, Prefix: label}}
	switch scope {
	case skill.ScopeProject:
		m.root.Dir, m.root.Shown = "/home/ana/shop/.claude/skills", ".claude/skills"
	case skill.ScopeGlobal:
		m.root.Dir, m.root.Shown = "/home/ana/.claude/skills", "~/.claude/skills"
	case skill.ScopeBuiltin:
		m.root.Prefix = ""
	}
	for name, content := range files {
		m.files[name] = &fstest.MapFile{Data: []byte(content), Mode: 0o644, ModTime: written}
	}
	m.fsys = m.files
	return m
}

func project(files map[string]string) *memory {
	return rootOf("claude-project", skill.ScopeProject, files)
}

func global(files map[string]string) *memory {
	return rootOf("claude-user", skill.ScopeGlobal, files)
}

func builtinRoot(files map[string]string) *memory {
	return rootOf("builtin", skill.ScopeBuiltin, files)
}

// md is a SKILL.md.
func md(name, description string) string {
	return "---\nname: " + name + "\ndescription: " + description + "\n---\n\n# " + name + "\n"
}

// hostOf serves roots over stdio.
func hostOf(t testing.TB, roots ...*memory) *Host {
	t.Helper()
	sources := make([]catalog.Source, len(roots))
	for i, r := range roots {
		sources[i] = r
	}
	c := catalog.New(sources, catalog.Options{})
	if err := c.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	return &Host{Catalog: c}
}

func viewOf(t testing.TB, h *Host) catalog.View {
	t.Helper()
	v, err := h.Catalog.View(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// toolsOf returns the tools of a set.
func toolsOf(t testing.TB, set string) []*Tool {
	t.Helper()
	tools, err := ParseSets(set)
	if err != nil {
		t.Fatal(err)
	}
	return tools
}

// toolOf returns the tool with that name in a set.
func toolOf(t testing.TB, set, name string) *Tool {
	t.Helper()
	tl := find(toolsOf(t, set), name)
	if tl == nil {
		t.Fatalf("the set %s has no tool %s", set, name)
	}
	return tl
}

// call calls a tool with arguments as JSON, or as a value to be written as JSON.
func call(t testing.TB, h *Host, set, name string, args any) Result {
	t.Helper()
	return callBy(t, h, Client{}, set, name, args)
}

// callBy makes a call of a client.
func callBy(t testing.TB, h *Host, c Client, set, name string, args any) Result {
	t.Helper()
	raw, ok := args.(string)
	if !ok {
		data, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		raw = string(data)
	}
	r, err := toolOf(t, set, name).Call(WithClient(context.Background(), c), h, json.RawMessage(raw))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

type args map[string]any

// same compares whole answers.
func same(t testing.TB, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// golden compares a text with a file, byte for byte.
func golden(t testing.TB, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", filepath.FromSlash(name))
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, string(want))
}

// forbidding is a file system that refuses some names.
type forbidding struct {
	fs.FS
	names []string
}

func (f forbidding) Open(name string) (fs.File, error) {
	if slices.Contains(f.names, name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return f.FS.Open(name)
}

// Sub keeps the wrapper around the sub file system.
func (f forbidding) Sub(dir string) (fs.FS, error) { return below{f, dir}, nil }

// counting counts the opened files.
type counting struct {
	fs.FS
	opened *atomic.Int64
}

func (c counting) Open(name string) (fs.File, error) {
	c.opened.Add(1)
	return c.FS.Open(name)
}

func (c counting) Sub(dir string) (fs.FS, error) { return below{c, dir}, nil }

// below is a folder of a file system, reached through its Open alone.
type below struct {
	fs.FS
	dir string
}

func (b below) Open(name string) (fs.File, error) { return b.FS.Open(path.Join(b.dir, name)) }

// shop returns the library of most tests: a project's skills before the user's.
func shop() []*memory {
	return []*memory{
		project(map[string]string{
			"git/SKILL.md":      "---\nname: git\ndescription: Git deployment workflow skill\n---\n\n# Git Deployment GitOps\n\n## Overview\n\nManage commits and merge requests...\n",
			"postgres/SKILL.md": md("postgres", "PostgreSQL database operations"),
		}),
		global(map[string]string{
			"git/SKILL.md":         md("git", "Git as I use it"),
			"mcp-builder/SKILL.md": md("mcp-builder", "MCP server development guide"),
		}),
	}
}
