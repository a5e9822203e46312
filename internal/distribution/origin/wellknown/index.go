package wellknown

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/skill"
)

// schema2 is the $schema of an index of version 0.2.0
// (github.com/cloudflare/agent-skills-discovery-rfc). An index of version 0.1.0 has no $schema.
const schema2 = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"

// maxIndex bounds an index, in bytes.
const maxIndex = 16 << 20

// entry is a skill of an index, of either version.
type entry struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Type        string          `json:"type"`
	URL         string          `json:"url"`
	Digest      string          `json:"digest"`
	Files       json.RawMessage `json:"files"` // unparsed, which takes less memory
	at          *url.URL        // of the artifact, or of the skill's folder
	sum         skill.Digest
}

// indexEntry is a file of version 0.1.0: a path, or a path with a digest, as a draft had it.
type indexEntry struct {
	Path   string
	Digest string
}

// UnmarshalJSON implements [json.Unmarshaler].
func (l *indexEntry) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, &l.Path)
	}
	var full struct{ Path, Digest string }
	err := json.Unmarshal(data, &full)
	l.Path, l.Digest = full.Path, full.Digest
	return err
}

// index is an index that was read.
type index struct {
	signed  bool // version 0.2.0, whose entries have digests
	entries []entry
	named   map[string]int // the index of the first entry with each name
	twice   map[string]bool
}

var errNotIndex = errors.New("it is not JSON with a list of skills")

// parse reads an index from the address at, against which relative addresses are resolved.
func parse(r io.Reader, at *url.URL) (*index, error) {
	d := json.NewDecoder(r)
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errNotIndex
	}
	x, schema, found := &index{}, "", false
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, broken(err)
		}
		switch key {
		case "$schema":
			if err := d.Decode(&schema); err != nil {
				return nil, broken(err)
			}
			if schema != schema2 {
				return nil, fmt.Errorf("its version is not known, %s: knack reads 0.1.0 and 0.2.0", display.Quote(schema))
			}
			x.signed = true
		case "skills":
			if found {
				return nil, errors.New("it has two lists of skills")
			}
			found = true
			if err := x.list(d); err != nil {
				return nil, err
			}
		default:
			var other json.RawMessage
			if err := d.Decode(&other); err != nil {
				return nil, broken(err)
			}
		}
	}
	if !found {
		return nil, errNotIndex
	}
	x.named, x.twice = map[string]int{}, map[string]bool{}
	for i := range x.entries {
		e := &x.entries[i]
		e.locate(at, x.signed)
		if _, again := x.named[e.Name]; again {
			x.twice[e.Name] = true
		} else {
			x.named[e.Name] = i
		}
	}
	return x, nil
}

// revision returns the SHA-256 over one line per skill, "DIGEST NAME\n", in byte order. It ignores
// the order and the descriptions of the index.
func (x *index) revision() string {
	var lines []string
	for _, e := range x.entries {
		lines = append(lines, e.sum.String()+" "+e.Name+"\n")
	}
	slices.Sort(lines)
	h := sha256.New()
	for _, line := range lines {
		_, _ = io.WriteString(h, line)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func broken(err error) error { return fmt.Errorf("it is damaged: %w", err) }

func (x *index) list(d *json.Decoder) error {
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return errNotIndex
	}
	for d.More() {
		if len(x.entries) == origin.MaxSkills {
			return fmt.Errorf("it has more than %s skills", display.Thousands(origin.MaxSkills))
		}
		var e entry
		if err := d.Decode(&e); err != nil {
			var mistyped *json.UnmarshalTypeError
			if !errors.As(err, &mistyped) {
				return broken(err)
			}
			e = entry{Name: e.Name, Type: "damaged"}
		}
		x.entries = append(x.entries, e)
	}
	if _, err := d.Token(); err != nil {
		return broken(err)
	}
	return nil
}

// locate resolves the addresses of an entry.
func (e *entry) locate(at *url.URL, signed bool) {
	if !signed {
		if skill.ValidName(e.Name) {
			e.at = at.JoinPath("..", e.Name) // beside the index
		}
		return
	}
	if u, err := url.Parse(e.URL); err == nil && e.URL != "" {
		e.at = at.ResolveReference(u)
	}
	e.sum, _ = skill.ParseDigest(e.Digest)
}

// fault returns the reason why the skill of an entry cannot be fetched, or nil.
func (x *index) fault(e *entry) error {
	switch {
	case x.twice[e.Name]:
		return errors.New("the index has two skills of this name")
	case !skill.ValidName(e.Name):
		return errors.New("its entry in the index has no valid name")
	case e.Type == "damaged":
		return errors.New("its entry in the index has a field of another type than JSON's strings and lists")
	case !x.signed:
		_, err := e.files()
		return err
	case e.Type != "skill-md" && e.Type != "archive":
		return fmt.Errorf("its entry in the index is of type %s, which knack does not know", display.Quote(e.Type))
	case e.at == nil:
		return errors.New("its entry in the index has no address")
	case e.sum == (skill.Digest{}):
		return errors.New("its entry in the index has no digest, sha256: and 64 hexadecimal digits")
	}
	return nil
}

// files returns the entry's list of files, as an index of version 0.1.0 has it.
func (e *entry) files() ([]indexEntry, error) {
	d := json.NewDecoder(bytes.NewReader(e.Files))
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return nil, errors.New("its entry in the index has no list of files")
	}
	var files []indexEntry
	var paths origin.Paths
	main := false
	for d.More() {
		if len(files) == origin.MaxFiles {
			return nil, origin.TooManyFiles()
		}
		var f indexEntry
		if err := d.Decode(&f); err != nil {
			return nil, errors.New("its entry in the index has a list of something else than files")
		}
		if err := paths.Add(f.Path); err != nil {
			return nil, err
		}
		if f.Digest != "" {
			if _, err := skill.ParseDigest(f.Digest); err != nil {
				return nil, fmt.Errorf("the digest of %s in the index is damaged", display.Quote(f.Path))
			}
		}
		main = main || f.Path == skill.MainFile
		files = append(files, f)
	}
	if !main {
		return nil, fmt.Errorf("its entry in the index lists no %s", skill.MainFile)
	}
	return files, nil
}
