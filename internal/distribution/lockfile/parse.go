package lockfile

import (
	"strings"
	"unicode"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/jsonfile"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/reference"
	"github.com/knack-dev/knack/skill"
)

// The fields of a lock, in their order in the file.
var (
	topFields   = []string{"lockVersion", "skills"}
	entryFields = []string{"name", "source", "want", "path", "revision", "version", "pinned", "signer", "clients", "digest", "files"}
	fileFields  = []string{"digest", "size", "exec"}
)

// Fixes in the errors about a lock.
const (
	restore = "restore the file from version control"
	again   = "remove this entry and add the skill again"
)

// Parse reads a lock strictly. It refuses text that is not JSON, conflict markers, an unknown field
// or version, a missing field, and a value of the wrong type. It also refuses a field or a path
// that occurs twice, a path that is not plain, and digests that do not match. The error is a
// [*jsonfile.Error]. Parse accepts the line ends of Windows and any order of fields.
func Parse(data []byte) (lock *Lock, err error) {
	err = jsonfile.Read(data, form, func(r *jsonfile.Reader) { lock = (&reader{r, map[string]int{}}).lock() })
	if err != nil {
		return nil, err
	}
	return lock, nil
}

// form has the texts of the errors about a lock.
var form = jsonfile.Options{
	MaxSize: MaxSize, TooLarge: "lock fewer skills in one folder", Restore: restore,
	Empty:    restore + ", or delete it if no skill is installed",
	Conflict: "take one side (git checkout --ours " + Name + "), then run knack add for the skills of the other; their folders are there, so they are only recorded",
}

// reader reads a lock.
type reader struct {
	*jsonfile.Reader
	paths map[string]int // offsets of the current entry's files, by folded path
}

func (r *reader) lock() *Lock {
	lock := &Lock{Skills: map[string]Skill{}}
	seen := r.Object("the lock", topFields, func(field string, at int) {
		switch field {
		case "lockVersion":
			if n := r.Number("lockVersion"); n != version {
				r.Fail(r.Last, "use a newer knack, or restore the file from version control", "lockVersion %d is not known; this knack reads version 1", n)
			}
		case "skills":
			folders := map[string]int{}
			r.Members("skills", func(key string, at int) {
				r.folder(key, at, folders)
				lock.Skills[key] = r.entry(key, at)
			})
		}
	})
	r.Require(seen, 0, "the lock", topFields, topFields, restore)
	return lock
}

// folder checks the key of an entry.
func (r *reader) folder(key string, at int, folders map[string]int) {
	r.plain("the folder", key, at)
	for seg := range strings.SplitSeq(key, "/") {
		if IsGit(seg) {
			r.Fail(at, again+" elsewhere", "the folder %s is in the data of a repository", display.Quote(key))
		}
	}
	r.requireUnique(folders, "the folder", key, at)
}

// IsGit reports whether some file system treats a name as .git. Git runs programs in .git/hooks. A
// clone cannot bring files into that folder, but it can bring a lock or a link that names a path
// there.
func IsGit(name string) bool {
	name = strings.Map(func(c rune) rune {
		if display.IsUnseen(c) {
			return -1
		}
		return c
	}, name)
	name, _, _ = strings.Cut(name, ":")
	name = strings.TrimRight(name, ". ")
	return strings.EqualFold(name, ".git") || strings.EqualFold(name, "git~1")
}

func (r *reader) entry(key string, at int) (e Skill) {
	what := "the entry of " + display.Quote(key)
	digestAt := 0
	seen := r.Object(what, entryFields, func(field string, _ int) {
		switch field {
		case "name":
			e.Name = r.AnyText("name")
		case "source":
			e.Source = reference.Normal(r.Text("source"))
			if hasPassword(e.Source) {
				r.Fail(r.Last, "remove the user name and the password from the address, and change the password", "source has a user name or a password")
			}
		case "want":
			e.Want = r.Text("want")
		case "path":
			if e.Path = r.Text("path"); e.Path != "." {
				r.plain("path", e.Path, r.Last)
			}
		case "revision":
			e.Revision = r.Text("revision")
			r.kind("revision", e.Revision, origin.RevisionPrefixes()...)
		case "version":
			e.Version = r.Text("version")
		case "pinned":
			e.Pinned = r.Boolean("pinned")
		case "signer":
			e.Signer = r.Text("signer")
			r.kind("signer", e.Signer, "key:")
		case "clients":
			e.Clients = map[string]Form{}
			r.Members("clients", func(id string, at int) {
				if id == "" || strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789.-") != "" {
					r.Fail(at, again, "%s is the id of no client", display.Quote(id))
				}
				if _, twice := e.Clients[id]; twice {
					r.Fail(at, "remove one of the two", "the client %s is there twice", id)
				}
				if e.Clients[id] = Form(r.Text("the client " + id)); e.Clients[id] != Link && e.Clients[id] != Copy {
					r.Fail(r.Last, "write link or copy", "the client %s has neither a link nor a copy", id)
				}
			})
		case "digest":
			e.Digest = jsonfile.Digest(r.Reader, "digest", skill.ParseDigest)
			digestAt = r.Last
		case "files":
			e.Files = r.files(at)
		}
	})
	r.Require(seen, at, what, entryFields, []string{"name", "source", "path", "digest", "files"}, again)
	if got := Digest(e.Files); got != e.Digest {
		r.Fail(digestAt, restore+", or "+again, "digest does not match the files, whose digest is %s", got)
	}
	return e
}

