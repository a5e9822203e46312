package provenance

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// Unlocked returns the skills to which the lock in a folder applies but which it does not contain, by
// their keys, and the fix of each. It searches the given sources and the folders of the locked
// skills. A skill within a locked skill is not listed: the outer skill counts as changed instead. The
// list may be incomplete if Unlocked returns an error. The error names a folder that cannot be
// searched, or is the context's error.
func (l *Locks) Unlocked(ctx context.Context, folder string, sources []catalog.Source) (fixes map[string]string, err error) {
	fixes = map[string]string{}
	own := l.lockIn(realpath.Of(folder), 0)
	if own == nil || own.fault != nil {
		return nil, nil
	}
	roots := map[string]bool{} // the real paths of the given sources
	for _, s := range sources {
		roots[l.area(s.Root().Dir, 0).real] = true
	}
	given := len(sources)
	for _, real := range slices.Sorted(maps.Keys(own.parents)) {
		if !roots[real] {
			sources = append(sources, dir.New(dir.Options{Root: skill.Root{Dir: real}}))
		}
	}
	for i, s := range sources {
		root := l.area(s.Root().Dir, 0)
		if !slices.ContainsFunc(root.locks, func(k *lock) bool { return k.folder == own.folder }) {
			continue
		}
		found, failed := s.Scan(ctx)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if failed != nil && !found.Missing {
			err = fmt.Errorf("%s cannot be searched for skills that are not locked: %w", l.display(root.real), failed)
		}
		for _, n := range found.Notices {
			if n.Err != nil && dir.Unsearched(n.Rule) {
				err = fmt.Errorf("%s cannot be searched for skills that are not locked: %w", l.display(filepath.Join(root.real, filepath.FromSlash(n.Path))), n.Err)
			}
		}
		for _, b := range found.Bundles {
			at := filepath.Join(root.real, filepath.FromSlash(b.Path))
			if i >= given && within(roots, at) {
				continue // a given source has listed it
			}
			if by, key := l.find(b, 0); by != nil && by.folder == own.folder && by.entryKey(key) == "" {
				place, _ := own.keyOf(at)
				fixes[place] = l.addFix(own, b, key)
			}
		}
	}
	return fixes, err
}

// display writes a path for users.
func (l *Locks) display(path string) string {
	if l.o.Shown == nil {
		return path
	}
	return l.o.Shown(path)
}

// within reports whether a real path is in one of the folders.
func within(folders map[string]bool, at string) bool {
	for folder := range folders {
		if realpath.Within(folder, at) {
			return true
		}
	}
	return false
}
