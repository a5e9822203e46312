package dir

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/test/difftest"
	"github.com/knack-dev/knack/skill"
)

// junctions presents each symbolic link as Go presents a junction on Windows: it is irregular, and
// neither a folder nor a link. A link called odd cannot be read, like another kind of link.
type junctions struct{ opener }

func (d junctions) folder(dir string, plain bool) (handle, error) {
	h, err := d.opener.folder(dir, plain)
	if err != nil {
		return nil, err
	}
	return junctionHandle{h}, nil
}

type junctionHandle struct{ handle }

func (h junctionHandle) enter(name string) (handle, error) {
	in, err := h.handle.enter(name)
	if err != nil {
		return nil, err
	}
	return junctionHandle{in}, nil
}

func (h junctionHandle) list(name string, most int) (handle, []fs.DirEntry, error) {
	in, entries, err := h.handle.list(name, most)
	if in != nil {
		in = junctionHandle{in}
	}
	for i, e := range entries {
		if e.Type()&fs.ModeSymlink != 0 {
			entries[i] = junction{e}
		}
	}
	return in, entries, err
}

func (h junctionHandle) lstat(name string) (*info, error) {
	in, err := h.handle.lstat(name)
	if err == nil && in.mode&fs.ModeSymlink != 0 {
		in.mode = in.mode&^fs.ModeSymlink | fs.ModeIrregular
	}
	return in, err
}

func (h junctionHandle) readlink(name string) (string, error) {
	if path.Base(name) == "odd" {
		return "", fs.ErrNotExist
	}
	return h.handle.readlink(name)
}

type junction struct{ fs.DirEntry }

func (junction) IsDir() bool       { return false }
func (junction) Type() fs.FileMode { return fs.ModeIrregular }

// TestJunctionsAreLinks checks that junctions obey the rules of symbolic links: beside the skills,
// in a skill, and if they leave the skill or the root.
func TestJunctionsAreLinks(t *testing.T) {
	root := tree(t, map[string]string{"a/SKILL.md": "", "a/docs/file": "text", "b/c/SKILL.md": "", "d/": ""})
	outside := tree(t, map[string]string{"linked/SKILL.md": "", "secret": "text"})
	for name, target := range map[string]string{
		"child": filepath.Join(outside, "linked"), "d/deep": filepath.Join(outside, "linked"), "d/within": filepath.Join(root, "b"), "gone": filepath.Join(outside, "gone"),
		"a/out": outside, "a/inner": filepath.Join(root, "a", "docs"), "a/round": filepath.Join(root, "a", "round"), "a/gone": filepath.Join(root, "a", "gone-too"),
	} {
		if err := os.Symlink(target, filepath.Join(root, filepath.FromSlash(name))); err != nil {
			t.Skip(err)
		}
	}
	links, as := scanned(t, rootOpener{}, root), scanned(t, junctions{rootOpener{}}, root)
	want := []string{"a", "b/c", "child"}
	difftest.Same(t, paths(as), want)
	want = []string{"a/gone link-dangling", "a/out link-outside", "a/round link-loop", "d/deep link-outside", "d/within link-duplicate", "gone link-dangling"}
	difftest.Same(t, rules(as), want)
	if diff := cmp.Diff(links.Notices, as.Notices, cmp.Comparer(func(a, b error) bool { return errors.Is(a, b) })); diff != "" {
		t.Errorf("-symbolic links +junctions:\n%s", diff)
	}
	for _, b := range as.Bundles {
		if b.Path != "a" {
			continue
		}
		if text, err := fs.ReadFile(b.FS, "inner/file"); string(text) != "text" || err != nil {
			t.Errorf("through a junction in the skill: %q, %v", text, err)
		}
		for _, name := range []string{"out/secret", "out/linked/SKILL.md", "out"} {
			if _, err := b.FS.Open(name); !errors.Is(err, skill.ErrOutside) {
				t.Errorf("%s: %v", name, err)
			}
		}
		list, err := fs.ReadDir(b.FS, ".")
		must(t, err)
		var names []string
		for _, e := range list {
			names = append(names, e.Name())
		}
		difftest.Same(t, names, []string{"SKILL.md", "docs", "inner"})
	}
}

// TestTargetsOfWindows checks which targets of junctions are followed. Such a target is an absolute
// path of Windows. It is followed only if it leads back into its skill, in upper or lower case.
func TestTargetsOfWindows(t *testing.T) {
	me := ownPaths{real: "/c:/users/ana/skills/a", alias: "/server/share/skills/a", windows: true}
	for target, want := range map[string]string{
		`C:\Users\Ana\skills\a\docs`: "docs", `c:\users\ana\SKILLS\A\Docs\B`: "Docs/B", `C:/Users/Ana/skills/a/docs`: "docs",
		`\\?\C:\Users\Ana\skills\a\docs`: "docs", `\\Server\share\skills\a\docs`: "docs", `C:\Users\Ana\skills\a`: "",
		`\\.\C:\Users\Ana\skills\a\docs`: "docs", `C:\Users\Ana\skills\..\skills\a\docs`: "docs",
		`C:\Users\Ana\skills\ab\docs`: "-", `C:\Users\Ana\skills`: "-", `D:\Users\Ana\skills\a\docs`: "-", `C:docs`: "-", `\Users\Ana\skills\a\docs`: "-",
		`\\?\Volume{0123}\skills\a`: "-", `C:\Users\Ana\skills\..\b`: "-",
	} {
		if !me.rooted(target) {
			t.Errorf("%s is not rooted", target)
		}
		rest, ok := me.reenter("/", me.parts(target))
		got := strings.Join(rest, "/")
		if !ok {
			got = "-"
		}
		if got != want {
			t.Errorf("%s leads to %q, want %q", target, got, want)
		}
	}
	for _, target := range []string{"docs", `docs\x`, `..\b`, "d"} {
		if me.rooted(target) {
			t.Errorf("%s is rooted", target)
		}
	}
	if me := (ownPaths{}); me.rooted(`C:\x`) || me.spelt("A") != "A" || len(me.parts(`a\b`)) != 1 {
		t.Error("a name of another system is taken for a path of Windows")
	}
}
