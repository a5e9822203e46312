package clientconfig

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// jsonEdit changes a parsed JSON file.
type jsonEdit struct {
	jsonFile
	newline, unit string // line end and indentation of the file
}

// mergeJSON sets fields of the entry at a path of keys, and removes the keys in drop. All other
// bytes of the file stay.
func mergeJSON(data []byte, path []string, set []field, drop []string, d dialect) ([]byte, error) {
	f, err := parseJSON(data, d)
	if err != nil {
		return nil, err
	}
	e := &jsonEdit{f, newlineOf(data), "  "}
	mark := bytes.Clone(data[:len(data)-len(bytes.TrimPrefix(data, []byte(byteOrderMark)))])
	if f.empty {
		return append(mark, e.render(object{{path[0], nest(path[1:], set)}}, "")+e.newline...), nil
	}
	before := f.value()
	if o, ok := f.root.Value.(*hujson.Object); ok && len(o.Members) > 0 {
		if indent, first := e.lineIndent(o.Members[0].Name.StartOffset); first && indent != "" {
			e.unit = indent
		}
	}
	if err := e.merge(path, set, drop); err != nil {
		return nil, err
	}
	out := e.root.Pack()
	if !bytes.HasSuffix(data, []byte("\n")) {
		out = bytes.TrimSuffix(out, []byte("\n"))
	}
	if out = append(mark, out...); !asIntended(before, out, path, set, drop, d) {
		return nil, errSelfCheck
	}
	return out, nil
}

// errSelfCheck is returned if an edit would change anything but the entry. The file then stays
// unchanged.
var errSelfCheck = errors.New("the entry cannot be added here without changing something else; add it by hand")

// asIntended parses the result again. It checks that the entry has the set fields and none of the
// dropped ones, and that everything else is unchanged.
func asIntended(before map[string]any, out []byte, path []string, set []field, drop []string, d dialect) bool {
	f, err := parseJSON(out, d)
	if err != nil {
		return false
	}
	after := f.value()
	have := after
	for _, key := range path {
		have, _ = have[key].(map[string]any)
	}
	for _, s := range set {
		if !reflect.DeepEqual(have[s.key], plainValue(s.value)) {
			return false
		}
	}
	for _, key := range drop {
		if _, ok := have[key]; ok {
			return false
		}
	}
	return reflect.DeepEqual(without(before, path, set, drop), without(after, path, set, drop))
}

// without removes from the entry at a path the members that an edit may change. Then it removes the
// objects on the path that are empty.
func without(m map[string]any, path []string, set []field, drop []string) map[string]any {
	if len(path) == 0 {
		for _, f := range set {
			delete(m, f.key)
		}
		for _, key := range drop {
			delete(m, key)
		}
		return m
	}
	if below, ok := m[path[0]].(map[string]any); ok && len(without(below, path[1:], set, drop)) == 0 {
		delete(m, path[0])
	}
	return m
}

// merge changes the syntax tree of the file.
func (e *jsonEdit) merge(path []string, set []field, drop []string) error {
	at := &e.root
	for i, key := range path {
		o, ok := at.Value.(*hujson.Object)
		if !ok {
			return e.notObject(at, path[:i])
		}
		m := member(o, key)
		if m == nil {
			e.insert(at, o, field{key, nest(path[i+1:], set)})
			return nil
		}
		at = &m.Value
	}
	o, ok := at.Value.(*hujson.Object)
	if !ok {
		return e.notObject(at, path)
	}
	// A new member replaces a removed one, so the comments around the old member stay.
	stale := slices.DeleteFunc(slices.Clone(drop), func(key string) bool { return member(o, key) == nil })
	var missing []field
	for _, f := range set {
		m := member(o, f.key)
		if m == nil && len(stale) > 0 {
			m = member(o, stale[0])
			m.Name.Value = hujson.Literal(appendString(f.key))
			stale = stale[1:]
			e.replace(&m.Value, f)
			continue
		}
		if m == nil {
			missing = append(missing, f)
		} else if !reflect.DeepEqual(decoded(m.Value), plainValue(f.value)) {
			e.replace(&m.Value, f)
		}
	}
	e.insert(at, o, missing...)
	for _, key := range stale {
		remove(o, key)
	}
	return nil
}

func member(o *hujson.Object, key string) *hujson.ObjectMember {
	for i := range o.Members {
		if o.Members[i].Name.Value.(hujson.Literal).String() == key {
			return &o.Members[i]
		}
	}
	return nil
}

// decoded returns a value as encoding/json decodes it.
func decoded(v hujson.Value) any {
	return jsonFile{root: hujson.Value{Value: &hujson.Object{Members: []hujson.ObjectMember{{Name: hujson.Value{Value: hujson.String("v")}, Value: v}}}}}.value()["v"]
}

func nest(path []string, entry []field) any {
	if len(path) == 0 {
		return object(entry)
	}
	return object{{path[0], nest(path[1:], entry)}}
}

// notObject returns the error for a value that should be an object, with its position.
func (e *jsonEdit) notObject(v *hujson.Value, path []string) error {
	what := "the file"
	if len(path) > 0 {
		what = strings.Join(path, ".")
	}
	return e.fail(v.StartOffset, "%s is not an object in braces", what)
}

func (e *jsonEdit) replace(v *hujson.Value, f field) {
	indent, _ := e.lineIndent(v.StartOffset)
	v.Value = e.parsed(e.render(f.value, indent)).Value
}

// parsed parses generated JSON into a part of the syntax tree.
func (e *jsonEdit) parsed(text string) hujson.Value {
	v, err := hujson.Parse([]byte(text))
	if err != nil {
		panic(fmt.Sprintf("client: %v in %s", err, text)) // render writes JSON
	}
	return v
}

