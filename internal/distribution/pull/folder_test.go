package pull_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/pull"
	"github.com/knack-dev/knack/internal/test/registrytest"
)

// write writes files into a folder, by path.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// read returns the files of a folder, with their contents.
func read(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		below, _ := filepath.Rel(dir, at)
		if d.Type() == fs.ModeSymlink {
			all[filepath.ToSlash(below)] = "a link"
			return nil
		}
		data, err := os.ReadFile(at)
		all[filepath.ToSlash(below)] = string(data)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return all
}

// TestUnpack checks that a release is unpacked completely into a folder, and again only after a
// change.
func TestUnpack(t *testing.T) {
	dir := t.TempDir()
	source, to := filepath.Join(dir, "source"), filepath.Join(dir, "out", "skills")
	files := map[string]string{
		"a/SKILL.md": registrytest.Skill("a", "1"), "a/x/y": "z", "a/inner/SKILL.md": registrytest.Skill("inner", ""),
		"group/b/SKILL.md": registrytest.Skill("b", ""), "README": "not a skill",
	}
	write(t, source, files)
	r := newReplica(t, filepath.Join(dir, "knack"))
	ref, err := origin.Parse(source, "/", "/")
	if err != nil {
		t.Fatal(err)
	}
	folder := pull.Folder{Dir: to, Store: r.store}
	unpack := func(want bool) {
		t.Helper()
		got, _ := r.must(source)
		if changed, err := folder.Unpack(t.Context(), ref, got); err != nil || changed != want {
			t.Errorf("changed: %v, want %v; %v", changed, want, err)
		}
		found := read(t, to)
		text := found[lockfile.Name]
		delete(found, lockfile.Name)
		expected := map[string]string{}
		for name, text := range files {
			if name != "README" {
				expected[name] = text
			}
		}
		if diff := cmp.Diff(expected, found); diff != "" {
			t.Error(diff)
		}
		lock, err := lockfile.Parse([]byte(text))
		if err != nil || len(lock.Skills) != 3 || lock.Skills["group/b"].Name != "b" || len(lock.Skills["a"].Files) != 3 {
			t.Errorf("%v: %s", err, text)
		}
		if left := read(t, filepath.Join(dir, "out", ".knack")); len(left) > 0 {
			t.Errorf("left over: %v", left)
		}
	}
	unpack(true)
	before, err := os.Stat(to)
	if err != nil {
		t.Fatal(err)
	}
	unpack(false)
	if now, err := os.Stat(to); err != nil || !os.SameFile(before, now) {
		t.Error("an unchanged folder was replaced")
	}
	files["a/SKILL.md"] = registrytest.Skill("a", "2")
	write(t, source, files)
	unpack(true)
	if err := os.Remove(filepath.Join(to, "a/x/y")); err != nil {
		t.Fatal(err)
	}
	unpack(true)

	// The old folder of a command that was killed during the exchange is removed.
	killed := filepath.Join(dir, "out", ".knack", ".knack-AAAAAAAAAAAAAAAAAAAAAAAAAA", "swap")
	if err := os.CopyFS(killed, os.DirFS(to)); err != nil {
		t.Fatal(err)
	}
	unpack(false)
}

