//go:build unix

package dir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/knack-dev/knack/skill"
)

// TestLinksBackIntoTheSkill checks that a link is judged by its target. The skill's own absolute
// path, or a path through the folder above, leads back in. Any other path outside leads out, even
// if it begins like the skill's path.
func TestLinksBackIntoTheSkill(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	secret := "outside"
	for name, text := range map[string]string{"r/s/SKILL.md": "main", "r/s/ref/a.md": "deep", "r/s/.env": secret, "r/s2/SKILL.md": secret, "r/s/real/SKILL.md": "nested", "far/l/SKILL.md": "linked", "far/l/a.md": "deep", "far/x.md": secret} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(top, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(top, name), []byte(text), 0o644))
	}
	link := func(name, to string) { must(t, os.Symlink(to, filepath.Join(top, name))) }
	link("alias", "r")
	link("r/l", "../far/l")
	for _, c := range []struct {
		link, to, path, want string
		err                  error
	}{
		{"s/abs.md", top + "/r/s/ref/a.md", "abs.md", "deep", nil},
		{"s/dir", top + "/r/s/ref", "dir/a.md", "deep", nil},
		{"s/self", top + "/r/s", "self/self/ref/a.md", "deep", nil},
		{"s/odd.md", top + "//r/./s2/../s/ref/a.md", "odd.md", "", skill.ErrOutside}, // by way of another skill
		{"s/up.md", "../s/SKILL.md", "up.md", "main", nil},
		{"s/upup.md", "../../r/s/ref/../SKILL.md", "upup.md", "main", nil},
		{"s/ref/up.md", "../../s/ref/a.md", "ref/up.md", "deep", nil},
		{"s/aliased.md", top + "/alias/s/ref/a.md", "aliased.md", "deep", nil}, // by the path of the root whose links are not resolved
		{"s/behind.md", top + "/alias/../r/s/SKILL.md", "behind.md", "", skill.ErrOutside},

		{"s/env.md", top + "/r/s/.env", "env.md", "", fs.ErrNotExist},
		{"s/gone.md", top + "/r/s/gone", "gone.md", "", fs.ErrNotExist},
		{"s/sibling.md", top + "/r/s2/SKILL.md", "sibling.md", "", skill.ErrOutside},
		{"s/upsibling.md", "../s2/SKILL.md", "upsibling.md", "", skill.ErrOutside},
		{"s/parent", top + "/r", "parent/s2/SKILL.md", "", skill.ErrOutside},
		{"s/out.md", top + "/r/s/../s2/SKILL.md", "out.md", "", skill.ErrOutside},
		{"s/loop.md", top + "/r/s/loop.md", "loop.md", "", syscall.ELOOP},

		{"l/abs.md", top + "/far/l/a.md", "abs.md", "deep", nil},
		{"l/shown.md", top + "/r/l/a.md", "shown.md", "deep", nil},
		{"l/aliased.md", top + "/alias/l/a.md", "aliased.md", "deep", nil},
		{"l/up.md", "../l/a.md", "up.md", "deep", nil},
		{"l/far.md", top + "/far/x.md", "far.md", "", skill.ErrOutside},
		{"l/s.md", top + "/r/s/SKILL.md", "s.md", "", skill.ErrOutside},
	} {
		link("r/"+c.link, c.to)
		for doorName, d := range doors() {
			for _, given := range []string{"r", "alias"} {
				if c.path == "aliased.md" && given == "r" || c.path == "shown.md" && given == "alias" {
					continue // the source does not know that path of the root
				}
				scan := scanned(t, d, filepath.Join(top, given))
				for _, b := range scan.Bundles {
					if b.Path != c.link[:1] {
						continue
					}
					got, err := readAll(b.FS, c.path)
					if got != c.want || !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
						t.Errorf("%s, %s -> %s, root %s: %q, %v", doorName, c.link, c.to, given, got, err)
					}
				}
				for _, n := range scan.Notices {
					if n.Path == c.link && (n.Rule == RuleLinkOutside) != (c.err == skill.ErrOutside) {
						t.Errorf("%s, %s -> %s, root %s: notice %s", doorName, c.link, c.to, given, n.Rule)
					}
				}
			}
		}
		must(t, os.Remove(filepath.Join(top, "r", c.link)))
	}
}

// TestFolders checks which direct child folders Folders returns, and that it reports whether each
// has a SKILL.md.
func TestFolders(t *testing.T) {
	root := tree(t, map[string]string{"a/SKILL.md": "x", "A/skill.md": "x", "b/notes.md": "x", "c": "a file", "l": "->a", "deep/er/SKILL.md": "x"})
	s := New(Options{Root: skill.Root{Label: "x", Dir: root}})
	got := map[string]bool{}
	for _, f := range s.Folders(func(string) bool { return true }) {
		got[f.Name] = f.Main
		if f.Err != nil {
			t.Errorf("%s: %v", f.Name, f.Err)
		}
	}
	want := map[string]bool{"a": true, "A": true, "b": false, "l": true, "deep": false}
	for name, main := range want {
		if has, ok := got[name]; !ok || has != main {
			t.Errorf("%s: %v, %v", name, has, ok)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%v", got)
	}
}
