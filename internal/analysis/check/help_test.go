package check

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/knack-dev/knack/skill"
)

// bundles returns every folder below dir that contains a SKILL.md, in upper or lower case.
func bundles(t testing.TB, dir string) (all []*skill.Bundle) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return err
		}
		b := bundleOf(os.DirFS(p), filepath.Base(p))
		rel, _ := filepath.Rel(dir, p)
		if b.Path = filepath.ToSlash(rel); b.Entry != "" || b.Others() != nil {
			all = append(all, b)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func bundleOf(fsys fs.FS, folder string) *skill.Bundle {
	b := &skill.Bundle{Path: folder, FS: fsys}
	entries, _ := fs.ReadDir(fsys, ".")
	has := func(name string) bool {
		return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name })
	}
	for _, want := range skill.EntryNames {
		if b.Entry == "" && has(want) {
			b.Entry = want
		}
	}
	odd := &skill.Extra{}
	for _, e := range entries {
		if strings.EqualFold(e.Name(), skill.MainFile) && e.Name() != b.Entry {
			odd.Others = append(odd.Others, e.Name())
		}
	}
	b.Extra = odd
	return b
}

// load loads a skill and judges it.
func load(ctx context.Context, b *skill.Bundle) Report { return Format(ctx, skill.Load(b)) }

// checked judges a skill in the folder "git" whose SKILL.md has the given text. more lists further
// files, each of which contains its own name.
func checked(t testing.TB, text string, more ...string) Report {
	t.Helper()
	fsys := fstest.MapFS{"SKILL.md": {Data: []byte(text)}}
	for _, name := range more {
		fsys[name] = &fstest.MapFile{Data: []byte(name)}
	}
	return load(t.Context(), bundleOf(fsys, "git"))
}

func found(r Report, id skill.RuleID) []Finding {
	return slices.DeleteFunc(slices.Clone(r.Findings), func(f Finding) bool { return f.Rule != id })
}
