package release_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/release"
	"github.com/knack-dev/knack/internal/distribution/store"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// shelf is a store in a folder, and a source that serves a release from it.
type shelf struct {
	t       *testing.T
	store   *store.Store
	source  *release.Source
	catalog *catalog.Catalog
	damaged []string
}

func newShelf(t *testing.T) *shelf {
	t.Helper()
	s, err := store.Open(filepath.Join(t.TempDir(), "knack"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	k := &shelf{t: t, store: s}
	k.source = release.New(release.Options{
		Root: skill.Root{Label: "acme", Prefix: "acme", Scope: skill.ScopeProject}, Store: s,
		Damaged: func(_ skill.Digest, path string) { k.damaged = append(k.damaged, path) },
	})
	k.catalog = catalog.New([]catalog.Source{k.source}, catalog.Options{})
	return k
}

// md returns the text of a SKILL.md.
func md(name, text string) string {
	return "---\nname: " + name + "\ndescription: Works with " + name + ".\n---\n" + text + "\n"
}

// put stores the skills to which files belong, by paths such as "pdf/SKILL.md".
func (k *shelf) put(files map[string]string) store.Release {
	k.t.Helper()
	b, err := k.store.Batch(context.Background())
	if err != nil {
		k.t.Fatal(err)
	}
	defer b.Close()
	var folders []string
	for path, content := range files {
		folder, file, _ := strings.Cut(path, "/")
		if !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
		if err := b.File(folder, origin.File{Path: file, Size: -1}, strings.NewReader(content)); err != nil {
			k.t.Fatal(err)
		}
	}
	slices.Sort(folders)
	r := store.Release{Digest: skill.DigestOf(fmt.Append(nil, files)).String()}
	for _, folder := range folders {
		s, err := b.Finish(folder)
		if err != nil {
			k.t.Fatal(err)
		}
		r.Skills = append(r.Skills, s.Member(folder))
	}
	if err := k.store.Record(r); err != nil {
		k.t.Fatal(err)
	}
	return r
}

func (k *shelf) refresh() catalog.View {
	k.t.Helper()
	if err := k.catalog.Refresh(k.t.Context()); err != nil {
		k.t.Fatal(err)
	}
	v, err := k.catalog.View(k.t.Context())
	if err != nil {
		k.t.Fatal(err)
	}
	return v
}

// file returns the path in the store of a file of a release.
func (k *shelf) file(r store.Release, path string) string {
	k.t.Helper()
	folder, file, _ := strings.Cut(path, "/")
	i := slices.IndexFunc(r.Skills, func(m store.Member) bool { return m.Path == folder })
	return filepath.Join(k.store.Folder(r.Skills[i].Skill), filepath.FromSlash(file))
}

// flip changes one byte of a file, and keeps its stamp as far as a program can.
func (k *shelf) flip(at string) {
	k.t.Helper()
	info, err := os.Stat(at)
	if err != nil {
		k.t.Fatal(err)
	}
	data, err := os.ReadFile(at)
	if err != nil {
		k.t.Fatal(err)
	}
	data[len(data)-2] ^= 1
	must(k.t, os.Chmod(at, 0o644))
	must(k.t, os.WriteFile(at, data, 0o644))
	must(k.t, os.Chmod(at, info.Mode()))
	must(k.t, os.Chtimes(at, info.ModTime(), info.ModTime()))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// states returns the skills of a view. A skipped skill has its rule beside it.
func states(v catalog.View) (all []string) {
	for _, e := range v.Entries {
		p, _ := e.SkipReason()
		all = append(all, strings.TrimSpace(e.Path+" "+string(p.Rule)))
	}
	return all
}

func entry(t *testing.T, v catalog.View, path string) *catalog.Entry {
	t.Helper()
	for _, e := range v.Entries {
		if e.Path == path {
			return e
		}
	}
	t.Fatal("there is no " + path)
	return nil
}

var library = map[string]string{
	"docx/SKILL.md": md("docx", "One."), "docx/scripts/run.py": "print(1)\n",
	"pdf/SKILL.md": md("pdf", "One."), "pdf/scripts/run.py": "print(1)\n", "pdf/empty": "",
	"xlsx/skill.md": md("xlsx", "One."), "xlsx/data/a.csv": "a,b\n",
}

// TestLikeFolder checks that a release is served like a folder with the same files.
func TestLikeFolder(t *testing.T) {
	k := newShelf(t)
	r := k.put(library)
	if c := k.source.Set(r); c != (release.Change{Added: 3}) {
		t.Error(c)
	}
	at := t.TempDir()
	for path, content := range library {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(at, path)), 0o755))
		must(t, os.WriteFile(filepath.Join(at, path), []byte(content), 0o644))
	}
	c := catalog.New([]catalog.Source{dir.New(dir.Options{Root: skill.Root{Label: "acme", Prefix: "acme", Scope: skill.ScopeProject, Dir: at}})}, catalog.Options{})
	must(t, c.Refresh(t.Context()))
	folder, err := c.View(t.Context())
	must(t, err)
	describe := func(v catalog.View) (all []string) {
		for _, e := range v.Listed {
			_, files, err := v.Manifest(t.Context(), e)
			must(t, err)
			line := fmt.Sprint(e.URI(), " ", e.Name, " ", e.Description, " ", e.Digest)
			for _, f := range files {
				data, err := v.ReadFile(t.Context(), e, f.Path, 1)
				must(t, err)
				line += fmt.Sprint("\n", f.Path, " ", f.Digest, " ", f.Size, " ", string(data))
			}
			all = append(all, line)
		}
		return all
	}
	if diff := cmp.Diff(describe(folder), describe(k.refresh())); diff != "" {
		t.Error("folder and release differ:", diff)
	}
	if len(k.damaged) > 0 {
		t.Error(k.damaged)
	}
}

