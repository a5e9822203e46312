package tool

import (
	"context"
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/test/difftest"
	"github.com/knack-dev/knack/internal/test/skilltest"
	"github.com/knack-dev/knack/tool/profile"
)

var update = flag.Bool("update", false, "rewrite the goldens; read the difference before you commit it")

// The skills of these tests are in memory.
var project, global, md, entriesOf = skilltest.Project, skilltest.Global, skilltest.Document, skilltest.Entries

// hostOf returns a host that serves the skills of roots.
func hostOf(t testing.TB, roots ...*skilltest.Memory) *Host {
	t.Helper()
	return NewHost(skilltest.Catalog(t, roots...))
}

func viewOf(t testing.TB, h *Host) catalog.View {
	t.Helper()
	return skilltest.View(t, h.Catalog)
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

// call calls a tool. args is the JSON of the arguments, or a value to encode as JSON.
func call(t testing.TB, h *Host, set, name string, args any) Result {
	t.Helper()
	return callBy(t, h, profile.Client{}, set, name, args)
}

// callBy calls a tool as a given client.
func callBy(t testing.TB, h *Host, c profile.Client, set, name string, args any) Result {
	t.Helper()
	raw, ok := args.(string)
	if !ok {
		data, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		raw = string(data)
	}
	r, err := toolOf(t, set, name).Call(profile.WithClient(context.Background(), &c), h, json.RawMessage(raw))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

type args map[string]any

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
	difftest.Same(t, got, string(want))
}

// counting counts the opened files.
type counting struct {
	fs.FS
	opened *atomic.Int64
}

func (c counting) Open(name string) (fs.File, error) {
	c.opened.Add(1)
	return c.FS.Open(name)
}

func (c counting) Sub(dir string) (fs.FS, error) { return skilltest.Below(c, dir), nil }

// shop returns the library of most tests: a project's skills before the user's.
func shop() []*skilltest.Memory {
	return []*skilltest.Memory{
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
