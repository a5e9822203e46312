package tool

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/test/difftest"
	"github.com/knack-dev/knack/internal/test/skilltest"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
	"github.com/knack-dev/knack/tool/lookup"
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

// countedHost serves an empty folder without a watcher.
func countedHost(t *testing.T) (*Host, *scanned, string) {
	t.Helper()
	root := t.TempDir()
	c := &scanned{Source: dir.New(dir.Options{Root: skill.Root{Label: "dir-1", Scope: skill.ScopeProject, Dir: root}})}
	cat := catalog.New([]catalog.Source{c}, catalog.Options{})
	if err := cat.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	return NewHost(cat), c, root
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

// Most of these tests run in a synctest bubble, whose clock stops while a disk is read, so the
// machine's speed does not matter.

// linkedTwice makes a skill and a link to its folder. The link stays unknown after every refresh.
func linkedTwice(t *testing.T, root string) {
	t.Helper()
	write(t, filepath.Join(root, "a", "SKILL.md"), md("a", "d"))
	if err := os.Symlink("a", filepath.Join(root, "twice")); err != nil {
		t.Skip(err)
	}
}

// TestAbsentNamesCostFewLooks checks that any number of names of missing skills from any number of
// callers costs one refresh in an interval. Names of folders that a refresh leaves unknown cost a
// few more.
func TestAbsentNamesCostFewLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, c, root := countedHost(t)
		write(t, filepath.Join(root, "bad", "SKILL.md"), "no frontmatter")
		linkedTwice(t, root)
		if err := os.Mkdir(filepath.Join(root, "empty"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := h.Catalog.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		const interval = time.Second // of package lookup
		before, begun := c.scans.Load(), time.Now()
		ask := func(i int) {
			call(t, h, "runner", "get_skill", args{"skill_name": fmt.Sprint("none-", i)})
			call(t, h, "runner", "read_file_in_skill", args{"skill_name": "none", "file_path": "x"})
			call(t, h, "default", "read_file_in_skill", args{"skill_name": "bad", "file_path": "SKILL.md"})
			call(t, h, "universal", "skill", args{"name": fmt.Sprint("none-", i)})
			call(t, h, "universal", "skill", args{"name": "bad"})
			call(t, h, "universal", "skill", args{"name": "Twice"})
			call(t, h, "wave", "Skill", args{"skill_name": "none"})
			call(t, h, "uri", "get_skill", args{"uri": "skill://none/SKILL.md"})
			difftest.Same(t, call(t, h, "runner", "get_skill", args{"skill_name": "empty"}).Text, `{"error":"SKILL.MD not found for skill 'empty'"}`)
		}
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() { ask(i) })
		}
		all.Wait()
		for i := range 50 {
			testwait.Advance(interval / 10)
			ask(i)
		}
		intervals := int64(time.Since(begun)/interval) + 1
		if n := c.scans.Load() - before; n > 3*intervals+1 || n == 0 { // the link costs one or two, missing names one
			t.Errorf("%d looks in %d intervals", n, intervals)
		}
	})
}

