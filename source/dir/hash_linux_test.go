package dir

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/knack-dev/knack/internal/test/alloctest"
	"github.com/knack-dev/knack/skill"
)

// later returns a time at which the stamps of files made now prove that the files have not changed.
func later() time.Time { return time.Now().Add(skill.StampRacy + time.Second) }

// one loads the only skill of a fresh root on a file system that keeps stamps.
func one(t testing.TB, files map[string]string) (*skill.Skill, string) {
	t.Helper()
	root := tree(t, nil)
	add(t, filepath.Join(root, "s"), files)
	scan := scanned(t, pickOpener(), root)
	if len(scan.Bundles) == 0 || scan.Bundles[0].FS.(*folder).dev == 0 {
		t.Skip("this file system, or this kernel, keeps no stamps")
	}
	return skill.Load(scan.Bundles[0]), filepath.Join(root, "s")
}

func wholeOf(s *skill.Skill, known []skill.File) ([]skill.File, bool) {
	return hashSince(context.Background(), s.FS.(*folder), known, later())
}

// longWay makes the manifest file by file, as on a file system where Whole cannot make it in one
// pass.
func longWay(ctx context.Context, s *skill.Skill) ([]skill.File, error) {
	return (&skill.Skill{Bundle: &skill.Bundle{Path: s.Path, Entry: s.Entry, FS: struct{ fs.FS }{s.FS}}}).Manifest(ctx, nil)
}

const main = "---\nname: s\ndescription: S.\n---\n"

// TestWholeIsTheManifest checks that the single pass finds the same files as the general
// walk.
func TestWholeIsTheManifest(t *testing.T) {
	files := map[string]string{
		"SKILL.md": main, "skill.md": "another spelling", "empty": "", "a/b/c.txt": "deep", "a.txt": "sorted before a/",
		"big": strings.Repeat("x", 3*hashBuffer+5), "just": strings.Repeat("y", hashBuffer),
		".hidden": "no", ".git/config": "no", "a/.x": "no", "ü b.md": "name", "none/": "",
	}
	for i := range 400 {
		files[fmt.Sprintf("many/%04d-%s", i, strings.Repeat("n", 60))] = fmt.Sprint(i)
	}
	s, _ := one(t, files)
	got, ok := wholeOf(s, nil)
	want, err := longWay(t.Context(), s)
	if !ok || err != nil || len(got) != len(want) {
		t.Fatalf("%v, %v: %d files, not %d", ok, err, len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%+v, not %+v", got[i], want[i])
		}
	}
}

// TestWholeLeavesToTheLongWay checks that skills with problems, or with stamps that prove
// nothing, are left to the general walk.
func TestWholeLeavesToTheLongWay(t *testing.T) {
	deep := strings.Repeat("d/", skill.MaxDepth+1) + "f"
	many := map[string]string{"SKILL.md": main}
	for i := range skill.MaxFiles {
		many[fmt.Sprint("f", i)] = ""
	}
	for name, files := range map[string]map[string]string{
		"a link":           {"SKILL.md": main, "l": "->SKILL.md"},
		"a link far down":  {"SKILL.md": main, "a/b/l": "->../../SKILL.md"},
		"a link out":       {"SKILL.md": main, "l": "->/etc/passwd"},
		"a linked folder":  {"SKILL.md": main, "a/x": "", "l": "->a"},
		"too deep":         {"SKILL.md": main, deep: ""},
		"no name in a URI": {"SKILL.md": main, `a\b`: ""},
		"too many files":   many,
		"too many bytes":   {"SKILL.md": main, "big": strings.Repeat("x", skill.MaxSkillSize)},
	} {
		s, _ := one(t, files)
		if got, ok := wholeOf(s, nil); ok {
			t.Errorf("%s: %v", name, got)
		}
	}
	made := time.Now()
	s, at := one(t, map[string]string{"SKILL.md": main, "a/x": ""})
	if _, ok := hashSince(t.Context(), s.FS.(*folder), nil, made); ok {
		t.Error("young files are believed")
	}
	if _, ok := wholeOf(s, nil); !ok {
		t.Fatal("not even the plain one")
	}
	must(t, syscall.Mkfifo(filepath.Join(at, "a", "pipe"), 0o600))
	if _, ok := wholeOf(s, nil); ok {
		t.Error("a pipe is passed over")
	}
	must(t, os.Remove(filepath.Join(at, "a", "pipe")))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, ok := hashSince(ctx, s.FS.(*folder), nil, later()); ok {
		t.Error("the context has ended")
	}
	must(t, os.Rename(at, at+"-away"))
	must(t, os.Symlink(at+"-away", at))
	if got, ok := wholeOf(s, nil); ok {
		t.Errorf("the folder is a link by now: %v", got)
	}
}

