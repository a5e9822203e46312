package doctor

import (
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
)

// Lock is the JSON form of the state of a skill compared with the lock of its folder.
type Lock struct {
	Locked   catalog.LockState `json:"locked"`
	Reason   string            `json:"reason,omitempty"`
	Fix      string            `json:"fix,omitempty"`
	Source   string            `json:"source,omitempty"`
	Want     string            `json:"want,omitempty"`
	Version  string            `json:"version,omitempty"`
	Revision string            `json:"revision,omitempty"`
	Signer   string            `json:"signer,omitempty"`
	Pinned   bool              `json:"pinned,omitempty"`
	Digest   string            `json:"digest,omitempty"` // the locked digest of all files
}

// LockOf returns the JSON form of a lock state, or nil without a lock.
func LockOf(l catalog.Locked) *Lock {
	if l.State == "" {
		return nil
	}
	out := &Lock{Locked: l.State, Reason: l.Reason, Fix: l.Fix, Source: l.Source, Want: l.Want, Version: l.Version, Revision: l.Revision, Signer: l.Signer, Pinned: l.Pinned}
	if l.Digest != (skill.Digest{}) {
		out.Digest = l.Digest.String()
	}
	return out
}

// LockStatus is the JSON form of a lock.
type LockStatus struct {
	File   string `json:"file"`
	Skills int    `json:"skills"`
	Error  string `json:"error,omitempty"` // why the lock cannot be used
	Fix    string `json:"fix,omitempty"`
	// Missing lists the first locked skills that no root has. Absent is the number of all such
	// skills.
	Missing []Missing `json:"missing,omitempty"`
	Absent  int       `json:"missingCount,omitempty"`
}

// Missing is a locked skill that no root has.
type Missing struct {
	Folder  string `json:"folder"`
	Name    string `json:"name"`
	Source  string `json:"source"`
	Version string `json:"version,omitempty"`
	Fix     string `json:"fix"`
}

// Locks returns the JSON form of the locks of a view's roots.
func Locks(v catalog.View) (all []LockStatus) {
	for _, l := range v.Locks() {
		status := LockStatus{File: l.Name, Skills: l.Skills, Error: l.Reason, Fix: l.Fix, Absent: l.NMissing}
		for _, m := range l.Missing {
			status.Missing = append(status.Missing, Missing{m.Folder, m.Name, m.Source, m.Version, "run " + l.Restore})
		}
		all = append(all, status)
	}
	return all
}
