package catalog

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/knack-dev/knack/skill"
)

// cachedSkill is a skill as it was read, and the time of the read. All skills of one scan run
// share that time.
type cachedSkill struct {
	skill *skill.Skill
	read  *time.Time
}

// after reports whether the skill was read after t. It is false for an unknown skill.
func (k cachedSkill) after(t time.Time) bool { return k.read != nil && k.read.After(t) }

// store adds a skill of a root to the cache. The caller holds mu.
func (c *Catalog) store(label string, k cachedSkill) {
	if c.cache[label] == nil {
		c.cache[label] = map[string]cachedSkill{}
	}
	c.cache[label][k.skill.Path] = k
}

// evictAllBut forgets all skills but those of found, which are in path order. The
// caller holds mu.
func (c *Catalog) evictAllBut(found []foundRoot) {
	alive := make(map[string][]*skill.Skill, len(found))
	for _, f := range found {
		alive[f.status.Root.Label] = f.skills
	}
	for label, all := range c.cache {
		maps.DeleteFunc(all, func(path string, _ cachedSkill) bool {
			_, ok := slices.BinarySearchFunc(alive[label], path, func(s *skill.Skill, path string) int { return strings.Compare(s.Path, path) })
			return !ok
		})
		if len(all) == 0 {
			delete(c.cache, label)
		}
	}
	maps.DeleteFunc(c.doubted, func(at place, stamp skill.Stamp) bool {
		k := c.cache[at.label][at.path]
		return k.skill == nil || k.skill.Stamp != stamp
	})
}

// reuse takes over the known skills and notes which ones must be read. The known skills
// of a root that cannot be read now stay as they are.
func (c *Catalog) reuse(r *foundRoot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r.skills = make([]*skill.Skill, len(r.scan.Bundles))
	cached := c.cache[r.status.Label]
	if len(cached) == 0 {
		r.read = make([]int, 0, len(r.skills))
	}
	for i, b := range r.scan.Bundles {
		pause(i)
		if k := cached[b.Path]; k.skill != nil && (r.kept || c.settled(r.status.Label, k) && b.Same(k.skill.Bundle)) {
			r.skills[i] = k.skill
			continue
		}
		r.read = append(r.read, i)
	}
}

// mergeReads records what each scan run has read. If a call found other bytes meanwhile, or
// that a file is gone, its newer result stays. A file that was read again without a
// change keeps its value, which views share. The caller holds mu.
func (c *Catalog) mergeReads(found []foundRoot) {
	earliest := time.Now()
	for r := range found {
		f := &found[r]
		if f.begun.Before(earliest) {
			earliest = f.begun
		}
		label, begun := f.status.Label, new(time.Time)
		*begun = f.begun
		for _, i := range f.read {
			k := c.cache[label][f.skills[i].Path]
			switch {
			case k.after(f.begun):
				continue
			case k.skill != nil && sameSkill(k.skill, f.skills[i]):
				f.skills[i] = k.skill
			}
			c.store(label, cachedSkill{f.skills[i], begun})
		}
		scanned := f.scan.Version != 0 // else an unchanged root keeps its version
		if scanned {
			f.version = f.scan.Version
		}
		for i, s := range f.skills {
			k := c.cache[label][s.Path]
			if scanned && s.Entry != "" && (k.skill != s || !c.settled(label, k)) {
				f.version = 0
			}
			if k.after(f.begun) {
				f.skills[i] = k.skill
			}
		}
		f.scan, f.read = skill.Scan{}, nil
		if len(c.gone) > 0 {
			f.skills = slices.DeleteFunc(f.skills, func(s *skill.Skill) bool {
				return c.gone[place{label, s.Path}].After(f.begun)
			})
		}
	}
	maps.DeleteFunc(c.gone, func(_ place, t time.Time) bool { return !t.After(earliest) })
}

// settled reports whether a file of a root was read, and a change would show in its
// stamp. The caller holds mu.
func (c *Catalog) settled(label string, k cachedSkill) bool {
	if stamp, ok := c.doubted[place{label, k.skill.Path}]; ok && stamp == k.skill.Stamp {
		return false
	}
	return k.skill.Digest != (skill.Digest{}) && k.skill.Fault() == nil && !k.skill.Stamp.Racy(*k.read)
}

// sameSkill reports whether a and b are the same bytes in the same place. If so, the
// older value, which views share, can stay.
func sameSkill(a, b *skill.Skill) bool {
	return a.Size > 0 && a.Digest == b.Digest && a.Bundle.Same(b.Bundle)
}