// TestUnpackAtOnce checks that, of several commands that make the same folder concurrently, exactly
// one makes it. The others fail with a hint, or find the folder up to date.
func TestUnpackAtOnce(t *testing.T) {
	dir := t.TempDir()
	source, to := filepath.Join(dir, "source"), filepath.Join(dir, "skills")
	write(t, source, map[string]string{"a/SKILL.md": registrytest.Skill("a", "1")})
	r := newReplica(t, filepath.Join(dir, "knack"))
	ref, err := origin.Parse(source, "/", "/")
	if err != nil {
		t.Fatal(err)
	}
	got, _ := r.must(source)
	made := make([]bool, 16)
	var all sync.WaitGroup
	for i := range made {
		all.Go(func() {
			changed, err := pull.Folder{Dir: to, Store: r.store}.Unpack(t.Context(), ref, got)
			if made[i] = changed; err != nil && !strings.HasSuffix(err.Error(), to+": it exists already: another command has just made it, so run this one again") {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := slices.DeleteFunc(made, func(ok bool) bool { return !ok }); len(n) != 1 {
		t.Errorf("%d made it", len(n))
	}
	if left := read(t, filepath.Join(dir, ".knack")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

// TestUnpackForeign checks that files that knack did not write are never replaced.
func TestUnpackForeign(t *testing.T) {
	dir := t.TempDir()
	source, other := filepath.Join(dir, "source"), filepath.Join(dir, "other")
	files := map[string]string{"a/SKILL.md": registrytest.Skill("a", "1"), "b/SKILL.md": registrytest.Skill("b", "1")}
	write(t, source, files)
	write(t, other, files)
	r := newReplica(t, filepath.Join(dir, "knack"))
	got, _ := r.must(source)
	foreign, _ := r.must(other)
	parse := func(text string) origin.Ref {
		ref, err := origin.Parse(text, "/", "/")
		if err != nil {
			t.Fatal(err)
		}
		return ref
	}
	for name, c := range map[string]struct {
		spoil func(to string) error
		want  string
	}{
		"a file":     {func(to string) error { return os.WriteFile(filepath.Join(to, "mine"), nil, 0o600) }, "has 1 file that knack did not write there, or that was changed since: 'mine': move it away, or name another folder"},
		"a dot-file": {func(to string) error { return os.WriteFile(filepath.Join(to, "a", ".env"), nil, 0o600) }, "'a/.env'"},
		"a change":   {func(to string) error { return os.WriteFile(filepath.Join(to, "a", "SKILL.md"), nil, 0o600) }, "'a/SKILL.md'"},
		"a link":     {func(to string) error { return os.Symlink("/etc/passwd", filepath.Join(to, "a", "link")) }, "'a/link'"},
		"no lock":    {func(to string) error { return os.Remove(filepath.Join(to, lockfile.Name)) }, "has 2 files that knack did not write there, or that were changed since: 'a/SKILL.md', 'b/SKILL.md': move them away"},
		"its lock":   {func(to string) error { return os.WriteFile(filepath.Join(to, lockfile.Name), []byte("{"), 0o600) }, "knack.lock cannot be read as knack wrote it"},
		"linked": {func(to string) error {
			return errors.Join(os.Rename(to, to+"-real"), os.Symlink(to+"-real", to))
		}, "is a link"},
		"another source": {func(to string) error {
			if err := os.RemoveAll(to); err != nil {
				return err
			}
			_, err := pull.Folder{Dir: to, Store: r.store}.Unpack(t.Context(), parse(other), foreign)
			return err
		}, "has skills of '"},
	} {
		t.Run(name, func(t *testing.T) {
			to := filepath.Join(t.TempDir(), "out", "skills")
			folder := pull.Folder{Dir: to, Store: r.store}
			if _, err := folder.Unpack(t.Context(), parse(source), got); err != nil {
				t.Fatal(err)
			}
			if err := c.spoil(to); err != nil {
				t.Fatal(err)
			}
			before := read(t, filepath.Dir(to))
			if err := folder.Check(t.Context(), parse(source)); !errors.Is(err, pull.ErrForeign) {
				t.Errorf("checked: %v", err)
			}
			changed, err := folder.Unpack(t.Context(), parse(source), got)
			if changed || !errors.Is(err, pull.ErrForeign) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, %v\nwant %s", changed, err, c.want)
			}
			if diff := cmp.Diff(before, read(t, filepath.Dir(to))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestUnpackDamaged checks that a damaged skill of the store is not unpacked, and that it is
// fetched again.
func TestUnpackDamaged(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "source")
	write(t, source, map[string]string{"a/SKILL.md": registrytest.Skill("a", "1")})
	r := newReplica(t, filepath.Join(dir, "knack"))
	got, _ := r.must(source)
	at := filepath.Join(r.store.Folder(got.Skills[0].Skill), "SKILL.md")
	if err := errors.Join(os.Chmod(at, 0o600), os.WriteFile(at, []byte("hostile"), 0o600)); err != nil {
		t.Fatal(err)
	}
	ref, err := origin.Parse(source, "/", "/")
	if err != nil {
		t.Fatal(err)
	}
	folder := pull.Folder{Dir: filepath.Join(dir, "out"), Store: r.store}
	if _, err := folder.Unpack(t.Context(), ref, got); err == nil || !strings.Contains(err.Error(), "is damaged") {
		t.Error(err)
	}
	if got := read(t, folder.Dir); len(got) > 0 {
		t.Errorf("%v", got)
	}
	got, _ = r.must(source)
	if changed, err := folder.Unpack(t.Context(), ref, got); err != nil || !changed {
		t.Error(changed, err)
	}
}
