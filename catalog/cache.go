package catalog

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/knack-dev/knack/skill"
)

// cachedSkill is a skill as it was read. All skills of one scan run share the time read, which is
// nil until the catalogue uses the result of the run.
type cachedSkill struct {
	*skill.Skill
	read  *time.Time
	files *skill.Digest // digest of all of its files, from the last comparison with a twin; nil if it was never compared
}

// after reports whether the skill was read after t. It is false for an unknown skill.
func (k cachedSkill) after(t time.Time) bool { return k.read != nil && k.read.After(t) }

// cachedOf returns the skills of a root as last read, in path order. It ignores the skills of a
// different root that had the label before. The caller holds mu.
func (c *Catalog) cachedOf(root skill.Root) []cachedSkill {
	if f := c.current.Load().rootState(root); f != nil {
		return f.skills
	}
	return nil
}

// cached returns the skill in a place as it was last read. The caller holds mu.
func (c *Catalog) cached(at placeIn) (k cachedSkill) {
	all := c.cachedOf(at.root)
	if i, ok := slices.BinarySearchFunc(all, at.path, func(k cachedSkill, path string) int { return strings.Compare(k.Path, path) }); ok {
		return all[i]
	}
	return k
}

// inOrder returns a function that finds a skill by its path. The caller must call that function
// with the paths in ascending order.
func inOrder(all []cachedSkill) func(path string) cachedSkill {
	return func(path string) (k cachedSkill) {
		for len(all) > 0 && all[0].Path < path {
			all = all[1:]
		}
		if len(all) > 0 && all[0].Path == path {
			k = all[0]
		}
		return k
	}
}

// reuse copies the known skills, and returns the indexes of the skills that must be read. If a root
// cannot be read now, reuse copies its known skills without a check.
func (c *Catalog) reuse(r *foundRoot) (read []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r.skills = make([]cachedSkill, len(r.scan.Bundles))
	all := c.cachedOf(r.status.Root)
	if len(all) == 0 {
		read = make([]int, 0, len(r.skills))
	}
	cached := inOrder(all)
	for i, b := range r.scan.Bundles {
		pause(i)
		if k := cached(b.Path); k.Skill != nil && (r.stale || c.settled(r.status.Root, k) && b.Same(k.Bundle)) {
			r.skills[i] = k
			continue
		}
		read = append(read, i)
	}
	return read
}

// mergeReads records the skills that each scan run has read. If a call meanwhile found other bytes
// or a missing file, the call's newer result stays. If a file was read again and has not changed,
// the old *skill.Skill stays, because views share it. The caller holds mu.
func (c *Catalog) mergeReads(found []foundRoot) {
	earliest := time.Now()
	for r := range found {
		f := &found[r]
		if f.begun.Before(earliest) {
			earliest = f.begun
		}
		root, begun := f.status.Root, new(time.Time)
		*begun = f.begun
		scanned := f.scan.Version != 0 // otherwise, the root is unchanged and keeps its version
		if scanned {
			f.version = f.scan.Version
		}
		cached := inOrder(c.cachedOf(root))
		for i := range f.skills {
			pause(i)
			s := &f.skills[i]
			k := cached(s.Path)
			if s.read == nil && !k.after(f.begun) {
				if k.Skill != nil && sameSkill(k.Skill, s.Skill) {
					s.Skill = k.Skill
				}
				s.read = begun
				k = *s
			}
			if scanned && s.Entry != "" && (k.Skill != s.Skill || !c.settled(root, k)) {
				f.version = 0
			}
			if k.after(f.begun) {
				*s = k
			}
		}
		f.scan = skill.Scan{}
		if len(c.gone) > 0 {
			f.skills = slices.DeleteFunc(f.skills, func(s cachedSkill) bool {
				return c.gone[placeIn{root, s.Path}].After(f.begun)
			})
		}
	}
	maps.DeleteFunc(c.gone, func(_ placeIn, t time.Time) bool { return !t.After(earliest) })
}

// settled reports whether the file of a skill was read, and a later change of the file would show
// in its stamp. The caller holds mu.
func (c *Catalog) settled(root skill.Root, k cachedSkill) bool {
	if stamp, ok := c.doubted[placeIn{root, k.Path}]; ok && stamp == k.Stamp {
		return false
	}
	return k.Digest != (skill.Digest{}) && k.Fault() == nil && !k.Stamp.Racy(*k.read)
}

// sameSkill reports whether a and b have the same bytes in the same place. Then the older value can
// stay, which views share.
func sameSkill(a, b *skill.Skill) bool {
	return a.Size > 0 && a.Digest == b.Digest && a.Bundle.Same(b.Bundle)
}
