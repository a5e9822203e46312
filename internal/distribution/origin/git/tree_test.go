package git

import (
	"encoding/hex"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// long reports whether the tests use trees of the full size.
func long() bool { return os.Getenv("KNACK_LONG") != "" }

// TestLargeTree checks that all skills of a tree are found even if the tree is too large to keep
// whole, and that this takes bounded memory.
func TestLargeTree(t *testing.T) {
	testwait.Slow(t)
	u := newUpstream(t)
	files := 120_000
	if long() {
		files = 1_000_000
	}
	var b strings.Builder
	b.WriteString("blob\nmark :1\ndata 1\nx\nblob\nmark :2\ndata " + fmt.Sprint(len(pdf)) + "\n" + pdf + "\n")
	b.WriteString("commit refs/heads/main\ncommitter a <a@example.com> 0 +0000\ndata 1\nx\n")
	put := func(mark int, path string) { fmt.Fprintf(&b, "M 100644 :%d %s\n", mark, path) }
	for i := range files {
		put(1, fmt.Sprintf("data/%03d/%06d", i/1000, i))
	}
	put(2, "skills/pdf/SKILL.md")
	put(2, "skills/pdf/nested/SKILL.md")
	put(2, "skills/big/SKILL.md")
	put(2, "skills/big/z/SKILL.md")
	for i := range 6000 {
		put(1, fmt.Sprintf("skills/pdf/.cache/%d", i))
		put(1, fmt.Sprintf("skills/big/files/%d", i))
	}
	put(1, "skills/pdf/zzz")
	b.WriteString("\n")
	u.gitIn(b.String(), "fast-import", "--quiet")
	u.git("reset", "--mixed", "--quiet")

	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	skills, got := take(t, u.origin(nil), u.ref(""), origin.Revision{})
	runtime.ReadMemStats(&after)
	var paths []string
	for _, s := range skills {
		paths = append(paths, fmt.Sprintf("%s %d %v", s.Path, s.Left, s.Fault))
	}
	want := []string{
		"skills/big 0 the skill has more than 4,096 files", "skills/big/z 0 <nil>",
		"skills/pdf 1 <nil>", "skills/pdf/nested 0 <nil>",
	}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Error(diff)
	}
	if len(got.Files) != 5 || got.Files["skills/pdf: zzz"] != "x" || got.Files["skills/pdf: nested/SKILL.md"] != pdf {
		t.Error(got.Files)
	}
	asked := after.Sys - before.Sys
	t.Logf("%d entries: %d MiB more of the system", files, asked>>20)
	if asked > 128<<20 {
		t.Errorf("the tree takes %d MiB", asked>>20)
	}
	lib, err := u.origin(nil).Open(t.Context(), u.ref(""), origin.Revision{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(lib.(*library).tree.ids); n > 4110 {
		t.Errorf("%d entries are kept", n)
	}
}

// TestTreeOfTrees checks that the listing is bounded for a few trees that contain each other many
// times.
func TestTreeOfTrees(t *testing.T) {
	if !long() {
		t.Skip("lists ten million entries; KNACK_LONG=1")
	}
	u := newUpstream(t)
	id, _ := hex.DecodeString(u.blob(pdf))
	tree := u.raw("100644 SKILL.md\x00" + string(id))
	for range 10 {
		raw, _ := hex.DecodeString(tree)
		var b strings.Builder
		for i := range 10 {
			fmt.Fprintf(&b, "40000 %d\x00%s", i, raw)
		}
		tree = u.raw(b.String())
	}
	u.git("update-ref", "refs/heads/main", u.git("commit-tree", "-m", "a tree", tree))
	_, err := u.origin(nil).Open(t.Context(), u.ref(""), origin.Revision{})
	if err == nil || !strings.Contains(err.Error(), "it has more than 200,000 skills: name a folder of it") {
		t.Error(err)
	}
}

// TestCandidates checks that Find finds the same skills in the entries that are kept of a large
// tree as in all of its entries.
func TestCandidates(t *testing.T) {
	entries := []origin.Node{}
	for _, p := range []string{
		"README.md", "SKILL.md/x", "a/SKILL.md", "a/.x/y", "a/.x/z", "a/.x/SKILL.md", "a/b/c/d", "b/skill.md", "b/x", "c/x/y", "node_modules/q/SKILL.md", "d/Skill.MD/x", "e/../SKILL.md", "../SKILL.md", "/SKILL.md",
	} {
		entries = append(entries, origin.Node{Path: p, Size: -1})
	}
	for at := range entries {
		some := slices.Delete(slices.Clone(entries), at, at+1)
		c := candidates{}
		for _, e := range some {
			c.note(e.Path)
		}
		var nodes []origin.Node
		for _, e := range some {
			if c.keep(e.Path) {
				nodes = append(nodes, e)
			}
		}
		text := func(skills []origin.Skill) (lines []string) {
			for _, s := range skills {
				lines = append(lines, fmt.Sprintf("%+v", s))
			}
			return lines
		}
		if diff := cmp.Diff(text(origin.Find(some, "")), text(origin.Find(nodes, ""))); diff != "" {
			t.Errorf("without %s: %s", entries[at].Path, diff)
		}
	}
}
