package skill

import (
	"cmp"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
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

// Root describes a folder or another place that is searched for skills.
type Root struct {
	Label string // unique in one catalogue: "claude-user", "dir-1", "builtin"
	// Also lists the labels of later roots that are the same folder, separated by commas. They are
	// not separate roots.
	Also  string
	Scope Scope
	Dir   string // absolute folder, for people; empty when not on a disk
	// Absent is set if Dir was missing when the root was made. The first scan then skips it.
	Absent bool
	// Shown is the folder as a user of this machine would write it: "~/.claude/skills". If clients
	// on other machines send requests too, it is empty, and answers name the root only by its
	// label.
	Shown string
	// Prefix is the first part of the URIs of the root's skills. It is the label if several roots
	// are served, because no root may use another's URIs. Otherwise it is empty.
	Prefix string
	// Unlisted keeps the root's skills out of lists and searches, because clients show them by
	// other means. The skills still load by name and by URI.
	Unlisted bool
	// UnlistedBy is the flag or the configuration key that sets Unlisted: "--exclude".
	UnlistedBy string
	// Plugin is the name of the agent's plugin to which the root belongs, or "". The skills also
	// load with this prefix: "docs:pdf".
	Plugin string
	// ShownBy lists the clients that show the root's skills on their own, separated by commas.
	ShownBy string
	// Remote is set for the root of a followed source. If such a root contains a copy of another
	// root's skill, the copy is not served. Otherwise, servers that follow each other would
	// multiply skills.
	Remote bool
	// Real is the path of Dir at the start, with links resolved if possible. It is empty if no rule
	// depends on the targets of links; see [Scan.Real].
	Real string
	// Publisher describes the publisher of a root whose label the server's operator chose. Such a
	// label is the prefix even for a single root. Publisher is nil for any other root.
	Publisher *Publisher
}

// Publisher tells people who offers the skills of a root. Each field may be empty.
type Publisher struct {
	Title string // a name in one line
	Owner string // the contact, in one line
	URL   string // an http or https address
}

// Title returns the name of the root's publisher or, without one, the root's label.
func (r *Root) Title() string {
	if r.Publisher != nil && r.Publisher.Title != "" {
		return r.Publisher.Title
	}
	return r.Label
}

// IsShownBy reports whether a client of this name shows the root's skills itself.
func (r Root) IsShownBy(client string) bool {
	return client != "" && slices.Contains(strings.Split(r.ShownBy, ","), client)
}

// Labels returns the label of the root and then the labels in [Root.Also].
func (r Root) Labels() []string {
	if r.Also == "" {
		return []string{r.Label}
	}
	return append([]string{r.Label}, strings.Split(r.Also, ",")...)
}

// Name returns the name of the root in answers: Shown, or the label if Shown is empty.
func (r *Root) Name() string { return cmp.Or(r.Shown, r.Label) }

// Join joins slash-separated paths to the name of a root. If the name is the URL of a source, the
// slashes after its scheme are kept.
func Join(root string, paths ...string) string {
	scheme, at, ok := strings.Cut(root, "://")
	if !ok {
		return path.Join(append([]string{root}, paths...)...)
	}
	return scheme + "://" + path.Join(append([]string{at}, paths...)...)
}

// LocalName returns the name of the root's folder in the log for the server's operator.
func (r *Root) LocalName() string { return cmp.Or(r.Shown, filepath.ToSlash(r.Dir), r.Label) }

// Bundle is one skill as a source found it: a folder with a SKILL.md in some spelling, not yet
// parsed. Only the source knows the location of its bytes. A Bundle must not be changed after its
// source has returned it. The source compares it with the next scan, and the skill that was loaded
// from it shares it.
type Bundle struct {
	// Path is the folder's slash-separated path below its root, "." when the
	// root itself is the skill.
	Path string
	// In is the root in which the source found the bundle, or nil.
	In *Root
	// Entry is the file that serves as SKILL.md: the first of [EntryNames] that the folder
	// contains, in its spelling on disk. It is empty if the folder has only spellings that
	// are not served (see Extra.Others).
	Entry string
	// Stamp is the entry's identity when it was scanned. Equal stamps mean equal bytes, unless
	// [Stamp.Racy].
	Stamp Stamp
	// FS is the skill's folder, contained. Opening a name never leaves the folder, never blocks,
	// and yields only regular files and directories. Each Stat of an open file returns its current
	// state, because readers compare two states to detect a change.
	FS fs.FS
	// Extra contains properties that few bundles have, or is nil.
	Extra *Extra
}

// Extra contains the properties that few bundles have.
type Extra struct {
	// Others lists the other entries of the folder whose names spell SKILL.md in some way, sorted.
	// They are not served as SKILL.md.
	Others []string
	// Link is the resolved path of the folder if it is a link, and otherwise empty.
	Link string
	// Fault, if not nil, is the reason that the entry cannot be served, such as a link out of the
	// folder, a pipe or no permission. Stamp may then be zero.
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

// WithFault returns a copy of the bundle with a different [Extra.Fault].
func (b *Bundle) WithFault(err error) *Bundle {
	one, extra := *b, Extra{}
	if b.Extra != nil {
		extra = *b.Extra
	}
	extra.Fault, one.Extra = err, &extra
	return &one
}

// Folder returns the base name of the skill's folder. For Path "." it is the base name of the root,
// or "." if the root is not on disk.
func (b *Bundle) Folder() string {
	if b.Path != "." {
		return b.Path[strings.LastIndexByte(b.Path, '/')+1:]
	}
	return filepath.Base(b.rootDir())
}

// Placed is a file system whose folder is on this machine, but not below its root's folder.
type Placed interface {
	fs.FS
	// Place returns the folder's absolute path after its files were verified. Before that, it
	// returns "".
	Place() string
}

// Dir returns the folder's absolute path, for people and for "Base directory". It is empty if the
// skill is not on disk.
func (b *Bundle) Dir() string {
	const separator = string(filepath.Separator)
	switch rootDir := b.rootDir(); {
	case rootDir == "" || b.Path == ".":
		return rootDir
	default:
		return strings.TrimSuffix(rootDir, separator) + separator + filepath.FromSlash(b.Path)
	}
}

func (b *Bundle) rootDir() string {
	if b.In == nil {
		return ""
	}
	return b.In.Dir
}

// Contains reports whether path, relative to the root like Path, is below the skill's folder.
func (b *Bundle) Contains(path string) bool {
	return b.Path == "." && path != "." || strings.HasPrefix(path, b.Path+"/")
}

// Same reports whether both bundles yield the same skill, according to their stamps. It returns
// false for a bundle with a fault.
func (b *Bundle) Same(o *Bundle) bool {
	return b.Path == o.Path && b.rootDir() == o.rootDir() && b.Entry == o.Entry && b.Stamp == o.Stamp && b.Link() == o.Link() &&
		b.Fault() == nil && o.Fault() == nil && slices.Equal(b.Others(), o.Others())
}

// EntryNames lists the spellings of a skill's main file, in order of preference. Any other
// spelling is reported, not served.
var EntryNames = [...]string{"SKILL.md", "skill.md", "SKILL.MD", "Skill.md"}

// IsEntryName reports whether a file name is one of [EntryNames], which can be served.
func IsEntryName(name string) bool { return slices.Contains(EntryNames[:], name) }

// IsEntryNameInAnyCase reports whether a file name spells SKILL.md in some case. It compares only
// ASCII names, because Unicode case folding would accept the Kelvin sign for a K.
func IsEntryNameInAnyCase(name string) bool {
	return len(name) == len(MainFile) && strings.EqualFold(name, MainFile)
}