// insert adds members after the last one of an object, in the style of the file.
func (e *jsonEdit) insert(v *hujson.Value, o *hujson.Object, fields ...field) {
	if len(fields) == 0 {
		return
	}
	base, _ := e.lineIndent(v.StartOffset)
	indent := base + e.unit
	before, oneLine := hujson.Extra(e.newline+indent), false
	head, rest := hujson.Extra(nil), o.AfterExtra // the space after the last member, and the space before the brace
	switch n := len(o.Members); {
	case n == 0:
		head = bytes.TrimRight(o.AfterExtra, " \t\r\n")
		rest = rest[len(head):]
	case !bytes.Contains(e.data[v.StartOffset:v.EndOffset], []byte("\n")):
		before, oneLine = hujson.Extra(" "), true
	default:
		if own, first := e.lineIndent(o.Members[n-1].Name.StartOffset); first {
			indent = own
			before = hujson.Extra(e.newline + indent)
		}
		head = rest[:sameLine(rest)]
		rest = rest[len(head):]
	}
	trailing := hujson.Extra(nil) // a new last member gets a comma if the present one has one
	if n := len(o.Members); n > 0 && o.Members[n-1].Value.AfterExtra != nil {
		trailing = hujson.Extra{}
	}
	for i, f := range fields {
		text := e.render(f.value, indent)
		if oneLine {
			text = compact(text, e.newline)
		}
		m := hujson.ObjectMember{Name: hujson.Value{Value: hujson.Literal(appendString(f.key)), BeforeExtra: before}, Value: e.parsed(" " + text)}
		if i == 0 {
			m.Name.BeforeExtra = slices.Concat(head, before)
		}
		o.Members = append(o.Members, m)
	}
	o.Members[len(o.Members)-1].Value.AfterExtra = trailing
	if o.AfterExtra = rest; !oneLine && !bytes.Contains(rest, []byte("\n")) {
		o.AfterExtra = hujson.Extra(e.newline + base)
	}
}

// sameLine returns the length of the comments after a member on the same line.
func sameLine(b hujson.Extra) (n int) {
	for {
		rest := b[n+len(b[n:])-len(bytes.TrimLeft(b[n:], " \t")):]
		end := -1
		switch {
		case bytes.HasPrefix(rest, []byte("//")):
			line, _, _ := bytes.Cut(rest, []byte("\n"))
			return len(b) - len(rest) + len(bytes.TrimRight(line, "\r"))
		case bytes.HasPrefix(rest, []byte("/*")):
			end = bytes.Index(rest, []byte("*/")) + 2
		}
		if end < 0 || bytes.Contains(rest[:end], []byte("\n")) {
			return n
		}
		n = len(b) - len(rest) + end
	}
}

// remove deletes a member and its comma. It also deletes the member's line if nothing else is on
// it. Comments stay.
func remove(o *hujson.Object, key string) {
	i := slices.IndexFunc(o.Members, func(m hujson.ObjectMember) bool { return m.Name.Value.(hujson.Literal).String() == key })
	gone := o.Members[i]
	next := &o.AfterExtra
	if i+1 < len(o.Members) {
		next = &o.Members[i+1].Name.BeforeExtra
	} else if i > 0 {
		// The previous member becomes the last one. A non-nil AfterExtra gives it a trailing comma.
		last := &o.Members[i-1].Value
		if gone.Value.AfterExtra != nil && last.AfterExtra == nil {
			last.AfterExtra = hujson.Extra{}
		} else if gone.Value.AfterExtra == nil {
			gone.Name.BeforeExtra = slices.Concat(last.AfterExtra, gone.Name.BeforeExtra)
			last.AfterExtra = nil
		}
	}
	comments := slices.Clone(gone.Name.BeforeExtra)
	for _, b := range []hujson.Extra{gone.Name.AfterExtra, gone.Value.BeforeExtra, gone.Value.AfterExtra} {
		if !b.IsStandard() {
			comments = append(comments, b...)
		}
	}
	switch after := bytes.TrimLeft(*next, " \t"); {
	case comments.IsStandard() && sameLine(*next) == 0:
	case bytes.HasPrefix(after, []byte("/")):
		*next = append(comments, after...)
	case !comments.IsStandard():
		*next = append(bytes.TrimRight(comments, " \t\r\n"), *next...)
	}
	o.Members = slices.Delete(o.Members, i, i+1)
}

// lineIndent returns the indentation of the line that contains an offset. It also reports whether
// the offset is at the first character after the indentation.
func (e *jsonEdit) lineIndent(at int) (string, bool) {
	line := string(e.data[1+bytes.LastIndexByte(e.data[:at], '\n') : at])
	trimmed := strings.TrimLeft(line, " \t")
	return line[:len(line)-len(trimmed)], trimmed == ""
}

// render formats a value as JSON, with each member of an object on its own line.
func (e *jsonEdit) render(v any, indent string) string {
	o, ok := v.(object)
	if !ok {
		return flow(v)
	}
	if len(o) == 0 {
		return "{}"
	}
	parts := make([]string, len(o))
	for i, f := range o {
		parts[i] = e.newline + indent + e.unit + string(appendString(f.key)) + ": " + e.render(f.value, indent+e.unit)
	}
	return "{" + strings.Join(parts, ",") + e.newline + indent + "}"
}

// compact joins the output of [jsonEdit.render] into one line.
func compact(s, newline string) string {
	lines := strings.Split(s, newline)
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.NewReplacer("{ ", "{", " }", "}").Replace(strings.Join(lines, " "))
}
