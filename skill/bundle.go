package skill

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Scope says whose a root is. Contract 002 shows it as a skill's location and
// contract 003 as its type.
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
	// Shown is how people write the folder: "~/.claude/skills", ".claude/skills".
	// Answers and logs use it, so that a remote reader learns no path of the host.
	Shown string
	// Prefix is the first part of its skills' URIs: the label where several roots
	// are served, so that none can take over another's URI; else empty.
	Prefix string
	// Unlisted: its skills are in no list and no search, since somebody else shows them,
	// but load by name and by URI.
	Unlisted bool
}

// Bundle is one skill as a source found it: a folder that holds a SKILL.md in
// some spelling, not yet parsed. After a source has handed over a Bundle,
// nobody else knows where its bytes live, and nobody changes it: the source, which
// compares the next look with it, and the skill that is read from it share one.
type Bundle struct {
	// Path is the folder's slash-separated path below its root, "." when the
	// root itself is the skill.
	Path string
	// In is the root that it was found in; nil for none.
	In *Root
	// Entry is the file that serves as SKILL.md: the first of [EntryNames] that
	// the folder holds, as it is spelt there. It is empty when the folder holds
	// only spellings that are not served (see Odd.Others).
	Entry string
	// Stamp is the entry's identity when it was scanned. Equal stamps mean equal
	// bytes, unless Stamp.Racy.
	Stamp Stamp
	// FS is the folder, contained: opening a name never leaves it, never
	// blocks, and yields regular files and directories only.
	FS fs.FS
	// Odd is what few bundles have; nil for nothing of it.
	Odd *Odd
}

// Odd is what few bundles have.
type Odd struct {
	// Others are the further entries of the folder that spell SKILL.md in some
	// way and are not served as such, sorted.
	Others []string
	// Link is the path that a linked folder was resolved to, else empty.
	Link string
	// Fault, when not nil, says why the entry cannot be served although it was
	// found: a link out of the folder, a pipe, no permission. Stamp may then be
	// zero.
	Fault error
}

// Others is that of Odd.
func (b *Bundle) Others() []string {
	if b.Odd == nil {
		return nil
	}
	return b.Odd.Others
}

// Link is that of Odd.
func (b *Bundle) Link() string {
	if b.Odd == nil {
		return ""
	}
	return b.Odd.Link
}

// Fault is that of Odd.
func (b *Bundle) Fault() error {
	if b.Odd == nil {
		return nil
	}
	return b.Odd.Fault
}

// Folder is the base name of the folder; for Path "." the root's own, or "." when that
// is not on a disk.
func (b *Bundle) Folder() string {
	if b.Path != "." {
		return b.Path[strings.LastIndexByte(b.Path, '/')+1:]
	}
	return filepath.Base(b.top())
}

// Dir is the folder's absolute path for people and for "Base directory"; empty
// when the skill is not on a disk.
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

// Same reports whether a skill that was read from the one bundle is one read from the
// other, as far as stamps tell. With a fault nothing does.
func (b *Bundle) Same(o *Bundle) bool {
	return b.Path == o.Path && b.top() == o.top() && b.Entry == o.Entry && b.Stamp == o.Stamp && b.Link() == o.Link() &&
		b.Fault() == nil && o.Fault() == nil && slices.Equal(b.Others(), o.Others())
}

// EntryNames are the spellings under which a skill's main file is found, in
// order of preference. Any other spelling is reported, not served.
var EntryNames = [...]string{"SKILL.md", "skill.md", "SKILL.MD", "Skill.md"}

// Notice is something that a source met on its way and that belongs to no
// skill: a folder without permission, a link that leaves, a loop.
type Notice struct {
	Path    string // below the root, slash-separated
	Rule    RuleID
	Message string
	Mend    string
	Err     error // why the folder could not be read; nil where it was only passed over
	// File is the name of the file in the folder Path that was probably meant as its
	// SKILL.md; "" for a notice about anything else. Meant: it begins as one does.
	File  string
	Meant bool
}

// Folder is a direct child of a root, as it is on disk now.
type Folder struct {
	Name  string
	Main  bool  // it holds SKILL.md in one of [EntryNames]
	Stamp Stamp // of that file, or of a link in its place
	Err   error // why that cannot be told
}

// Scan is what one look at a source yields.
type Scan struct {
	Bundles []*Bundle // in path order; nobody changes them
	// Skills are what a source read of Bundles during the scan, at the same places; nil
	// for those that are still to be loaded. It may be empty.
	Skills  []*Skill
	Notices []Notice
	// Version, where not zero, tells states of what was scanned apart, in one
	// process: a scan with the version of one before it has the same bundles and
	// notices, and their stamps are as they were.
	Version uint64
	// Missing is true when the root does not exist. That alone is no error: a
	// well-known root may be absent. Beside an error it says that the root was
	// wanted and is gone, and its skills with it.
	Missing bool
}

// Stamp tells whether a file is still the one that was read, without reading
// it. It is comparable. Fields that a file system cannot tell are zero.
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

// Racy reports whether the file was touched so shortly before now that a later
// write could go unseen in the stamp. Git guards its index in the same way.
func (s Stamp) Racy(now time.Time) bool {
	t := max(s.MTime, s.CTime)
	return now.UnixNano()-t < int64(StampRacy)
}

// StampOf reads the stamp from a file's info. A source whose files know more
// than [fs.FileInfo] can tell returns an info with a method Stamp() Stamp.
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
