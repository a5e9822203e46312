package skillsext

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/rawjson"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// The reasons of a [VerificationError].
const (
	reasonUnlisted    = "unlisted"
	reasonSize        = "size"
	reasonDigest      = "digest"
	reasonFrontmatter = "frontmatter"
)

// VerificationError reports a file that differs from its entry. The host must not use the file. If
// it is a SKILL.md, the host must not load the skill (SEP-2640, integrity and verification).
type VerificationError struct {
	// Reason is "unlisted" for a file that the entry does not list, and "size", "digest" or
	// "frontmatter" for a file that differs from the entry in that respect.
	Reason      string
	URI         string
	Differences []string // of the frontmatter, one for each field
	detail      string
}

// Error returns a message with the file and the reason.
func (e *VerificationError) Error() string { return e.URI + ": " + e.detail }

// VerifyResource checks the bytes of one file against the host's entry, which must list the file
// with the same size and digest. Without a manifest, it only checks that the file is within the
// skill.
func VerifyResource(s *Skill, uri string, data []byte) error {
	if s.Resources.IsDynamic() {
		if root, ok := strings.CutSuffix(s.URI, "/"+skill.MainFile); !ok || !strings.HasPrefix(canonical(uri), canonical(root)+"/") {
			return &VerificationError{Reason: reasonUnlisted, URI: uri, detail: "is outside of the skill"}
		}
		return nil
	}
	r, ok := s.resource(uri)
	if !ok {
		return &VerificationError{Reason: reasonUnlisted, URI: uri, detail: "the entry does not list it"}
	}
	if int64(len(data)) != r.Size {
		return &VerificationError{Reason: reasonSize, URI: uri, detail: fmt.Sprintf("it has %d bytes; the entry says %d", len(data), r.Size)}
	}
	if d := skill.DigestOf(data).String(); d != r.Digest {
		return &VerificationError{Reason: reasonDigest, URI: uri, detail: fmt.Sprintf("its digest is %s; the entry says %s", d, display.Echo(r.Digest))}
	}
	return nil
}

// VerifySkillMD checks a SKILL.md: its size and digest, and each field of its frontmatter against
// the entry's.
func VerifySkillMD(s *Skill, data []byte) error {
	if err := VerifyResource(s, s.URI, data); err != nil {
		return err
	}
	differences, err := frontmatterDifferences(s.Frontmatter, data)
	if err != nil {
		return &VerificationError{Reason: reasonFrontmatter, URI: s.URI, detail: "its frontmatter cannot be read: " + err.Error()}
	}
	if len(differences) > 0 {
		return &VerificationError{Reason: reasonFrontmatter, URI: s.URI, Differences: differences,
			detail: "its frontmatter is not the entry's: " + strings.Join(differences[:min(len(differences), 3)], "; ")}
	}
	return nil
}

func (s *Skill) resource(uri string) (Resource, bool) {
	want := canonical(uri)
	for _, r := range s.Resources.list {
		if r.URI == uri || canonical(r.URI) == want {
			return r, true
		}
	}
	return Resource{}, false
}

// canonical returns the same text for all ways to percent-encode a skill URI. It leaves URIs of
// other schemes unchanged.
func canonical(uri string) string {
	if u, err := skill.ParseURI(uri); err == nil {
		return u.String()
	}
	return uri
}

// frontmatterDifferences compares the frontmatter of an entry and of a SKILL.md. It compares every
// field, in both directions and without type conversion. The order of a mapping does not matter,
// but the order of a list does. Numbers are compared by their value.
func frontmatterDifferences(entry Frontmatter, data []byte) ([]string, error) {
	d := frontmatter.Parse(data)
	if d.Repaired || len(d.Fields) == 0 {
		return nil, errors.New("it is not a valid YAML mapping between two lines of ---")
	}
	got, err := entry.Map()
	if err != nil {
		return nil, fmt.Errorf("the entry's is not a JSON object: %w", err)
	}
	want, err := Frontmatter(d.JSON()).Map()
	if err != nil {
		return nil, err
	}
	return compare("", got, want, nil), nil
}

func compare(at string, entry, file any, out []string) []string {
	switch e := entry.(type) {
	case map[string]any:
		f, ok := file.(map[string]any)
		if !ok {
			break
		}
		keys := make([]string, 0, len(e)+len(f))
		for k := range e {
			keys = append(keys, k)
		}
		for k := range f {
			if _, both := e[k]; !both {
				keys = append(keys, k)
			}
		}
		slices.Sort(keys)
		for _, k := range keys {
			ev, inEntry := e[k]
			fv, inFile := f[k]
			name := strings.TrimPrefix(at+"."+display.Excerpt(k), ".")
			switch {
			case !inEntry:
				out = append(out, name+" is only in the file")
			case !inFile:
				out = append(out, name+" is only in the entry")
			default:
				out = compare(name, ev, fv, out)
			}
		}
		return out
	case []any:
		f, ok := file.([]any)
		if !ok || len(f) != len(e) {
			break
		}
		for i := range e {
			out = compare(at+"["+strconv.Itoa(i)+"]", e[i], f[i], out)
		}
		return out
	case json.Number:
		if f, ok := file.(json.Number); ok && sameNumber(string(e), string(f)) {
			return out
		}
	default:
		if entry == file && !isComposite(file) {
			return out
		}
	}
	return append(out, fmt.Sprintf("%s is %s in the entry and %s in the file", at, describe(entry), describe(file)))
}