// TestSet checks that a swap reads only the skills that differ, and that a reader of the old
// release can finish.
func TestSet(t *testing.T) {
	k := newShelf(t)
	first := k.put(library)
	k.source.Set(first)
	before := k.refresh()
	next := map[string]string{"docx/SKILL.md": library["docx/SKILL.md"], "docx/scripts/run.py": library["docx/scripts/run.py"], "pdf/SKILL.md": md("pdf", "Two."), "new/SKILL.md": md("new", "")}
	second := k.put(next)
	if c := k.source.Set(second); c != (release.Change{Added: 1, Changed: 1, Removed: 1}) {
		t.Error(c)
	}
	if c := k.source.Set(second); c != (release.Change{}) {
		t.Error("the same release is another one:", c)
	}
	one, err := k.source.Scan(t.Context())
	must(t, err)
	if one.Bundles[0] != entry(t, before, "docx").Bundle || one.Skills[0] != nil || one.Skills[1] == nil {
		t.Error("what did not change was read again")
	}
	after := k.refresh()
	if diff := cmp.Diff([]string{"docx", "new", "pdf"}, states(after)); diff != "" {
		t.Error(diff)
	}
	if now, _, err := after.Read(t.Context(), entry(t, after, "pdf")); err != nil || string(now) != next["pdf/SKILL.md"] {
		t.Errorf("the skill that changed is %q, %v", now, err)
	}
	data, _, err := before.Read(t.Context(), entry(t, before, "xlsx"))
	if err != nil || string(data) != library["xlsx/skill.md"] {
		t.Errorf("a reader of the release before: %v", err)
	}
	version := after.Version
	if again := k.refresh(); again.Version != version {
		t.Error("a refresh without news made a new snapshot")
	}
	if got := k.source.Release(); got != second.Digest || len(k.damaged) > 0 {
		t.Error(got, k.damaged)
	}
}

// TestWaits checks that the root counts as still being read before its first release. After a
// failed request to the source, it counts as unreachable.
func TestWaits(t *testing.T) {
	k := newShelf(t)
	r := k.put(library)
	synctest.Test(t, func(t *testing.T) {
		s := release.New(release.Options{Root: skill.Root{Label: "acme"}, Store: k.store})
		c := catalog.New([]catalog.Source{s}, catalog.Options{Patience: time.Second})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _ = c.Run(ctx) }()
		v, err := c.View(ctx)
		if err != nil || len(v.Roots) != 1 || !v.Roots[0].Unread() || v.Incomplete() == nil {
			t.Errorf("%v, %+v", err, v.Roots)
		}
		s.Lack(&skill.UnreachableError{Since: time.Now()})
		testwait.Advance(time.Second) // until the catalogue has waited for further changes
		v, _ = c.View(ctx)
		if v.Roots[0].State() != catalog.RootUnreachable || v.Incomplete() != nil || v.Unreachable() != "skills of acme are missing: unreachable since 2000-01-01 00:00:01 UTC" {
			t.Errorf("%s, %v, %q", v.Roots[0].State(), v.Incomplete(), v.Unreachable())
		}
		s.Set(r)
		testwait.Advance(time.Second)
		if v, _ := c.View(ctx); v.Roots[0].State() != catalog.RootRead || v.Unreachable() != "" || len(v.Listed) != 3 || v.Incomplete() != nil {
			t.Errorf("%v, %v", states(v), v.Incomplete())
		}
		cancel()
		synctest.Wait()
	})
}

