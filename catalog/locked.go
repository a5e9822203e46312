package catalog

import (
	"context"

	"github.com/knack-dev/knack/skill"
)

// Provenance reads the locks, which record the installed skills. Its methods may be called from any
// goroutine.
type Provenance interface {
	// Locked compares a skill with the lock of its folder. Only if there is a lock does it call
	// files, which returns the digests of the skill's files.
	Locked(e *Entry, files func() ([]skill.File, error)) Locked
	// Locks describes the locks of a snapshot's roots.
	Locks(s *Snapshot) []LockStatus
	// Drift counts the skills of a snapshot that differed from their lock in the last comparison.
	Drift(s *Snapshot) int
}

// LockState is the result of comparing a skill with its lock.
type LockState string

// The states. The zero LockState means that there is no lock for the skill's folder.
const (
	AsLocked  LockState = "as locked"
	Changed   LockState = "changed"
	NotLocked LockState = "not locked"
	// Incomparable means that the skill cannot be compared; Locked.Reason says why.
	Incomparable LockState = "unknown"
)

// Locked is the lock's record of a skill, and the result of the comparison. The fields from Source
// on come from the lock. They are empty if the lock does not contain the skill.
type Locked struct {
	State LockState
	// Reason describes the difference, or why the skill cannot be compared; Fix is the fix.
	Reason, Fix string

	Source, Want, Version, Revision, Signer string
	Pinned                                  bool
	Digest                                  skill.Digest // of all files, as locked

	// Refused is the reason that no manifest of the skill may be served, or nil.
	Refused *skill.LockError
}

// Words returns the state as people read it.
func (l Locked) Words() string {
	switch l.State {
	case Changed:
		return "changed since it was locked"
	case Incomparable:
		return "not comparable with its lock"
	}
	return string(l.State)
}

// LockStatus describes one lock.
type LockStatus struct {
	Name        string // path as a user of this machine would write it; over HTTP, the file name alone
	Skills      int    // number of skills in it
	Reason, Fix string // why the lock cannot be used, with line and column, and the fix; empty if it can
	Restore     string // the command that writes the missing skills
	// Missing lists the first of the skills that are missing from the roots; NMissing counts all of
	// them.
	Missing  []MissingSkill
	NMissing int
}

// MissingSkill is a skill in a lock but in no root.
type MissingSkill struct {
	Folder                string // relative to the lock's folder
	Name, Source, Version string
}

// Locked compares a skill with the lock of its folder. It reads the skill's files if there is a
// lock.
func (v View) Locked(ctx context.Context, e *Entry) Locked {
	if v.catalog.provenance == nil {
		return Locked{}
	}
	return v.catalog.provenance.Locked(e, func() ([]skill.File, error) {
		_, files, err := v.Manifest(ctx, e)
		return files, err
	})
}

// Compared is like [View.Locked] for a manifest that was already made, or the error of making it.
func (v View) Compared(e *Entry, files []skill.File, err error) Locked {
	if v.catalog.provenance == nil {
		return Locked{}
	}
	return v.catalog.provenance.Locked(e, func() ([]skill.File, error) { return files, err })
}

// Locks describes the locks of the view's roots. It returns none for a narrowed view, since a lock
// names skills that a rule may hide.
func (v View) Locks() []LockStatus {
	if v.catalog.provenance == nil || v.Narrowed() && !v.Whole() {
		return nil
	}
	return v.catalog.provenance.Locks(v.Snapshot)
}

// Drift counts the skills of the view that differed from their lock in the last comparison. It
// returns false if skills are not compared with locks.
func (v View) Drift() (n int, compared bool) {
	if v.catalog.provenance == nil {
		return 0, false
	}
	return v.catalog.provenance.Drift(v.Snapshot), true
}
