package model

import (
	"bytes"
	"encoding/json"

	"github.com/knack-dev/knack/internal/base/rawjson"
)

// value is a JSON value assembled from pieces. The bytes of a single piece stay unchanged.
type value struct {
	raw     []byte // unused if it has members or items
	members map[string]*value
	items   []*value
}

// fixed lists the members whose string is repeated, not continued, in further pieces.
var fixed = map[string]bool{"role": true, "type": true, "id": true, "name": true, "format": true, "object": true}

// whole is the member whose strings are never continued: it has Gemini's signatures.
const whole = "extra_content"

// add adds a piece of the named member. It joins strings, merges objects and lists, and replaces
// other values.
func (v *value) add(name string, piece json.RawMessage, replace bool) {
	piece = bytes.TrimSpace(piece)
	if len(piece) == 0 || string(piece) == "null" && !v.isEmpty() {
		return
	}
	replace = replace || fixed[name] || name == whole
	switch {
	case v.isEmpty() || v.kind() != piece[0]:
	case piece[0] == '"' && !replace:
		v.raw = append(v.raw[:len(v.raw)-1], piece[1:]...)
		return
	case piece[0] == '{':
		v.expand()
		for key, p := range object(piece) {
			v.member(key).add(key, p, replace)
		}
		return
	case piece[0] == '[' && !replace:
		v.expand()
		for _, p := range list(piece) {
			v.item(p)
		}
		return
	}
	*v = value{raw: bytes.Clone(piece)}
}

// isEmpty reports whether the value has no piece, or null.
func (v *value) isEmpty() bool {
	return v.members == nil && v.items == nil && (len(v.raw) == 0 || string(v.raw) == "null")
}

// kind returns the first byte of the value's JSON.
func (v *value) kind() byte {
	switch {
	case v.members != nil:
		return '{'
	case v.items != nil:
		return '['
	}
	return v.raw[0]
}

// expand decodes an object or a list into its parts.
func (v *value) expand() {
	if v.members != nil || v.items != nil {
		return
	}
	switch v.raw[0] {
	case '{':
		v.members = map[string]*value{}
		for key, p := range object(v.raw) {
			v.members[key] = &value{raw: bytes.Clone(p)}
		}
	case '[':
		v.items = []*value{}
		for _, p := range list(v.raw) {
			v.items = append(v.items, &value{raw: bytes.Clone(p)})
		}
	}
	v.raw = nil
}

func (v *value) member(key string) *value {
	m := v.members[key]
	if m == nil {
		m = &value{}
		v.members[key] = m
	}
	return m
}

// item adds an item to a list. It continues the last item if both have the same index and type.
func (v *value) item(piece json.RawMessage) {
	if n := len(v.items); n > 0 && v.items[n-1].kind() == '{' {
		last, o := v.items[n-1], object(piece)
		if index := o["index"]; len(index) > 0 {
			last.expand()
			if string(last.members["index"].json()) == string(index) && string(last.members["type"].json()) == string(o["type"]) {
				last.add("", piece, false)
				return
			}
		}
	}
	v.items = append(v.items, &value{raw: bytes.Clone(piece)})
}

// json returns the value. Members are sorted by name, so that the same pieces give the same
// bytes, which prompt caches of endpoints need.
func (v *value) json() json.RawMessage {
	switch {
	case v == nil:
		return nil
	case v.members != nil:
		raw, _ := rawjson.Marshal(v.object()) // cannot fail: the values are valid JSON
		return raw
	case v.items != nil:
		all := make([]json.RawMessage, len(v.items))
		for i, item := range v.items {
			all[i] = item.json()
		}
		raw, _ := rawjson.Marshal(all)
		return raw
	}
	return v.raw
}

// object returns the members of an object.
func (v *value) object() members {
	m := members{}
	for key, p := range v.members {
		m[key] = p.json()
	}
	return m
}

// object decodes an object. It returns nil for any other value.
func object(raw json.RawMessage) members {
	var o members
	if json.Unmarshal(raw, &o) != nil {
		return nil
	}
	return o
}

// list decodes a list. It returns nil for any other value.
func list(raw json.RawMessage) (all []json.RawMessage) {
	if json.Unmarshal(raw, &all) != nil {
		return nil
	}
	return all
}

// text decodes a string. It returns "" for any other value.
func text(raw json.RawMessage) (s string) {
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
