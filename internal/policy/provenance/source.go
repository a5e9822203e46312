package provenance

import (
	"cmp"
	"context"
	"slices"

	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/policy"
	"github.com/knack-dev/knack/skill"
)

// Decider returns the decider that holds back every skill that does not match its lock. It returns
// nil if locks are not enforced.
//
// Each scan compares all files of each skill below a root with a lock. The files of skills that
// match are compared again while clients read them, with the current lock. If a file does not
// match, reading it to its end fails.
func (l *Locks) Decider() *policy.Decider {
	if l == nil || !l.o.Enforce {
		return nil
	}
	return &policy.Decider{Decide: l.compare, Now: l.recompare, Held: func(b *skill.Bundle, why error) { l.drift(b, skill.Reason(why), true) }}
}

// compare compares a skill with its lock.
func (l *Locks) compare(ctx context.Context, c *policy.Candidate) policy.Ruling {
	lock, key := l.find(c.Bundle, c.Scan)
	if lock == nil {
		return policy.Ruling{}
	}
	entry, has := lock.entry(key)
	if lock.fault != nil || !has {
		return policy.Ruling{Held: l.without(lock, c.Bundle, key)}
	}
	most, size := 0, int64(0)
	if isLarge(entry) {
		most, size = origin.MaxFiles, origin.MaxSize
	}
	files, err := c.List(ctx, most, size)
	fault, err := lock.compare(c.Skill, key, entry, files, err)
	switch {
	case err != nil:
		return policy.Ruling{Held: &skill.LockError{Message: "cannot be compared with its lock: " + skill.Reason(err), Fix: "let knack read all files of the skill, and leave them alone for a moment"}, Set: entry.Digest}
	case fault != nil:
		return policy.Ruling{Held: fault, Set: entry.Digest}
	}
	return policy.Ruling{Files: files, Differs: lock.differsNow(key), Set: entry.Digest}
}

// differsNow returns a function for [policy.Ruling.Differs]. It makes the error for reading a file
// that does not match the lock.
func (f *lock) differsNow(key string) func(name string, added bool) error {
	return func(name string, added bool) error {
		if added {
			return f.changed(key, "'"+name+"' was added")
		}
		return f.changed(key, "'"+name+"' differs")
	}
}

// recompare compares the last ruling on a skill with the current lock. It returns the
// results of [policy.Decider.Now].
func (l *Locks) recompare(b *skill.Bundle, last policy.Ruling) (policy.Ruling, bool) {
	lock, key := l.find(b, 0)
	if lock == nil {
		return last, false
	}
	entry, has := lock.entry(key)
	has = has && lock.fault == nil
	switch {
	case !has && last.Held == nil:
		return policy.Ruling{Held: l.without(lock, b, key)}, true
	case entry.Digest == last.Set || last.Held != nil:
		return last, entry.Digest != last.Set
	}
	return policy.Ruling{Files: served(b, entry), Differs: lock.differsNow(key), Set: entry.Digest}, true
}

// served returns the files of an entry, with the paths under which they are served.
func served(b *skill.Bundle, entry lockfile.Skill) (files []skill.File) {
	s := &skill.Skill{Bundle: b}
	for _, f := range entry.Files {
		if at := s.ServedPath(f.Path); at != "" {
			files = append(files, skill.File{Path: at, Size: f.Size, Digest: f.Digest})
		}
	}
	slices.SortFunc(files, func(a, b skill.File) int { return cmp.Compare(a.Path, b.Path) })
	return files
}
