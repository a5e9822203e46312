package tool

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// scanned counts the scans of a folder.
type scanned struct {
	*dir.Source
	scans atomic.Int64
}

func (c *scanned) Scan(ctx context.Context) (skill.Scan, error) {
	c.scans.Add(1)
	return c.Source.Scan(ctx)
}

// countedHost serves an empty folder, and no watcher looks after it.
func countedHost(t *testing.T) (*Host, *scanned, string) {
	t.Helper()
	root := t.TempDir()
	c := &scanned{Source: dir.New(dir.Options{Root: skill.Root{Label: "dir-1", Scope: skill.ScopeProject, Dir: root}})}
	cat := catalog.New([]catalog.Source{c}, catalog.Options{})
	if err := cat.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &Host{Catalog: cat}, c, root
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Contracts 000 and 001 find a skill as soon as it is on the disk.
func TestNewSkillIsReadAtOnce(t *testing.T) {
	h, _, root := countedHost(t)
	write(t, filepath.Join(root, "first", "SKILL.MD"), "# First")
	same(t, call(t, h, "runner", "get_skill", args{"skill_name": "first"}).Text, `{"skill_name":"first","documentation":"# First"}`)
	write(t, filepath.Join(root, "second", "SKILL.MD"), "# Second")
	same(t, call(t, h, "runner", "read_file_in_skill", args{"skill_name": "second", "file_path": "SKILL.MD"}).Text, "# Second")
	write(t, filepath.Join(root, "third", "SKILL.md"), md("third", "d"))
	same(t, call(t, h, "default", "read_file_in_skill", args{"skill_name": "third", "file_path": "SKILL.md"}).Text, md("third", "d"))
}

// No scan is had for a name that no folder has, nor one for each of many calls.
func TestUnknownNamesCostNoScan(t *testing.T) {
	h, c, root := countedHost(t)
	write(t, filepath.Join(root, "bad", "SKILL.md"), "no frontmatter")
	if err := h.Catalog.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := c.scans.Load()
	for i := range 20 {
		call(t, h, "runner", "get_skill", args{"skill_name": fmt.Sprint("none-", i)})
		call(t, h, "runner", "read_file_in_skill", args{"skill_name": "none", "file_path": "x"})
		call(t, h, "default", "read_file_in_skill", args{"skill_name": "bad", "file_path": "SKILL.md"})
	}
	same(t, c.scans.Load(), before)
	if err := os.Mkdir(filepath.Join(root, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	same(t, call(t, h, "runner", "get_skill", args{"skill_name": "empty"}).Text, `{"error":"SKILL.MD not found for skill 'empty'"}`)
	same(t, c.scans.Load(), before+1)
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() { call(t, h, "runner", "get_skill", args{"skill_name": "empty"}) })
	}
	all.Wait()
	if n := c.scans.Load() - before; n > 201 {
		t.Errorf("%d scans for 201 calls", n)
	}
}

// That the skill is missing stands before that the file is.
func TestVanishedFolder(t *testing.T) {
	h, _, root := countedHost(t)
	write(t, filepath.Join(root, "a", "SKILL.md"), md("a", "d"))
	write(t, filepath.Join(root, "b", "SKILL.md"), md("b", "d"))
	if err := h.Catalog.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(root, "a")); err != nil {
		t.Fatal(err)
	}
	for _, set := range []string{"runner", "default"} {
		same(t, call(t, h, set, "read_file_in_skill", args{"skill_name": "a", "file_path": "SKILL.md"}).Text, "ERROR: Skill 'a' not found in skills folder")
		same(t, call(t, h, set, "read_file_in_skill", args{"skill_name": "b", "file_path": "x"}).Text, "ERROR: File 'x' not found in skill 'b'")
	}
}
