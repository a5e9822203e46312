package lockfile

import (
	"maps"
	"slices"
	"strconv"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill"
)

// Name is the name of the file.
const Name = "knack.lock"

// MaxSize is the maximum size of a lock that [Parse] reads, in bytes: about 35,000 skills of the
// usual size. A lock is untrusted text, and its reader takes about twice its size in memory.
const MaxSize = 32 << 20

// version is the only lockVersion.
const version = 1

// Lock is the content of a knack.lock.
type Lock struct {
	// Skills maps the folder of each installed skill to the skill. The folder is slash-separated
	// and relative to the folder of the lock.
	Skills map[string]Skill
}

// Skill is a skill in a [Lock].
type Skill struct {
	Name     string // the frontmatter's name, for people
	Source   string // its source, without the reference
	Want     string // the requested reference; "" for the source's default
	Path     string // its folder within the source, "." for the source itself
	Revision string // the ID of an [origin.Revision]
	Version  string // the tag or annotation that names a version, or ""
	Pinned   bool   // update does not change it
	Signer   string // "key:" and the SHA-256 of the key whose signature was verified, or ""
	// Clients maps the IDs of the clients whose folders also have the skill to its form there.
	Clients map[string]Form
	Digest  skill.Digest
	Files   []File // by path
}

// Form is the form of a skill in the folder of a client. Only a client that does not read the
// skill's own folder needs one.
type Form string

// The forms.
const (
	Link Form = "link" // a relative link to the skill's folder
	Copy Form = "copy" // a folder with the same files
)

// Bytes returns the canonical text of the lock: equal locks have equal bytes. It does not validate
// the lock. A program validates the text with [Parse] before it writes the file.
func (l *Lock) Bytes() []byte {
	b := append([]byte(nil), "{\n  \"lockVersion\": 1,\n  \"skills\": {"...)
	for i, key := range slices.Sorted(maps.Keys(l.Skills)) {
		e := l.Skills[key]
		b = display.AppendJSONString(member(b, i, "\n    "), key)
		b = append(b, ": {\n      "...)
		for _, f := range [...]struct {
			name, value string
			always      bool
		}{
			{"name", e.Name, true}, {"source", e.Source, true}, {"want", e.Want, false}, {"path", e.Path, true},
			{"revision", e.Revision, false}, {"version", e.Version, false}, {"pinned", pinned(e.Pinned), false},
			{"signer", e.Signer, false},
		} {
			switch {
			case f.name == "pinned" && f.value != "":
				b = append(b, "\"pinned\": true,\n      "...)
			case f.value != "" || f.always:
				b = append(append(append(b, '"'), f.name...), "\": "...)
				b = append(display.AppendJSONString(b, f.value), ",\n      "...)
			}
		}
		b = append(append(append(appendClients(b, e.Clients), `"digest": "`...), e.Digest.String()...), "\",\n      "...)
		b = appendFiles(append(b, "\"files\": {"...), e.Files)
		b = append(b, "\n    }"...)
	}
	if len(l.Skills) > 0 {
		b = append(b, "\n  "...)
	}
	return append(b, "}\n}\n"...)
}

// appendClients writes the member for the clients, if there are any.
func appendClients(b []byte, clients map[string]Form) []byte {
	if len(clients) == 0 {
		return b
	}
	b = append(b, "\"clients\": {"...)
	for i, id := range slices.Sorted(maps.Keys(clients)) {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = display.AppendJSONString(b, id)
		b = display.AppendJSONString(append(b, ": "...), string(clients[id]))
	}
	return append(b, "},\n      "...)
}

func pinned(pin bool) string {
	if pin {
		return "true"
	}
	return ""
}

func appendFiles(b []byte, files []File) []byte {
	files = slices.Clone(files)
	Sort(files)
	for i, f := range files {
		b = display.AppendJSONString(member(b, i, "\n        "), f.Path)
		b = append(append(b, ": {\"digest\": \""...), f.Digest.String()...)
		b = strconv.AppendInt(append(b, "\", \"size\": "...), f.Size, 10)
		if f.Exec {
			b = append(b, ", \"exec\": true"...)
		}
		b = append(b, '}')
	}
	if len(files) > 0 {
		b = append(b, "\n      "...)
	}
	return append(b, '}')
}

// member begins the i-th member of an object on its own line.
func member(b []byte, i int, line string) []byte {
	if i > 0 {
		b = append(b, ',')
	}
	return append(b, line...)
}
