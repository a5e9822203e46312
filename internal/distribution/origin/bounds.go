package origin

import (
	"fmt"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/edit"
)

// Bounds of all skills of one source together.
const (
	// MaxSkills is five times the skills of the largest libraries in use, which have 10,000.
	MaxSkills = 50_000
	// MaxEntries bounds the files and folders of these skills: enough for 50,000 usual skills, and 1 GiB
	// of disk in blocks of 4 KiB if the files are minimal.
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

// Bounded returns the extent of skills that are to be taken from one source. It fails if they are more
// than is taken; the error is an [ErrLimit]. Unknown properties of a skill are left out.
func Bounded(skills []Skill) (all edit.Extent, err error) {
	for _, s := range skills {
		all.Add(edit.Extent{Entries: max(s.Extent.Entries, 2), Bytes: s.Extent.Bytes}) // a folder with a main file
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

// BoundEntries fails if n files and folders are more than one source may have.
func BoundEntries(n int) error {
	if n <= MaxEntries {
		return nil
	}
	return Mark(ErrLimit, fmt.Errorf("the skills have more than %s files and folders, and no more are taken from one source: publish them in parts", display.Thousands(MaxEntries)))
}