// TestDamaged checks that no damaged byte is served, in whichever file it is and whenever it is
// found. The skill is skipped with the reason, and comes back with the next Set.
func TestDamaged(t *testing.T) {
	read := func(k *shelf, v catalog.View, path, file string) error {
		e := entry(t, v, path)
		data, err := v.ReadFile(t.Context(), e, file, 1)
		if file == skill.MainFile {
			data, _, err = v.Read(t.Context(), e)
		}
		if err == nil && string(data) != library[path+"/"+file] {
			k.t.Errorf("damaged bytes of %s/%s were served: %q", path, file, data)
		}
		return err
	}
	manifest := func(_ *shelf, v catalog.View, path, _ string) error {
		_, _, err := v.Manifest(t.Context(), entry(t, v, path))
		return err
	}
	for name, c := range map[string]struct {
		file   string
		before bool // the first scan
		harm   func(k *shelf, at string)
		find   func(k *shelf, v catalog.View, path, file string) error
	}{
		"SKILL.md before the start":    {"SKILL.md", true, (*shelf).flip, nil},
		"SKILL.md gone before":         {"SKILL.md", true, (*shelf).remove, nil},
		"SKILL.md in a read":           {"SKILL.md", false, (*shelf).flip, read},
		"SKILL.md gone in a read":      {"SKILL.md", false, (*shelf).remove, read},
		"SKILL.md in a manifest":       {"SKILL.md", false, (*shelf).flip, manifest},
		"a file in a read":             {"scripts/run.py", false, (*shelf).flip, read},
		"a file in a manifest":         {"scripts/run.py", false, (*shelf).flip, manifest},
		"a file gone in a read":        {"scripts/run.py", false, (*shelf).remove, read},
		"a file gone in a manifest":    {"scripts/run.py", false, (*shelf).remove, manifest},
		"an empty file that has grown": {"empty", false, (*shelf).grow, read},
		"a file cut":                   {"scripts/run.py", false, (*shelf).cut, read},
		"a file more in a manifest":    {"more", false, (*shelf).grow, manifest},
		"a file more in a read":        {"more", false, (*shelf).grow, read},
	} {
		t.Run(name, func(t *testing.T) {
			k := newShelf(t)
			r := k.put(library)
			k.source.Set(r)
			var v catalog.View
			if !c.before {
				v = k.refresh()
				if c.find != nil && c.file != "more" { // the store may know the files by now
					must(t, c.find(k, v, "pdf", c.file))
				}
			}
			c.harm(k, k.file(r, "pdf/"+c.file))
			if !c.before {
				err := c.find(k, v, "pdf", c.file)
				if wrong, ok := errors.AsType[*skill.StoreError](err); (!ok || !wrong.Damaged) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, skill.ErrIncomplete) {
					t.Errorf("the error is %v", err)
				}
			}
			want := []string{"docx", "pdf store-damaged", "xlsx"}
			if diff := cmp.Diff(want, states(k.refresh())); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]string{"pdf"}, k.damaged); diff != "" {
				t.Error(diff)
			}
			must(t, k.store.Remove(r.Skills[1].Skill))
			k.source.Set(k.put(library))
			v = k.refresh()
			if diff := cmp.Diff([]string{"docx", "pdf", "xlsx"}, states(v)); diff != "" {
				t.Error("after it was fetched again:", diff)
			}
			if c.file != "more" {
				must(t, read(k, v, "pdf", c.file))
			}
		})
	}
}

// TestDamagedOld checks that a manifest that knack makes in one pass lists no damaged file. knack
// makes it so if all files are old enough.
func TestDamagedOld(t *testing.T) {
	testwait.Slow(t)
	k := newShelf(t)
	r := k.put(library)
	k.source.Set(r)
	at := k.file(r, "pdf/scripts/run.py")
	k.flip(at)
	info, err := os.Stat(filepath.Dir(at))
	must(t, err)
	testwait.Until(t, func() bool { return time.Since(info.ModTime()) > skill.StampRacy+500*time.Millisecond }, "the age of the stamps")
	v := k.refresh()
	if _, files, err := v.Manifest(t.Context(), entry(t, v, "docx")); err != nil || len(files) != 2 {
		t.Error(files, err)
	}
	if _, files, err := v.Manifest(t.Context(), entry(t, v, "pdf")); err == nil {
		t.Error("a manifest has the damaged file:", files)
	}
	if diff := cmp.Diff([]string{"docx", "pdf store-damaged", "xlsx"}, states(k.refresh())); diff != "" {
		t.Error(diff)
	}
}

func (k *shelf) remove(at string) { must(k.t, os.Remove(at)) }
func (k *shelf) grow(at string) {
	_ = os.Chmod(at, 0o644)
	must(k.t, os.WriteFile(at, []byte("more"), 0o644))
}
func (k *shelf) cut(at string) {
	must(k.t, os.Chmod(at, 0o644))
	must(k.t, os.Truncate(at, 3))
}

// TestFaults checks that skills that the release records with a fault are skipped with its reason,
// and that invalid skills are skipped too.
func TestFaults(t *testing.T) {
	k := newShelf(t)
	r := k.put(map[string]string{"big/SKILL.md": md("big", strings.Repeat("x", skill.MaxSkillMD)), "none/SKILL.md": "no fence", "pdf/SKILL.md": md("pdf", ""), "pdf/a": "a"})
	r.Skills = append(r.Skills, store.Member{Path: "zip", Fault: "a link in it"})
	k.source.Set(r)
	v := k.refresh()
	want := []string{"big file-too-large", "none fence-missing", "pdf", "zip store-refused"}
	if diff := cmp.Diff(want, states(v)); diff != "" || len(k.damaged) > 0 {
		t.Error(diff, k.damaged)
	}
	if p, _ := entry(t, v, "zip").SkipReason(); p.Message != "could not be fetched: a link in it" {
		t.Error(p)
	}
}
