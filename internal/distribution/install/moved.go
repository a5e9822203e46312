package install

import (
	"bytes"
	"context"
	"io"

	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/skill"
)

// follow looks for a locked skill that is no longer in its folder of the source. found is the skill
// of the same name that shares the most content with it. It is nil if no skill shares more than
// half. others lists the folders of all skills of that name.
func (in *Installer) follow(ctx context.Context, l *library, skills []origin.Skill, was lockfile.Skill) (found *got, others []string, err error) {
	taken := map[string]bool{}
	for _, e := range in.lock.Skills {
		taken[e.Path] = taken[e.Path] || e.Source == was.Source
	}
	var named []origin.Skill
	for _, s := range skills {
		if skill.KeyOf(s.Name) == skill.KeyOf(was.Name) && !taken[s.Path] {
			named = append(named, s)
		}
	}
	if len(named) == 0 {
		return nil, nil, nil
	}
	all, err := in.take(ctx, l, named)
	if err != nil {
		return nil, nil, err
	}
	best := 0.5
	for _, s := range byName(named, origin.Ref{})[0] {
		g := all[s.Path]
		if others = append(others, s.Path); g.err != nil {
			continue
		}
		if share := in.share(was, g); share > best {
			best, found = share, &g
		}
	}
	return found, others, nil
}

// share returns the fraction of a skill that is equal in two states, from 0 to 1. It counts equal
// files, and the equal lines of changed files if the store has the locked state.
func (in *Installer) share(was lockfile.Skill, now got) float64 {
	var same, all int64
	before := map[string]lockfile.File{}
	for _, f := range was.Files {
		before[f.Path] = f
	}
	for _, f := range now.skill.Files {
		old, had := before[f.Path]
		delete(before, f.Path)
		all += max(f.Size, old.Size) + 1
		switch {
		case had && old.Digest == f.Digest:
			same += f.Size + 1
		case had:
			same += commonLines(in.stored(was.Digest, f.Path), in.stored(now.skill.Digest, f.Path))
		}
	}
	for _, f := range before {
		all += f.Size + 1
	}
	return float64(same) / float64(max(all, 1))
}

// stored returns the text of a file in the store, or nil if it is missing or too long to compare.
func (in *Installer) stored(d skill.Digest, path string) []byte {
	r, err := in.o.Store.Open(d, path)
	if err != nil {
		return nil
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, skill.MaxSkillMD+1))
	if err != nil || len(text) > skill.MaxSkillMD {
		return nil
	}
	return text
}

// commonLines returns the number of bytes in the lines that two texts have in common.
func commonLines(a, b []byte) (n int64) {
	lines := map[string]int{}
	for line := range bytes.Lines(a) {
		lines[string(line)]++
	}
	for line := range bytes.Lines(b) {
		if lines[string(line)] > 0 {
			lines[string(line)]--
			n += int64(len(line))
		}
	}
	return n
}
