package provenance

import (
	"context"
	"maps"
	"path/filepath"
	"slices"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// Unlocked lists the skills that the lock in a folder covers and does not have, in the form of its
// keys. It looks in the given sources and in the folders of the locked skills. A skill within a
// locked one is not listed, since that one has changed.
func (l *Locks) Unlocked(ctx context.Context, folder string, sources []catalog.Source) (keys []string) {
	of := l.lockIn(realpath.Of(folder), 0)
	if of == nil || of.fault != nil {
		return nil
	}
	roots := map[string]bool{} // the real paths of the given ones
	for _, s := range sources {
		roots[l.area(s.Root().Dir, 0).real] = true
	}
	given := len(sources)
	for _, real := range slices.Sorted(maps.Keys(of.parents)) {
		if !roots[real] {
			sources = append(sources, dir.New(dir.Options{Root: skill.Root{Dir: real}}))
		}
	}
	for i, s := range sources {
		root := l.area(s.Root().Dir, 0)
		if !slices.ContainsFunc(root.locks, func(k *lock) bool { return k.folder == of.folder }) {
			continue
		}
		found, _ := s.Scan(ctx) // nothing in a root that cannot be read is served
		for _, b := range found.Bundles {
			at := filepath.Join(root.real, filepath.FromSlash(b.Path))
			if i >= given && within(roots, at) {
				continue // another root has it
			}
			if by, key := l.find(b, 0); by != nil && by.folder == of.folder && by.entryKey(key) == "" {
				key, _ = of.keyOf(at)
				keys = append(keys, key)
			}
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// within reports whether a real path is in one of several folders.
func within(folders map[string]bool, at string) bool {
	for folder := range folders {
		if realpath.Within(folder, at) {
			return true
		}
	}
	return false
}