// TestWholeReadsWhatHasChanged checks that Whole reads changed files and no others.
func TestWholeReadsWhatHasChanged(t *testing.T) {
	s, at := one(t, map[string]string{"SKILL.md": main, "a/x": "1", "b": "2"})
	first, ok := wholeOf(s, nil)
	if !ok {
		t.Fatal("no pass")
	}
	known := slices.Clone(first)
	for i := range known {
		known[i].Digest[0] ^= 1 // a read of the file reveals this
	}
	if got, ok := wholeOf(s, known); !ok || !slices.Equal(got, known) {
		t.Errorf("read again: %v, %v", got, ok)
	}
	// The clock of the file system may stand still for some milliseconds.
	until(t, "another stamp", func() bool {
		must(t, os.WriteFile(filepath.Join(at, "a", "x"), []byte("3"), 0o644))
		info, err := fs.Stat(s.FS, "a/x")
		must(t, err)
		return skill.StampOf(info) != known[1].Stamp
	})
	must(t, os.WriteFile(filepath.Join(at, "a", "y"), nil, 0o644))
	must(t, os.Remove(filepath.Join(at, "b")))
	got, ok := wholeOf(s, known)
	var names []string
	for _, f := range got {
		names = append(names, f.Path)
	}
	if !ok || !slices.Equal(names, []string{"SKILL.md", "a/x", "a/y"}) || got[0] != known[0] ||
		got[1].Digest != skill.DigestOf([]byte("3")) || got[2].Digest != skill.DigestOf(nil) {
		t.Errorf("%v: %v", ok, got)
	}
}

// TestWholeAllocates checks that a file costs only the allocations of its names, and that
// buffers are reused.
func TestWholeAllocates(t *testing.T) {
	files := map[string]string{"SKILL.md": main}
	for i := range 100 {
		files[fmt.Sprintf("a/%03d", i)] = "x"
	}
	s, _ := one(t, files)
	known, ok := wholeOf(s, nil)
	if !ok {
		t.Fatal("no pass")
	}
	f := s.FS.(*folder)
	for name, x := range map[string]struct {
		known []skill.File
		most  float64
	}{"cold": {nil, 5 * 101}, "known": {known, 5 * 101}} {
		if n := alloctest.Least(20, func() { hashSince(context.Background(), f, x.known, later()) }); n > x.most {
			t.Errorf("%s: %.0f allocations for 101 files", name, n)
		}
	}
}

func BenchmarkWhole(b *testing.B) {
	files := map[string]string{"SKILL.md": main + strings.Repeat("text\n", 1000)}
	for i := range 3 {
		files[fmt.Sprintf("a/%03d", i)] = strings.Repeat("x", 10_000)
	}
	s, _ := one(b, files)
	known, _ := wholeOf(s, nil)
	for name, known := range map[string][]skill.File{"cold": nil, "known": known} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := wholeOf(s, known); !ok {
					b.Fatal("no pass")
				}
			}
		})
	}
	b.Run("the long way", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := longWay(b.Context(), s); err != nil {
				b.Fatal(err)
			}
		}
	})
}
