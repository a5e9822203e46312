package clientconfig

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/base/rawjson"
)

// field is one member of an entry. Its value is a string, a list of strings, a bool, a number or an
// [object].
type field struct {
	key   string
	value any
}

// object is a mapping in an entry.
type object []field

type format int

const (
	formatJSON format = iota
	formatTOML
	formatYAML
)

// entry is the entry of one server in a file. Its values have the types that encoding/json decodes,
// and numbers are [json.Number]. A TOML date is a [json.Number] too, and an inline table of TOML is
// a [json.RawMessage] with its text. Any other YAML value, such as a float or an alias, is a
// [2]string with its kind and text.
type entry struct {
	fields map[string]any // nil if the entry is not a mapping
	nested bool           // whether the fields are in the object [Client.nested]
}

// servers returns the entries of a file below a path of keys, by name.
func (c Client) servers(data []byte, path []string) (map[string]entry, error) {
	var all map[string]any
	var err error
	switch c.format {
	case formatTOML:
		all, err = readTOML(data, path)
	case formatYAML:
		all, err = readYAML(data, path)
	default:
		all, err = readJSON(data, path, c.dialect)
	}
	out := map[string]entry{}
	for name, v := range all {
		fields, _ := v.(map[string]any)
		below, nested := fields[c.nested].(map[string]any)
		if nested && c.nested != "" {
			fields = below
		}
		out[name] = entry{fields, nested && c.nested != ""}
	}
	return out, err
}

// merge sets some fields of the entry at a path of keys, and removes others. It returns the new
// file. Everything else in the file is unchanged, including comments and formatting.
func (c Client) merge(data []byte, path []string, set []field, drop []string) ([]byte, error) {
	switch c.format {
	case formatTOML:
		return mergeTOML(data, path, set, drop)
	case formatYAML:
		return mergeYAML(data, path, set, drop, c.list)
	}
	return mergeJSON(data, path, set, drop, c.dialect)
}

// appendString returns s as a JSON string without HTML escapes. The result is also a valid string
// in YAML. It is valid in TOML too, because control characters are escaped.
func appendString(s string) []byte {
	b, _ := rawjson.Marshal(s) // a string always encodes
	return b
}

// flow formats a value in one line as JSON, which YAML parsers accept too.
func flow(v any) string {
	var parts []string
	switch v := v.(type) {
	case object:
		for _, f := range v {
			parts = append(parts, string(appendString(f.key))+": "+flow(f.value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []string:
		for _, s := range v {
			parts = append(parts, string(appendString(s)))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case string:
		return string(appendString(v))
	case bool:
		return strconv.FormatBool(v)
	case int:
		return strconv.Itoa(v)
	}
	out, _ := json.Marshal(v) // values from a parser always marshal
	return string(out)
}

// plainValue converts a field's value to the types that the parsers return.
func plainValue(v any) any {
	switch v := v.(type) {
	case []string:
		l := make([]any, len(v))
		for i, s := range v {
			l[i] = s
		}
		return l
	case object:
		m := make(map[string]any, len(v))
		for _, f := range v {
			m[f.key] = plainValue(f.value)
		}
		return m
	case int:
		return json.Number(strconv.Itoa(v))
	}
	return v
}

// newlineOf returns the line ending of a file.
func newlineOf(data []byte) string {
	if i := bytes.IndexByte(data, '\n'); i > 0 && data[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// splice replaces the bytes from start to end with text.
type splice struct {
	start, end int
	text       string
}

// apply applies splices that do not overlap. Splices with the same offsets are applied in their
// order.
func apply(data []byte, splices []splice) []byte {
	slices.SortStableFunc(splices, func(a, b splice) int { return cmp.Or(a.start-b.start, a.end-b.end) })
	var out []byte
	at := 0
	for _, s := range splices {
		out = append(out, data[at:s.start]...)
		out = append(out, s.text...)
		at = s.end
	}
	return append(out, data[at:]...)
}

// firstRune returns the first character and its length in bytes, which is at least 1.
func firstRune(b []byte) (rune, int) {
	r, size := utf8.DecodeRune(b)
	return r, max(size, 1)
}