// TestNewSkillIsFoundByEveryContract checks that every contract finds a skill that is in a folder
// of its name when the call begins, without a watcher and directly after a refresh.
func TestNewSkillIsFoundByEveryContract(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, c, root := countedHost(t)
		for i, r := range []struct{ set, tool, args, want string }{
			{"universal", "skill", `{"name":"%s"}`, "Loading: %[1]s\nBase directory: %[2]s/%[1]s\n\n"},
			{"default", "skill", `{"name":" %s "}`, "Loading: %[1]s\nBase directory: %[2]s/%[1]s\n\n"},
			{"default", "skill", `{"name":"skill://%s/SKILL.md"}`, "Loading: %[1]s\nBase directory: %[2]s/%[1]s\n\n"},
			{"wave", "Skill", `{"skill_name":"%s"}`, "Skill: %[1]s (Type: project)\nPath: %[2]s/%[1]s\n\n"},
			{"uri", "get_skill", `{"uri":"skill://dir-1/%s/SKILL.md"}`, "Unsupported skill URI: skill://dir-1/%[1]s/SKILL.md\n"},
			{"uri", "get_skill", `{"uri":"skill://%s/SKILL.md"}`, "URI: skill://%[1]s/SKILL.md\n\n"},
			{"runner", "get_skill", `{"skill_name":"%s"}`, `{"skill_name":"%[1]s",`},
			{"runner", "read_file_in_skill", `{"skill_name":"%s","file_path":"SKILL.md"}`, "---\nname: %[1]s\n"},
			{"default", "read_file_in_skill", `{"skill_name":"%s","file_path":"SKILL.md"}`, "---\nname: %[1]s\n"},
		} {
			name := fmt.Sprint("skill-", i)
			before := c.scans.Load()
			write(t, filepath.Join(root, name, "SKILL.md"), md(name, "d"))
			got := call(t, h, r.set, r.tool, fmt.Sprintf(r.args, name)).Text
			if want := fmt.Sprintf(strings.ReplaceAll(r.want, "%[2]s", root), name); !strings.HasPrefix(got, want) {
				t.Errorf("%s %s: %.200q, want %q", r.set, r.args, got, want)
			}
			if n := c.scans.Load() - before; n != 1 {
				t.Errorf("%s %s: %d looks", r.set, r.args, n)
			}
		}
		uri, err := skill.ParseURI("skill://late/SKILL.md")
		difftest.Same(t, err, nil)
		write(t, filepath.Join(root, "late", "SKILL.md"), md("late", "d"))
		d, err := h.Document(t.Context(), uri) // as a resource
		difftest.Same(t, d, lookup.Document{Text: md("late", "d"), ModelInvocable: true})
		difftest.Same(t, err, nil)
	})
}

// TestSilentRootIsNotAskedAgain checks that a root that does not answer gets no second request. It
// delays a call by at most one wait, and the other roots are still read.
func TestSilentRootIsNotAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := t.TempDir()
		good := dir.New(dir.Options{Root: skill.Root{Label: "dir-2", Scope: skill.ScopeProject, Dir: root}})
		quiet := &silent{Memory: project(nil), answer: make(chan struct{})}
		c := catalog.New([]catalog.Source{quiet, good}, catalog.Options{Patience: 10 * time.Millisecond})
		if err := c.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		h := NewHost(c)
		write(t, filepath.Join(root, "late", "SKILL.md"), md("late", "d"))
		for range 3 {
			r := call(t, h, "universal", "skill", args{"name": "late"})
			if want := "Loading: late\n"; !strings.HasPrefix(r.Text, want) {
				t.Errorf("%q", r.Text)
			}
			call(t, h, "universal", "skill", args{"name": "none"})
		}
		if n := quiet.asked.Load(); n != 1 {
			t.Errorf("it was asked %d times", n)
		}
		close(quiet.answer)
	})
}

// silent is a root that does not return its folders until answer is closed.
type silent struct {
	*skilltest.Memory
	asked  atomic.Int64
	answer chan struct{}
}

func (s *silent) Folders(func(string) bool) []skill.Folder {
	s.asked.Add(1)
	<-s.answer
	return nil
}

// TestVanishedFolder checks that an answer reports a missing skill, and not the missing file in it.
func TestVanishedFolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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
			difftest.Same(t, call(t, h, set, "read_file_in_skill", args{"skill_name": "a", "file_path": "SKILL.md"}).Text, "ERROR: Skill 'a' not found in skills folder")
			difftest.Same(t, call(t, h, set, "read_file_in_skill", args{"skill_name": "b", "file_path": "x"}).Text, "ERROR: File 'x' not found in skill 'b'"+
				map[string]string{"default": ` (the file_path "." lists the files)`}[set])
		}
	})
}
