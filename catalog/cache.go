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

func (k cachedSkill) path() string { return k.skill.Path }

// cachedAt returns the skill in a place as it was last read. The caller holds mu. A map
// would take eight times the memory.
func (c *Catalog) cachedAt(at place) cachedSkill {
	all := c.cache[at.label]
	i, ok := slices.BinarySearchFunc(all, at.path, func(k cachedSkill, path string) int { return strings.Compare(k.path(), path) })
	if !ok {
		return cachedSkill{}
	}
	return all[i]
}

// cacheCursor is the known skills of a root, for lookups in path order.
type cacheCursor []cachedSkill

func (o *cacheCursor) at(path string) cachedSkill {
	for len(*o) > 0 && (*o)[0].path() < path {
		*o = (*o)[1:]
	}
	if len(*o) == 0 || (*o)[0].path() != path {
		return cachedSkill{}
	}
	return (*o)[0]
}

// store merges newly read skills of a root, in path order, into the known ones. New
// values replace old ones. The caller holds mu.
func (c *Catalog) store(label string, news []cachedSkill) {
	old := c.cache[label]
	if len(news) == 0 {
		return
	}
	if len(old) == 0 {
		c.cache[label] = news
		return
	}
	all := make([]cachedSkill, 0, max(len(old), len(news)))
	for len(old) > 0 && len(news) > 0 {
		switch n := strings.Compare(old[0].path(), news[0].path()); {
		case n < 0:
			all, old = append(all, old[0]), old[1:]
		case n > 0:
			all, news = append(all, news[0]), news[1:]
		default:
			old = old[1:]
		}
	}
	c.cache[label] = append(append(all, old...), news...)
}

// evictAllBut forgets all skills but those of found, which are in path order. The
// caller holds mu.
func (c *Catalog) evictAllBut(found []foundRoot) {
	alive := make(map[string][]*skill.Skill, len(found))
	for _, f := range found {
		alive[f.status.Root.Label] = f.skills
	}
	for label, all := range c.cache {
		skills := alive[label]
		c.cache[label] = slices.DeleteFunc(all, func(k cachedSkill) bool {
			for len(skills) > 0 && skills[0].Path < k.path() {
				skills = skills[1:]
			}
			return len(skills) == 0 || skills[0].Path != k.path()
		})
		if len(c.cache[label]) == 0 {
			delete(c.cache, label)
		}
	}
	maps.DeleteFunc(c.doubted, func(at place, stamp skill.Stamp) bool {
		k := c.cachedAt(at)
		return k.skill == nil || k.skill.Stamp != stamp
	})
}

// reuse takes over the known skills and notes which ones must be read. The known skills
// of a root that cannot be read now stay as they are.
func (c *Catalog) reuse(r *foundRoot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r.skills = make([]*skill.Skill, len(r.scan.Bundles))
	was := cacheCursor(c.cache[r.status.Label])
	if len(was) == 0 {
		r.read = make([]int, 0, len(r.skills))
	}
	for i, b := range r.scan.Bundles {
		pause(i)
		if k := was.at(b.Path); k.skill != nil && (r.kept || c.settled(r.status.Label, k) && b.Same(k.skill.Bundle)) {
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
		begun := new(time.Time)
		*begun = f.begun
		news := make([]cachedSkill, 0, len(f.read))
		was := cacheCursor(c.cache[f.status.Label])
		for _, i := range f.read {
			k := was.at(f.skills[i].Path)
			switch {
			case k.after(f.begun):
				continue
			case k.skill != nil && sameSkill(k.skill, f.skills[i]):
				f.skills[i] = k.skill
			}
			news = append(news, cachedSkill{f.skills[i], begun})
		}
		c.store(f.status.Label, news)
		if f.scan.Version != 0 {
			f.version = f.scan.Version
			now := cacheCursor(c.cache[f.status.Label])
			for _, s := range f.skills {
				if k := now.at(s.Path); s.Entry != "" && (k.skill != s || !c.settled(f.status.Label, k)) {
					f.version = 0
				}
			}
		}
		f.scan, f.read = skill.Scan{}, nil
		now := cacheCursor(c.cache[f.status.Label])
		for i, s := range f.skills {
			if k := now.at(s.Path); k.after(f.begun) {
				f.skills[i] = k.skill
			}
		}
		if len(c.gone) > 0 {
			f.skills = slices.DeleteFunc(f.skills, func(s *skill.Skill) bool {
				return c.gone[place{f.status.Label, s.Path}].After(f.begun)
			})
		}
	}
	maps.DeleteFunc(c.gone, func(_ place, t time.Time) bool { return !t.After(earliest) })
}

// settled reports whether a file of a root was read, and a change would show in its
// stamp. The caller holds mu.
func (c *Catalog) settled(label string, k cachedSkill) bool {
	if stamp, ok := c.doubted[place{label, k.path()}]; ok && stamp == k.skill.Stamp {
		return false
	}
	return k.skill.Digest != (skill.Digest{}) && k.skill.Fault() == nil && !k.skill.Stamp.Racy(*k.read)
}

// sameSkill reports whether a and b are the same bytes in the same place. If so, the
// older value, which views share, can stay.
func sameSkill(a, b *skill.Skill) bool {
	return a.Size > 0 && a.Digest == b.Digest && a.Bundle.Same(b.Bundle)
}
