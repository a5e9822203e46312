package origin

import (
	"fmt"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/edit"
)

// Limits on the total of all skills of one source.
const (
	// MaxSkills is the maximum number of skills. The largest libraries in use have 10,000.
	MaxSkills = 50_000
	// MaxEntries is the maximum number of files and folders of these skills. It is enough for
	// 50,000 usual skills, and for 1 GiB on the disk if each file takes only one block of 4 KiB.
	MaxEntries = 1 << 18
)

// Sound returns the skills without a fault.
func Sound(skills []Skill) (sound []Skill) {
	for _, s := range skills {
		if s.Fault == nil {
			sound = append(sound, s)
		}
	}
	return sound
}

// Bounded returns the total extent of the skills to fetch from one source. If it exceeds a limit,
// the error is an [ErrLimit]. Unknown sizes do not count.
func Bounded(skills []Skill) (all edit.Extent, err error) {
	for _, s := range skills {
		all.Add(edit.Extent{Entries: max(s.Extent.Entries, 2), Bytes: s.Extent.Bytes}) // at least a folder with a main file
	}
	if len(skills) > MaxSkills {
		return all, TooManySkills(len(skills))
	}
	return all, BoundEntries(all.Entries)
}

// TooManySkills returns the error about a source of n skills.
func TooManySkills(n int) error {
	return Mark(ErrLimit, fmt.Errorf("there are %s skills, and at most %s are taken from one source: publish them in parts", display.Thousands(n), display.Thousands(MaxSkills)))
}

// BoundEntries returns an error if n files and folders are more than one source may have.
func BoundEntries(n int) error {
	if n <= MaxEntries {
		return nil
	}
	return Mark(ErrLimit, fmt.Errorf("the skills have more than %s files and folders, and no more are taken from one source: publish them in parts", display.Thousands(MaxEntries)))
}
