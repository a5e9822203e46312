// Package origin defines the sources from which skills are installed: their spelling, and the
// operations of each kind of source. The packages below it implement the kinds.
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
	NPM       Kind = "npm"        // a package of the registry that npm is configured for
)

// Ref is the parsed form of a source that a person wrote.
type Ref struct {
	Kind Kind
	// Source is the source in one spelling, without the reference and without a folder in it:
	// "github.com/acme/skills", "oci://ghcr.io/acme/skills", "https://x.example/a.zip". The lock
	// records it.
	Source string
	// Sub is the folder within the source that is searched for skills; "" for the whole source.
	Sub string
	// Want is the requested branch, tag or commit; "" for the source's default.
	Want string
	// Digest is the manifest digest at the end of an oci:// reference, or "".
	Digest string
	// Location is the place that an [Origin] reads: an absolute path, or a URL. Unlike Source, it
	// is never relative to the lock's folder.
	Location string
}

// Revision is the state of a source at one moment.
type Revision struct {
	// ID identifies the state. It begins with the prefix that [Kinds] has for the kind, followed by
	// a commit, a manifest digest, a package's integrity, or a SHA-256. The SHA-256 is the hash of
	// an archive, or of the digests in an index or in a server's list. ID is "" for a source
	// without a common revision, such as a folder.
	ID string
	// Version is the tag or annotation that names a version, or "".
	Version string
	// Said is the version that the content itself states, or "". A signature covers it, whereas
	// anyone with push access can move a tag.
	Said string
}

// Gone is the error of a revision that a source no longer has.
type Gone struct{ Message string }

// Error returns the message.
func (g *Gone) Error() string { return g.Message }

// Skill is one skill of a library.
type Skill struct {
	Path string // its folder within the source, slash-separated, "." for the source itself
	// Name and Description are the fields of the frontmatter, or "". Some sources list them, so
	// that the skill need not be read.
	Name, Description string
	// Digest is the source's own digest over all files of the skill, which Fetch verifies, or "".
	Digest string
	// Main is the main file in the source's spelling, "SKILL.md" or "skill.md". It is "" if the
	// skill has no main file that can be served.
	Main string
	// Left counts the entries that are not installed: entries whose names begin with a dot, each
	// folder as one, and submodules.
	Left int
	// Copies has the files that are installed a second time, in the place of links to them within
	// the skill. All paths are relative to the skill's folder.
	Copies Copies
	// Dropped lists the links and devices that are not installed, each with the reason.
	Dropped []string
	// Unserved is the reason why knack does not offer an installable skill, such as a missing
	// frontmatter or description. It is "" if knack offers it, or if that is not known yet.
	Unserved string
	// Extent is the size of the skill, as far as it is known before the fetch.
	Extent edit.Extent
	// Fault is the reason why the skill cannot be installed, such as a missing main file or too
	// many files.
	Fault error
}

// Copies maps the path of a file to the paths of its copies.
type Copies map[string][]string

// At returns the path in the source that has the bytes of one of the skill's files.
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

// Sink receives the files of fetched skills. It counts and hashes the bytes that arrive.
type Sink interface {
	// File receives one file of the skill with this path. An error refuses only that skill; its
	// further files need not be sent.
	File(skill string, f File, content io.Reader) error
	// Fail reports that a skill is unavailable, even if some of its files arrived.
	Fail(skill string, err error)
}

// Library is a source at one revision.
type Library interface {
	Revision() Revision
	// Skills returns the skills of the source below the requested folder, sorted by path.
	Skills(ctx context.Context) ([]Skill, error)
	// Fetch sends each file of these skills to the sink, in any order. Its error concerns all of
	// them; an error of one skill goes to Sink.Fail. Entries that start with a dot are not sent.
	Fetch(ctx context.Context, skills []Skill, to Sink) error
	io.Closer
}

// Separate is a library whose skills are fetched one by one. Fetch may be called for each of them,
// from several goroutines. An error that it passes to Sink.Fail is a fault of that skill alone. The
// exception is an [Outage] of a source that does not answer when it is opened again.
type Separate interface {
	Library
	Separate()
}

// Outage is the error of a source that does not answer, or changes meanwhile: a later attempt may
// succeed, even if the source's revision is the same.
type Outage struct{ Err error }

// Error implements error.
func (e *Outage) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Outage) Unwrap() error { return e.Err }

// Reader is a [Library] that also reads single files, such as a list of plugins.
type Reader interface {
	// ReadFile returns a regular file of the source. It fails with [fs.ErrNotExist] if there is no
	// such file, and reads at most one byte more than most.
	ReadFile(ctx context.Context, path string, most int64) ([]byte, error)
}

// Origin reads sources of one kind. Its methods may be called from several goroutines.
type Origin interface {
	// Resolve returns the revision that a reference names now, as cheaply as the kind allows. The
	// ID of the revision is "" for a kind without IDs.
	Resolve(ctx context.Context, ref Ref) (Revision, error)
	// Versions returns the tags of the source that may name versions, or nil if the kind has no
	// tags.
	Versions(ctx context.Context, ref Ref) ([]string, error)
	// Open reads the source at a revision, which may be an older one. With an empty ID it reads
	// the present revision of the reference.
	Open(ctx context.Context, ref Ref, at Revision) (Library, error)
}

// Spool is a temporary file for bytes in transit. Closing removes it.
type Spool interface {
	io.ReadWriteSeeker
	io.ReaderAt
	io.WriterAt // for several parts concurrently
	io.Closer
}

// Progress is called now and then while parts of a source arrive. total is 0 if it is unknown.
type Progress func(unit Unit, done, total int64)

// Report calls the function, unless it is nil.
func (p Progress) Report(unit Unit, done, total int64) {
	if p != nil {
		p(unit, done, total)
	}
}

// Unit is the unit of a [Progress].
type Unit string

// The units.
const (
	Bytes  Unit = "bytes"
	Files  Unit = "files"
	Skills Unit = "skills"
)
