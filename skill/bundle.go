package skill

import (
	"cmp"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Scope is the owner of a root: a project, the user or knack. Contract 002 shows it as a
// skill's location and contract 003 as its type.
type Scope string

// The scopes, as they appear in listings and JSON.
const (
	ScopeProject Scope = "project"
	ScopeGlobal  Scope = "global"
	ScopeBuiltin Scope = "builtin"
)

// Root names one place in which skills were looked for.
type Root struct {
	Label string // unique in one catalogue: "claude-user", "dir-1", "builtin"
	Scope Scope
	Dir   string // absolute folder, for people; empty when not on a disk
	// Shown is how people at this machine write the folder: "~/.claude/skills". It is
	// empty if others ask too: places are then named by the label alone, in every answer.
	Shown string
	// Prefix is the first part of its skills' URIs. It is the label if several roots
	// are served, so that no root can take over another's URI; else empty.
	Prefix string
	// Unlisted keeps the root's skills out of lists and searches, since they are shown
	// elsewhere. The skills still load by name and by URI.
	Unlisted bool
	// ShownBy names the clients that show its skills themselves, separated by commas.
	ShownBy string
}

// IsShownBy reports whether a client of this name shows the root's skills itself.
func (r Root) IsShownBy(client string) bool {
	return client != "" && slices.Contains(strings.Split(r.ShownBy, ","), client)
}

// Name returns the root's folder as answers name it. That is as people at this machine
// write it, or the root's label if others ask too.
func (r *Root) Name() string { return cmp.Or(r.Shown, r.Label) }

// LocalName returns the name of the root's folder in the log for the server's operator.
func (r *Root) LocalName() string { return cmp.Or(r.Shown, filepath.ToSlash(r.Dir), r.Label) }

// Bundle is one skill as a source found it: a folder that holds a SKILL.md in some
// spelling, not yet parsed. Only the source knows where the bytes of a Bundle are. A
// Bundle must not be changed after the source has returned it. The source, which
// compares it with the next scan, and the skill that is read from it share it.
type Bundle struct {
	// Path is the folder's slash-separated path below its root, "." when the
	// root itself is the skill.
	Path string
	// In is the root that it was found in, or nil.
	In *Root
	// Entry is the file that serves as SKILL.md: the first of [EntryNames] that the folder
	// contains, in its spelling on disk. It is empty if the folder has only spellings that
	// are not served (see Extra.Others).
	Entry string
	// Stamp is the entry's identity when it was scanned. Equal stamps mean equal
	// bytes, unless Stamp.Racy.
	Stamp Stamp
	// FS is the folder, contained: opening a name never leaves it, never
	// blocks, and yields regular files and directories only.
	FS fs.FS
	// Extra has properties that few bundles have, or is nil.
	Extra *Extra
}

// Extra holds the properties that few bundles have.
type Extra struct {
	// Others lists the other entries of the folder that spell SKILL.md in some way and are
	// not served as such, sorted.
	Others []string
	// Link is the path that a linked folder was resolved to, else empty.
	Link string
	// Fault, when not nil, says why the entry cannot be served although it was
	// found: a link out of the folder, a pipe, no permission. Stamp may then be
	// zero.
	Fault error
}

// Others returns Extra.Others.
func (b *Bundle) Others() []string {
	if b.Extra == nil {
		return nil
	}
	return b.Extra.Others
}

// Link returns Extra.Link.
func (b *Bundle) Link() string {
	if b.Extra == nil {
		return ""
	}
	return b.Extra.Link
}

// Fault returns Extra.Fault.
func (b *Bundle) Fault() error {
	if b.Extra == nil {
		return nil
	}
	return b.Extra.Fault
}

// Folder returns the base name of the folder; for Path "." that of the root, or "." if the
// root is not on disk.
func (b *Bundle) Folder() string {
	if b.Path != "." {
		return b.Path[strings.LastIndexByte(b.Path, '/')+1:]
	}
	return filepath.Base(b.top())
}

// Dir returns the folder's absolute path for people and for "Base directory". It is empty
// if the skill is not on disk.
func (b *Bundle) Dir() string {
	const separator = string(filepath.Separator)
	switch top := b.top(); {
	case top == "" || b.Path == ".":
		return top
	default:
		return strings.TrimSuffix(top, separator) + separator + filepath.FromSlash(b.Path)
	}
}

func (b *Bundle) top() string {
	if b.In == nil {
		return ""
	}
	return b.In.Dir
}

// Contains reports whether a path, as Path is written, is below the skill's folder.
func (b *Bundle) Contains(path string) bool {
	return b.Path == "." && path != "." || strings.HasPrefix(path, b.Path+"/")
}

// Same reports whether both bundles yield the same skill, as far as stamps tell. A bundle
// with a fault is never the same.
func (b *Bundle) Same(o *Bundle) bool {
	return b.Path == o.Path && b.top() == o.top() && b.Entry == o.Entry && b.Stamp == o.Stamp && b.Link() == o.Link() &&
		b.Fault() == nil && o.Fault() == nil && slices.Equal(b.Others(), o.Others())
}

// EntryNames lists the spellings of a skill's main file, in order of preference. Any other
// spelling is reported, not served.
var EntryNames = [...]string{"SKILL.md", "skill.md", "SKILL.MD", "Skill.md"}

// Notice reports something that a scan found and that belongs to no skill: a folder without
// permission, a link that leaves, a loop.
type Notice struct {
	Path    string // below the root, slash-separated
	Rule    RuleID
	Message string
	Mend    string
	Err     error // why the folder could not be read; nil if it was skipped
	// File is the name of the file in the folder Path that was probably meant as its
	// SKILL.md; "" for a notice about anything else. Meant is set if the file begins like
	// one.
	File  string
	Meant bool
}

// Folder is the current state on disk of a direct child of a root.
type Folder struct {
	Name  string
	Main  bool  // it holds SKILL.md in one of [EntryNames]
	Stamp Stamp // of that file, or of a link in its place
	Err   error // why the state is unknown
}

// Scan is the result of scanning a source.
type Scan struct {
	Bundles []*Bundle // in path order; must not be changed
	// Skills are what a source read of Bundles during the scan, at the same places; nil
	// for those that are still to be loaded. It may be empty.
	Skills  []*Skill
	Notices []Notice
	// Version, if not zero, identifies the scanned state within a process. Two scans with
	// one version have the same bundles, notices and stamps.
	Version uint64
	// Missing is true if the root does not exist. That alone is not an error: a well-known
	// root may be absent. Together with an error it means that a requested root is gone,
	// and its skills with it.
	Missing bool
}

// Stamp identifies a version of a file without its content. It is comparable. Fields that a
// file system does not have are zero.
type Stamp struct {
	Size  int64
	MTime int64 // nanoseconds since 1970
	CTime int64 // change of content or inode, nanoseconds since 1970
	Dev   uint64
	Inode uint64
}

// StampRacy is the age below which two writes can leave one stamp: the
// coarsest time stamp of the file systems in use (FAT: 2 s).
const StampRacy = 2 * time.Second

// Racy reports whether the file was changed so shortly before now that a later write could
// leave the same stamp. Git guards its index in the same way.
func (s Stamp) Racy(now time.Time) bool {
	t := max(s.MTime, s.CTime)
	return now.UnixNano()-t < int64(StampRacy)
}

// StampOf returns the stamp of a file's info. A source that knows more than [fs.FileInfo]
// returns an info with a method Stamp() Stamp.
func StampOf(info fs.FileInfo) Stamp {
	if s, ok := info.(interface{ Stamp() Stamp }); ok {
		return s.Stamp()
	}
	s := Stamp{Size: info.Size()}
	if t := info.ModTime(); !t.IsZero() {
		s.MTime = t.UnixNano()
	}
	return s
}
