package catalog

import (
	"cmp"
	"context"
	"path/filepath"
	"runtime"

	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/skill"
)

// Two skills are copies if all of their files are the same. Only skills with the same SKILL.md, and
// so the same name, are compared.

// sameFiles reports whether two skills are known to have the same files, byte for byte.
func (s *Snapshot) sameFiles(a, b *Entry) bool {
	x, ok := s.files[a.Skill]
	y, also := s.files[b.Skill]
	return ok && also && x == y
}

// twin is a skill that has the same SKILL.md as another one. root is the index of its root among
// the found roots. at is its index among the skills of that root.
type twin struct {
	root, at int
	cachedSkill
}

// compareTwins returns the skills with the same SKILL.md as another one, with the digests of their
// files. A skill keeps its earlier digest if the disk does not answer in time.
func (c *Catalog) compareTwins(ctx context.Context, found []foundRoot, first bool) []*twin {
	now := c.current.Load()
	skillsOf := func(r int) []cachedSkill {
		if found[r].same {
			if was := now.rootState(found[r].status.Root); was != nil {
				return was.skills
			}
		}
		return found[r].skills
	}
	n := 0
	for r := range found {
		n += len(skillsOf(r))
	}
	type spot struct{ root, at int32 } // small, since most skills have no twin
	byMain, paired := make(map[skill.Digest]spot, n), map[skill.Digest]bool{}
	var twins []*twin
	for r := range found {
		for i, k := range skillsOf(r) {
			pause(i)
			if !k.Available || k.Digest == (skill.Digest{}) {
				continue
			}
			other, ok := byMain[k.Digest]
			if !ok {
				byMain[k.Digest] = spot{int32(r), int32(i)}
				continue
			}
			if !paired[k.Digest] {
				paired[k.Digest] = true
				twins = append(twins, &twin{int(other.root), int(other.at), skillsOf(int(other.root))[other.at]})
			}
			twins = append(twins, &twin{r, i, k})
		}
	}
	if len(twins) == 0 {
		return nil
	}
	if c.patience > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.patience)
		defer cancel()
	}
	folders := map[string][]*twin{} // by the folder with links resolved
	var order []string
	for _, t := range twins {
		at := t.folder(&found[t.root])
		if folders[at] == nil {
			order = append(order, at)
		}
		folders[at] = append(folders[at], t)
	}
	workers := 1
	if first {
		workers = runtime.GOMAXPROCS(0)
	}
	limit.Parallel(workers, len(order), func(i int) {
		same := folders[order[i]]
		files := c.filesOf(ctx, &found[same[0].root], same[0])
		for _, t := range same {
			t.files = files
		}
	})
	return twins
}

// folder returns the folder of a skill with links resolved, if the scan knows it. Otherwise, it
// returns a name that no other skill has.
func (t *twin) folder(r *foundRoot) string {
	switch {
	case t.Link() != "":
		return t.Link()
	case t.Dir() == "":
		return r.status.Label + "\x00" + t.Path
	}
	return filepath.Join(cmp.Or(r.status.Led, r.status.Dir), filepath.FromSlash(t.Path))
}

// filesOf returns the digest of a skill's files. If the files cannot be listed, it returns a digest
// that only the same folder has.
func (c *Catalog) filesOf(ctx context.Context, r *foundRoot, t *twin) *skill.Digest {
	e := &Entry{Skill: t.Skill, Root: &r.status.Root}
	files, err := View{catalog: c}.digestsOf(ctx, e, func() []skill.File {
		if t.read == nil {
			t.read = &r.begun
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.settledMain(r.status.Root, t.cachedSkill)
	})
	d := skill.SetOf(files)
	switch {
	case ctx.Err() != nil:
		return t.files
	case err != nil:
		d = skill.DigestOf([]byte("folder " + t.folder(r)))
	}
	return &d
}

// note records the digests of twins, and reports whether any of them changed. It skips a skill
// whose bytes a call has found changed meanwhile. The caller holds mu.
func note(twins []*twin, found []foundRoot) (changed bool) {
	for _, t := range twins {
		s := found[t.root].skills
		if t.at >= len(s) || s[t.at].Skill != t.Skill {
			continue // a call found other bytes meanwhile
		}
		if k := &s[t.at]; t.files != nil && (k.files == nil || *k.files != *t.files) {
			k.files, changed = t.files, true
		}
	}
	return changed
}
