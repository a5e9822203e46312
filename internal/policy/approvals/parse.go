package approvals

import (
	"cmp"
	"slices"
	"time"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/jsonfile"
	"github.com/knack-dev/knack/skill"
)

// Bounds of the file.
const (
	maxSize   = 32 << 20 // in bytes: about 25,000 skills of the usual size
	MaxReason = 1000     // in bytes
	maxFields = 1000     // of one frontmatter
	maxFacts  = 64       // kinds of facts
)

// version is the only version of the file.
const version = 1

// The fields of the objects, in the order in which they are written.
var (
	topFields      = []string{"version", "approvals"}
	approvalFields = []string{"set", "by", "at", "until", "reason", "files", "fields", "facts"}
	fileFields     = []string{"digest", "size"}
)

// The fixes for a damaged file.
const (
	restore = "restore the file from version control"
	again   = "remove this approval and approve the skill again"
)

var form = jsonfile.Options{
	MaxSize: maxSize, TooLarge: "revoke approvals of skills that are not served any more", Restore: restore,
	Empty:    restore + ", or delete it if nothing is approved",
	Conflict: "take one side (git checkout --ours), then approve the skills of the other again",
}

// parse reads a file strictly. It returns a [*jsonfile.Error] for a text that is not JSON, an
// unknown field or version, a missing field, a value of the wrong type, a duplicate skill, file or
// field, and a set that does not match the files. A file with an error approves nothing.
func parse(data []byte) (*Book, error) {
	b := &Book{approvals: map[string]Approval{}}
	err := jsonfile.Read(data, form, func(r *jsonfile.Reader) {
		seen := r.Object("the file", topFields, func(field string, _ int) {
			switch field {
			case "version":
				if n := r.Number("version"); n != version {
					r.Fail(r.Last, "use a newer knack, or "+restore, "version %d is not known; this knack reads version 1", n)
				}
			case "approvals":
				r.Members("approvals", func(uri string, at int) { b.read(r, uri, at) })
			}
		})
		r.Require(seen, 0, "the file", topFields, topFields, restore)
	})
	if err != nil {
		return nil, err
	}
	return b, nil
}

// read reads the approval of a URI at offset at.
func (b *Book) read(r *jsonfile.Reader, uri string, at int) {
	what := "the approval of " + display.Quote(uri)
	if u, err := skill.ParseURI(uri); err != nil || u.String() != uri {
		r.Fail(at, again, "%s is not the URI of a skill", display.Quote(uri))
	}
	if _, twice := b.approvals[uri]; twice {
		r.Fail(at, "remove one of the two", "%s is there twice", what)
	}
	a := Approval{URI: uri}
	setAt := 0
	seen := r.Object(what, approvalFields, func(field string, _ int) {
		switch field {
		case "set":
			a.Set = jsonfile.Digest(r, "set", skill.ParseDigest)
			setAt = r.Last
		case "by":
			a.By = r.Text("by")
		case "at":
			a.At = date(r, "at", time.RFC3339, "a time such as 2026-01-31T12:00:00Z")
		case "until":
			a.Until = date(r, "until", time.DateOnly, "a day such as 2026-01-31")
		case "reason":
			if a.Reason = r.Text("reason"); len(a.Reason) > MaxReason {
				r.Fail(r.Last, "write a shorter one", "reason is too long; the limit is %s bytes", display.Thousands(MaxReason))
			}
		case "files":
			a.Files = files(r)
		case "fields":
			a.Fields = fields(r)
		case "facts":
			a.Facts = facts(r)
		}
	})
	r.Require(seen, at, what, approvalFields, []string{"set", "by", "at", "files", "fields", "facts"}, again)
	if got := skill.SetOf(a.Files); got != a.Set {
		r.Fail(setAt, restore+", or "+again, "set does not match the files, whose digest is %s", got)
	}
	b.approvals[uri] = a
}

// date reads a day or a time in UTC. It refuses a text that is not in the given layout.
func date(r *jsonfile.Reader, field, layout, kind string) time.Time {
	text := r.Text(field)
	t, err := time.Parse(layout, text)
	if err != nil || t.UTC().Format(layout) != text || t.IsZero() {
		r.Fail(r.Last, restore, "%s is not %s", field, kind)
	}
	return t.UTC()
}

func files(r *jsonfile.Reader) (all []skill.File) {
	paths := map[string]bool{}
	main := false
	begin := -1
	r.Members("files", func(path string, at int) {
		if begin < 0 {
			begin = at
		}
		what := "the file " + display.Quote(path)
		switch {
		case skill.CleanPath(path) != nil || skill.Hidden(path):
			r.Fail(at, again, "%s cannot be in a skill", what)
		case paths[path]:
			r.Fail(at, "remove one of the two", "%s is there twice", what)
		case len(all) == skill.MaxFiles:
			r.Fail(at, again, "the approval has more than %d files", skill.MaxFiles)
		}
		paths[path] = true
		main = main || path == skill.MainFile
		f := skill.File{Path: path}
		seen := r.Object(what, fileFields, func(field string, _ int) {
			switch field {
			case "digest":
				f.Digest = jsonfile.Digest(r, "digest", skill.ParseDigest)
			case "size":
				f.Size = r.Number("size")
			}
		})
		r.Require(seen, at, what, fileFields, fileFields, again)
		all = append(all, f)
	})
	if !main {
		r.Fail(max(begin, 0), again, "the files have no %s", skill.MainFile)
	}
	sortFiles(all)
	return all
}

func sortFiles(all []skill.File) {
	slices.SortFunc(all, func(a, b skill.File) int { return cmp.Compare(a.Path, b.Path) })
}

func fields(r *jsonfile.Reader) map[string]skill.Digest {
	all := map[string]skill.Digest{}
	r.Members("fields", func(name string, at int) {
		if _, twice := all[name]; twice {
			r.Fail(at, "remove one of the two", "the field %s is there twice", display.Quote(name))
		}
		if len(all) == maxFields {
			r.Fail(at, again, "the approval has more than %s fields", display.Thousands(maxFields))
		}
		all[name] = jsonfile.Digest(r, "the field "+display.Quote(name), skill.ParseDigest)
	})
	return all
}

func facts(r *jsonfile.Reader) map[string][]string {
	all := map[string][]string{}
	r.Members("facts", func(name string, at int) {
		if _, twice := all[name]; twice {
			r.Fail(at, "remove one of the two", "the facts %s are there twice", display.Quote(name))
		}
		if len(all) == maxFacts {
			r.Fail(at, again, "the approval has more than %d kinds of facts", maxFacts)
		}
		values := []string{}
		r.List("the facts "+display.Quote(name), func() { values = append(values, r.AnyText("the fact")) })
		all[name] = values
	})
	return all
}
