package catalog_test

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// TestFirstScanHashes what a list waits for, once and for a moment; and nothing that
// nobody has asked for, and nothing for those who must have what is there now.
func TestFirstScanHashes(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only there a scan can prove that what it hashes is of one state")
	}
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		at := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	skills := []string{"a", "b", "c", "d"}
	lay := func() {
		for _, s := range skills {
			write(s+"/SKILL.md", "---\nname: "+s+"\ndescription: D.\n---\n")
			write(s+"/in/x", "before")
		}
		time.Sleep(skill.StampRacy + 100*time.Millisecond)
	}
	lay()
	src := dir.New(dir.Options{Root: skill.Root{Label: "dir-1", Dir: root}})
	if scan, err := src.Scan(t.Context()); err != nil || len(scan.Bundles) != len(skills) {
		t.Fatal(len(scan.Bundles), err)
	} else if _, ok := skill.Load(scan.Bundles[0]).Whole(t.Context(), nil); !ok {
		t.Skip("this file system, or this kernel, keeps no stamps")
	}
	for _, expect := range []bool{true, false} {
		lay()
		var expected atomic.Int32
		c := catalog.New([]catalog.Source{dir.New(dir.Options{Root: skill.Root{Label: "dir-1", Dir: root}})}, catalog.Options{Expected: func() { expected.Add(1) }})
		m := catalog.NewManifests(c)
		if expect {
			m.Expect()
			m.Expect()
		}
		scanned := time.Now()
		if err := c.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		m.Expect()
		if n := expected.Load(); n != map[bool]int32{true: 1}[expect] {
			t.Errorf("expect %t: told %d times", expect, n)
		}
		v, err := c.View(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range skills {
			write(s+"/in/x", "after")
		}
		told := func(i int, of manifestOf) string {
			t.Helper()
			if now := digestOfEntry(t, of, v, v.Entries[i], "in/x"); now == skill.DigestOf([]byte("before")) {
				return "before"
			} else if now == skill.DigestOf([]byte("after")) {
				return "after"
			}
			return "neither"
		}
		first := "after"
		if expect {
			first = "before"
		}
		got := []string{told(0, ofList(m)), told(0, ofList(m)), told(1, m.Of), told(1, ofList(m))}
		if time.Since(scanned) > catalog.AheadGood {
			t.Skip("this machine is too busy to tell")
		}
		want := []string{first, "after", "after", "after"}
		// What is too old is not told any more, and what was dropped neither.
		time.Sleep(time.Until(scanned.Add(catalog.AheadGood + 100*time.Millisecond)))
		got, want = append(got, told(2, ofList(m))), append(want, "after")
		if !slices.Equal(got, want) {
			t.Errorf("expect %t: %q, not %q", expect, got, want)
		}
	}
}
