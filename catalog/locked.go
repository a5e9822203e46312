package catalog

import (
	"context"

	"github.com/knack-dev/knack/skill"
)

// Provenance knows the locks: the records of the skills that were installed. Its methods may be
// called from any goroutine.
type Provenance interface {
	// Locked compares a skill with the lock of its folder. It asks for the digests of the skill's
	// files only if there is a lock.
	Locked(e *Entry, files func() ([]skill.File, error)) Locked
	// Locks describes the locks of a snapshot's roots.
	Locks(s *Snapshot) []LockStatus
	// Drift counts the skills of a snapshot that were found changed when they were last compared.
	Drift(s *Snapshot) int
}

// LockState is the result of comparing a skill with its lock.
type LockState string

// The states. The zero LockState is that of a skill for whose folder there is no lock.
const (
	AsLocked  LockState = "as locked"
	Changed   LockState = "changed"
	NotLocked LockState = "not locked"
	// Incomparable is the state of a skill that cannot be compared; Locked.Reason says why.
	Incomparable LockState = "unknown"
)

// Locked is what a lock says about a skill. The fields below State are those of the lock, and
// empty if it does not have the skill.
type Locked struct {
	State LockState
	// Reason says in words what differs, or why nothing can be compared; Fix says what to do.
	Reason, Fix string

	Source, Want, Version, Revision, Signer string
	Pinned                                  bool
	Digest                                  skill.Digest // of all files, as locked

	// Refused is why no manifest of the skill may be served, or nil.
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
	Name        string // how people at this machine write its path; without folder over HTTP
	Skills      int    // that it has
	Reason, Fix string // why it cannot be used, with line and column, and what to do; empty if it can
	Restore     string // the command that writes the missing skills
	// Missing has the first of the skills that should be in one of the roots and are not there;
	// NMissing counts them all.
	Missing  []MissingSkill
	NMissing int
}

// MissingSkill is a skill that a lock has and no root.
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

// Compared is [View.Locked] for a manifest that was made, or failed.
func (v View) Compared(e *Entry, files []skill.File, err error) Locked {
	if v.catalog.provenance == nil {
		return Locked{}
	}
	return v.catalog.provenance.Locked(e, func() ([]skill.File, error) { return files, err })
}

// Locks describes the locks of the view's roots. A narrowed view has none: a lock names skills that
// a rule may hide.
func (v View) Locks() []LockStatus {
	if v.catalog.provenance == nil || v.Narrowed() && !v.Whole() {
		return nil
	}
	return v.catalog.provenance.Locks(v.Snapshot)
}

// Drift counts the skills of the view that were found changed when they were last compared. It
// returns false if skills are not compared with locks.
func (v View) Drift() (n int, compared bool) {
	if v.catalog.provenance == nil {
		return 0, false
	}
	return v.catalog.provenance.Drift(v.Snapshot), true
}
