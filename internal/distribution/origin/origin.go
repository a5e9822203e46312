// Package origin defines where skills come from: how a source outside is written, and what
// each kind of source can do. The packages below it are the kinds.
package origin

import (
	"context"
	"io"
	"path"
	"slices"

	"github.com/knack-dev/knack/internal/base/edit"
)

// Kind is a kind of source.
type Kind string

// The kinds.
const (
	Folder    Kind = "folder"
	Archive   Kind = "archive"    // a zip, a tar.gz or a .skill, on a disk or behind https
	Git       Kind = "git"        // a repository, read by the program git
	WellKnown Kind = "well-known" // a site with /.well-known/agent-skills/index.json
	MCP       Kind = "mcp"        // a server with the Skills extension (SEP-2640)
	OCI       Kind = "oci"        // a repository of a registry
)

// Ref is a source as a person wrote it, parsed.
type Ref struct {
	Kind Kind
	// Source is the source in one spelling, without the reference and without a folder in it:
	// "github.com/acme/skills", "oci://ghcr.io/acme/skills", "https://x.example/a.zip". It is
	// what the lock says.
	Source string
	// Sub is the folder within the source in which skills are looked for; "" for all of it.
	Sub string
	// Want is the branch, tag or commit that was asked for; "" for the source's default.
	Want string
	// Digest is the manifest digest that an oci:// reference ends with, or "".
	Digest string
	// Location is what an Origin opens: an absolute path, or a URL. A path is as absolute as
	// Source may be relative to the lock's folder.
	Location string
}

// Revision is the state of a source at one moment.
type Revision struct {
	// ID is "git:" and a commit, "oci:" and a manifest digest, or "http:" and the SHA-256 of an
	// archive. It is "" if the source has no common revision, as a folder.
	ID string
	// Version is the tag or annotation that names a version, or "".
	Version string
	// Said is the version that the content itself says, which a signature covers, or "". A tag can be
	// moved by anybody who may push.
	Said string
}

// Gone is the error of a revision that a source no longer has.
type Gone struct{ Message string }

// Error returns the message.
func (g *Gone) Error() string { return g.Message }

// Skill is one skill of a library.
type Skill struct {
	Path string // its folder within the source, slash-separated, "." for the source itself
	// Name and Description are those of its frontmatter, or "". A source may know them without
	// reading a skill.
	Name, Description string
	// Digest is what the source says about all files of the skill, for Fetch to hold it to; "" if
	// it says nothing.
	Digest string
	// Main is the main file in the source's spelling, "SKILL.md" or "skill.md"; "" if the skill
	// has none that is served.
	Main string
	// Left counts its entries that are not installed: those whose names begin with a dot, each
	// folder as one, and submodules.
	Left int
	// Copies has the files that links within the skill give it: by the path of the file that has
	// the bytes, those of the copies. All are below the skill's folder.
	Copies Copies
	// Dropped has the links and the devices that are not installed, each with the reason.
	Dropped []string
	// Unserved says why knack does not offer it although it can be installed: no frontmatter, no
	// description. It is "" if it is offered, or if that is not known yet.
	Unserved string
	// Extent has the files and folders of the skill, as far as they are known before they are fetched.
	Extent edit.Extent
	// Fault says why it cannot be installed: no main file, too many files, no name.
	Fault error
}

// Copies are paths of copies of files, by the file's path.
type Copies map[string][]string

// At returns the path within the source of the bytes of a file of the skill.
func (s *Skill) At(file string) string {
	for from, copies := range s.Copies {
		if slices.Contains(copies, file) {
			file = from
			break
		}
	}
	return path.Join(s.Path, file)
}

// File is one file of a skill that is being fetched.
type File struct {
	Path string // below the skill's folder, as the source spells it
	Exec bool
	Size int64 // -1 if it is not known beforehand
}

// Sink takes the files of skills that are fetched. It counts and hashes the bytes that arrive.
type Sink interface {
	// File takes one file of the skill with this path. An error refuses that skill alone; its
	// further files need not be sent.
	File(skill string, f File, content io.Reader) error
	// Fail says that a skill cannot be had, whatever of it was taken.
	Fail(skill string, err error)
}

// Library is a source at one revision.
type Library interface {
	Revision() Revision
	// Skills returns what the source holds below the folder that was asked for, by path.
	Skills(ctx context.Context) ([]Skill, error)
	// Fetch sends each file of these skills to the sink, in any order. Its error concerns all of
	// them; that of one skill goes to Sink.Fail. Entries that start with a dot are not sent.
	Fetch(ctx context.Context, skills []Skill, to Sink) error
	io.Closer
}

// Origin reads sources of one kind. Its methods may be called from several goroutines.
type Origin interface {
	// Resolve asks what a reference names now, as cheaply as the kind allows. Only what was
	// resolved is in the revision's ID; it may be "" for a kind without one.
	Resolve(ctx context.Context, ref Ref) (Revision, error)
	// Versions returns the tags of the source that may name versions, or nil if the kind has
	// none.
	Versions(ctx context.Context, ref Ref) ([]string, error)
	// Open reads the source at a revision, which may be an older one. With an empty ID it reads
	// what the reference names now.
	Open(ctx context.Context, ref Ref, at Revision) (Library, error)
}

// Spool is a file for bytes on their way, gone when it is closed.
type Spool interface {
	io.ReadWriteSeeker
	io.ReaderAt
	io.WriterAt // for several parts at once
	io.Closer
}

// Progress is called now and then while bytes arrive. total is 0 if it is not known.
type Progress func(what string, done, total int64)
