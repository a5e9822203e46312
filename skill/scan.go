package skill

import (
	"context"
	"sync/atomic"
)

// Notice reports something that a scan found and that belongs to no skill: a folder without
// permission, a link that leads outside, a loop.
type Notice struct {
	Path    string // below the root, slash-separated
	Rule    RuleID
	Message string
	Fix     string
	Err     error // why the folder could not be read; nil if it was skipped
	// File is the name of the file in the folder Path that was probably meant as its
	// SKILL.md; "" for a notice about anything else. Meant is set if the file begins like
	// one.
	File  string
	Meant bool
	// Target is the target of a link that leaves its skill, as an absolute, unresolved path;
	// "" for any other notice. Rules judge it, and no surface shows it.
	Target string
}

// Folder is the current state on disk of a direct child of a root.
type Folder struct {
	Name  string
	Main  bool  // it contains SKILL.md in one of [EntryNames]
	Stamp Stamp // of the SKILL.md, or of a link in its place
	Err   error // why the state is unknown
}

// Scan is the result of scanning a source.
type Scan struct {
	Bundles []*Bundle // in path order; must not be changed
	// Skills are the skills that a source read during the scan, in the order of Bundles. An entry
	// is nil if its skill must still be loaded. It may be empty.
	Skills  []*Skill
	Notices []Notice
	// Version, if not zero, identifies the scanned state within a process. Two scans with
	// one version have the same bundles, notices and stamps.
	Version uint64
	// Real is the path of the root with links resolved when it was scanned, if [Root.Real] is set.
	// A root can be moved by replacing a link on the way to it.
	Real string
	// Missing is true if the root does not exist. Without an error of the scan, that is not a
	// fault, since a well-known root may be absent. With an error, it means that a requested root
	// is gone, and its skills with it.
	Missing bool
}

type progressKey struct{}

// WithProgress returns a context in which work counts its progress in n: a scan counts folders and
// files, a check of many skills counts skills. Counting is optional for a source, but without it a
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