func isComposite(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// sameNumber compares numbers exactly if their magnitude fits a double.
func sameNumber(a, b string) bool {
	if a == b {
		return true
	}
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	if errX != nil || errY != nil || x != y {
		return false
	}
	if len(a) > 400 || len(b) > 400 || x == 0 {
		return true
	}
	p, okP := new(big.Rat).SetString(a)
	q, okQ := new(big.Rat).SetString(b)
	return okP && okQ && p.Cmp(q) == 0
}

func describe(v any) string {
	b, _ := rawjson.Marshal(v)
	return display.Excerpt(string(b))
}

// checkEntry returns the violations in an entry, one line each: of SEP-2640, of the Agent Skills
// specification and of the limits.
func checkEntry(s *Skill) []string {
	root, ok := strings.CutSuffix(s.URI, "/"+skill.MainFile)
	if !ok || !strings.Contains(s.URI, "://") || strings.HasSuffix(root, "/") {
		return []string{"the uri does not end in <name>/SKILL.md"}
	}
	out := checkFrontmatter(s, path.Base(decoded(root)))
	if s.Resources.IsDynamic() {
		return out
	}
	return append(out, checkResources(s, root)...)
}

// decoded returns the path of a URI in readable form.
func decoded(uri string) string {
	if u, err := skill.ParseURI(uri); err == nil {
		return u.Path()
	}
	return uri
}

func checkFrontmatter(s *Skill, last string) (out []string) {
	m, err := s.Frontmatter.Map()
	if err != nil {
		return []string{"frontmatter is not an object"}
	}
	name, isText := m["name"].(string)
	switch {
	case !isText:
		out = append(out, "frontmatter.name is missing or not a string")
	case !skill.ValidName(name):
		out = append(out, "frontmatter.name "+display.Quote(name)+" is not 1 to 64 of a-z, 0-9 and single inner hyphens")
	case name != last:
		out = append(out, "frontmatter.name "+display.Quote(name)+" is not the last segment of the path, "+display.Quote(last))
	}
	description, isText := m["description"].(string)
	if n := utf8.RuneCountInString(description); !isText || n < 1 || n > skill.MaxDescription {
		out = append(out, "frontmatter.description is not a string of 1 to 1024 characters")
	}
	if v, given := m["compatibility"]; given {
		text, isText := v.(string)
		if n := utf8.RuneCountInString(text); !isText || n < 1 || n > skill.MaxCompatibility {
			out = append(out, "frontmatter.compatibility is not a string of 1 to 500 characters")
		}
	}
	if v, given := m["metadata"]; given && !mapsStrings(v) {
		out = append(out, "frontmatter.metadata does not map strings to strings")
	}
	return out
}

func mapsStrings(v any) bool {
	m, ok := v.(map[string]any)
	for _, item := range m {
		if _, isText := item.(string); !isText {
			return false
		}
	}
	return ok
}

func checkResources(s *Skill, root string) (out []string) {
	var total int64
	seen := map[string]bool{}
	for _, r := range s.Resources.list {
		at := canonical(r.URI)
		switch {
		case seen[at]:
			out = append(out, display.Echo(r.URI)+" is listed more than once")
		case !strings.HasPrefix(at, canonical(root)+"/"):
			out = append(out, display.Echo(r.URI)+" is outside of the skill")
		}
		seen[at] = true
		if _, err := skill.ParseDigest(r.Digest); err != nil {
			out = append(out, display.Echo(r.URI)+": its digest is not sha256: and 64 lower-case hexadecimal digits")
		}
		if r.Size < 0 {
			out = append(out, display.Echo(r.URI)+": its size is negative")
		}
		total += max(r.Size, 0)
	}
	if !seen[canonical(s.URI)] {
		out = append(out, "resources does not list the skill's own SKILL.md")
	}
	if len(s.Resources.list) > maxFiles {
		out = append(out, fmt.Sprintf("it has %d files, over the limit of %d", len(s.Resources.list), maxFiles))
	}
	if total > maxBytes {
		out = append(out, fmt.Sprintf("it has %d bytes, over the limit of %d", total, maxBytes))
	}
	return out
}

// sameEntry reports whether two entries are equal as JSON.
func sameEntry(a, b *Skill) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	if errX != nil || errY != nil {
		return false
	}
	if bytes.Equal(x, y) {
		return true
	}
	var v, w any
	for _, p := range []struct {
		data []byte
		into *any
	}{{x, &v}, {y, &w}} {
		dec := json.NewDecoder(bytes.NewReader(p.data))
		dec.UseNumber()
		if dec.Decode(p.into) != nil {
			return false
		}
	}
	return len(compare("", v, w, nil)) == 0
}