// files reads the files of the entry whose key is at the offset entry.
func (r *reader) files(entry int) (files []File) {
	clear(r.paths)
	r.Members("files", func(path string, at int) {
		r.plain("the file", path, at)
		if skill.Hidden(path) {
			r.Fail(at, again, "the file %s has a name that begins with a dot; such files are not installed", display.Quote(path))
		}
		r.requireUnique(r.paths, "the file", path, at)
		f := File{Path: path}
		seen := r.Object("the file "+display.Quote(path), fileFields, func(field string, _ int) {
			switch field {
			case "digest":
				f.Digest = jsonfile.Digest(r.Reader, "digest", skill.ParseDigest)
			case "size":
				f.Size = r.Number("size")
			case "exec":
				f.Exec = r.Boolean("exec")
			}
		})
		r.Require(seen, at, "the file "+display.Quote(path), fileFields, []string{"digest", "size"}, again)
		files = append(files, f)
	})
	main := false
	for _, f := range files {
		main = main || skill.IsEntryNameInAnyCase(f.Path)
		for i, c := range f.Path {
			if c != '/' {
				continue
			}
			if at, isFile := r.paths[skill.Fold(f.Path[:i])]; isFile {
				r.Fail(at, again, "%s is a file, and the folder of the file %s", display.Quote(f.Path[:i]), display.Quote(f.Path))
			}
		}
	}
	if !main {
		r.Fail(entry, again, "the files have no %s", skill.MainFile)
	}
	Sort(files)
	return files
}

// requireUnique checks that a path occurs only once, even on a disk that ignores case or Unicode
// composition.
func (r *reader) requireUnique(paths map[string]int, what, path string, at int) {
	fold := skill.Fold(path)
	if _, twice := paths[fold]; twice {
		r.Fail(at, "remove one of the two", "%s %s is there twice, or differs from another only in capitals or accents", what, display.Quote(path))
	}
	paths[fold] = at
}

// kind checks that a value begins with one of the prefixes.
func (r *reader) kind(field, value string, prefixes ...string) {
	for _, p := range prefixes {
		if rest, ok := strings.CutPrefix(value, p); ok && rest != "" {
			return
		}
	}
	r.Fail(r.Last, restore, "%s does not begin with %s", field, strings.Join(prefixes, ", "))
}

// hasPassword reports whether a URL may contain a password or a token. A user name alone is part of
// an ssh address, as in ssh://git@host. In the URL of a site, it is a token.
func hasPassword(source string) bool {
	scheme, rest, isURL := strings.Cut(source, "://")
	host, _, _ := strings.Cut(rest, "/")
	at := strings.LastIndexByte(host, '@')
	return isURL && at >= 0 && (strings.HasSuffix(scheme, "http") || strings.HasSuffix(scheme, "https") || strings.Contains(host[:at], ":"))
}

// plain checks that a path is relative and slash-separated, without parts such as "..".
func (r *reader) plain(what, path string, at int) {
	fault := ""
	switch {
	case path == "":
		fault = "is empty"
	case path[0] == '/':
		fault = "is absolute"
	case strings.Contains(path, `\`):
		fault = `has a \`
	case strings.ContainsFunc(path, unicode.IsControl):
		fault = "has a control character"
	}
	for seg := range strings.SplitSeq(path, "/") {
		if fault == "" && (seg == "" || seg == "." || seg == "..") {
			fault = "has a part that is empty, . or .."
		}
	}
	if fault != "" {
		r.Fail(at, again, "%s %s is not a plain path: it %s", what, display.Quote(path), fault)
	}
}
