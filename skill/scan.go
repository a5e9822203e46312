package skill

import (
	"context"
	"sync/atomic"
)

// Notice reports something that a scan found and that belongs to no skill, such as a folder without
// permission, a link that leads outside, or a loop.
type Notice struct {
	Path    string // below the root, slash-separated
	Rule    RuleID
	Message string
	Fix     string
	Err     error // why the folder could not be read; nil if it was skipped
	// File is the name of the file in the folder Path that was probably meant as its SKILL.md. It
	// is "" for a notice about anything else. Meant is set if the file begins like a SKILL.md.
	File  string
	Meant bool
	// Target is the target of a link that leaves its skill, as an absolute, unresolved path. It is
	// "" for any other notice. Rules judge it, but no surface shows it.
	Target string
}

// Folder is the current state on disk of a direct child of a root.
type Folder struct {
	Name  string
	Main  bool  // it contains a file with one of [EntryNames]
	Stamp Stamp // of the SKILL.md, or of a link in its place
	Err   error // why the state is unknown, or nil
}

// Scan is the result of scanning a source.
type Scan struct {
	Bundles []*Bundle // in path order; must not be changed
	// Skills are the skills that a source loaded during the scan, in the order of Bundles. An entry
	// is nil if its skill must still be loaded. Skills may be empty.
	Skills  []*Skill
	Notices []Notice
	// Version, if not zero, identifies the scanned state within a process. Two scans with the same
	// version have the same bundles, notices and stamps.
	Version uint64
	// Real is the path of the root with links resolved when it was scanned, if [Root.Real] is set.
	// It can differ from Root.Real, because a link on the way to the root may have been replaced.
	Real string
	// Missing is true if the root does not exist. If the scan has no error, that is not a fault,
	// because a well-known root may be absent. If it has an error, a requested root is gone, and
	// its skills with it.
	Missing bool
}

type progressKey struct{}

// WithProgress returns a context in which work counts its progress in n. A scan counts folders and
// files. A check of many skills counts skills. Counting is optional for a source. Without it, a
// waiting caller cannot tell a scan from a disk that does not answer.
func WithProgress(ctx context.Context, n *atomic.Int64) context.Context {
	return context.WithValue(ctx, progressKey{}, n)
}

// Progress returns the counter for a scan in the context.
func Progress(ctx context.Context) *atomic.Int64 {
	if n, ok := ctx.Value(progressKey{}).(*atomic.Int64); ok {
		return n
	}
	return new(atomic.Int64)
}
