package policy

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/knack-dev/knack/skill"
)

// Candidate is a skill to judge.
type Candidate struct {
	// Skill has only its bundle until [Candidate.Read] is called. After that, the skill is loaded,
	// and its file system contains only the files to judge.
	*skill.Skill
	Root  skill.Root
	Files []skill.File // with their digests, in path order; nil if they cannot all be listed
	Set   skill.Digest // of the files; see [skill.SetOf]
	Err   error        // why the files cannot be listed, or another decider's reason to hold the skill back

	Scan  uint64    // number of the scan: a later one has a higher number
	First bool      // the first scan of the source
	Begun time.Time // when the scan began to judge

	place  *skillFolder
	found  *skill.Bundle // as the source found it
	loaded *skill.Skill  // as the scan has loaded it, or nil
	files  []skill.File  // result of List
	known  []skill.File  // the files whose stamps prove their contents
	other  atomic.Bool   // a file no longer matches Files
}

// newCandidate returns a candidate with the root, the number and the time of the scan from c.
func (c *Candidate) newCandidate(p *skillFolder, found *skill.Bundle, loaded *skill.Skill) *Candidate {
	return &Candidate{Skill: &skill.Skill{Bundle: found}, Root: c.Root, Scan: c.Scan, First: c.First, Begun: c.Begun, place: p, found: found, loaded: loaded}
}

// List returns the files of the skill as they are now, with their digests. It fails if the skill
// exceeds the limits of a published skill, or the given limits if they are not 0. The files are
// read once for all deciders.
func (c *Candidate) List(ctx context.Context, maxFiles int, maxSize int64) ([]skill.File, error) {
	if c.files != nil {
		return c.files, nil
	}
	begun := time.Now()
	s := &skill.Skill{Bundle: c.found}
	files, err := s.Manifest(ctx, c.place.files)
	if errors.Is(err, skill.ErrTooLarge) && maxFiles > 0 {
		files, err = s.LargeManifest(ctx, c.place.files, maxFiles, maxSize)
	}
	c.files, c.known = files, files
	if racy := func(f skill.File) bool { return f.Stamp.Racy(begun) }; slices.ContainsFunc(files, racy) {
		c.known = slices.DeleteFunc(slices.Clone(files), racy)
	}
	return files, err
}

// Stable reports whether the stamps prove the contents of all files.
func (c *Candidate) Stable() bool { return len(c.known) == len(c.files) }

// Read lists the files and loads the skill, unless another decider already holds the skill back.
// The skill's file system then contains exactly these files.
func (c *Candidate) Read(ctx context.Context, maxFiles int, maxSize int64) {
	if c.Err != nil {
		return
	}
	c.Files, c.Err = c.List(ctx, maxFiles, maxSize)
	c.Set = skill.SetOf(c.Files)
	main := mainOf(c.found, c.Files)
	judged := c.bundle()
	if c.loaded == nil || c.loaded.Digest != main {
		c.loaded = c.place.loaded
	}
	if c.loaded == nil || c.loaded.Digest != main || c.loaded.Path != c.found.Path {
		c.loaded = skill.Load(judged)
	}
	c.load(judged)
}

// Recall restores the files that the skill had in an earlier run. It returns false if another
// decider has read the skill, or if SKILL.md has changed. If another file has changed, it cannot be
// read, and the next scan notices the change.
func (c *Candidate) Recall(main skill.Stamp, files []skill.File, set skill.Digest) bool {
	if c.Err != nil || c.files != nil || c.loaded == nil || main != c.found.Stamp || mainOf(c.found, files) != c.loaded.Digest {
		return false
	}
	c.Files, c.Set, c.known = files, set, files
	c.load(c.bundle())
	return true
}

// bundle returns the bundle restricted to the files to judge.
func (c *Candidate) bundle() *skill.Bundle {
	b := *c.found
	v := &verdict{rulings: []Ruling{{Files: c.Files, Hides: true, Differs: func(string, bool) error { return skill.ErrUnstable }}}}
	b.FS = &folder{inner: c.found.FS, bundle: c.found, last: func() *verdict { return v }, differs: func() { c.other.Store(true) }}
	return &b
}

func (c *Candidate) load(judged *skill.Bundle) {
	again := *c.loaded
	again.Bundle = judged
	c.Skill = &again
}

// Changed reports whether a file no longer has the contents recorded in Files.
func (c *Candidate) Changed() bool { return c.other.Load() }
