package client

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// field is one member of an entry: a string, a list of strings, a bool or a
// number.
type field struct {
	key   string
	value any
}

// mergeJSON puts an entry under a path of keys into a JSON file. Only the bytes of
// the entry's own fields change.
func mergeJSON(data []byte, path []string, entry []field, ours []string) ([]byte, error) {
	root, ok, err := parseJSON(data)
	if err != nil {
		return nil, err
	}
	e := &jsonEdit{data: data, newline: newlineOf(data)}
	if !ok {
		text := e.object([]field{{path[0], nest(path[1:], entry)}}, "", "  ")
		return []byte(bom(data) + text + e.newline), nil
	}
	e.unit = e.unitOf(root)
	at := root
	for i, key := range path {
		if at.kind != '{' {
			return nil, notObject(data, at, path[:i])
		}
		next, ok := at.member(key)
		if !ok {
			e.insert(at, field{key, nest(path[i+1:], entry)})
			return e.checked(path, entry, root)
		}
		at = next
	}
	if at.kind != '{' {
		return nil, notObject(data, at, path)
	}
	// Where it reached the server in another way, what said so makes room: its places
	// go to what is said now, with the comments around them.
	var stale []member
	for _, m := range at.members {
		if slices.Contains(ours, m.key) && !slices.ContainsFunc(entry, func(f field) bool { return f.key == m.key }) {
			stale = append(stale, m)
		}
	}
	var missing []field
	for _, f := range entry {
		have, ok := at.member(f.key)
		switch {
		case !ok && len(stale) > 0:
			e.rename(stale[0], f)
			stale = stale[1:]
		case !ok:
			missing = append(missing, f)
		case !reflect.DeepEqual(plainValue(f.value), have.value()):
			e.replace(have, e.value(f.value, e.indentAt(have.start)))
		}
	}
	if len(missing) > 0 {
		e.insert(at, missing...)
	}
	if len(stale) > 0 {
		e.remove(at, stale)
	}
	return e.checked(path, entry, root)
}

// object is a nested entry.
type object []field

func nest(path []string, entry []field) any {
	if len(path) == 0 {
		return object(entry)
	}
	return object{{path[0], nest(path[1:], entry)}}
}

// notObject says where something else stands in the place of an object.
func notObject(data []byte, n node, path []string) error {
	what := "the file"
	if len(path) > 0 {
		what = strings.Join(path, ".")
	}
	line := 1 + strings.Count(string(data[:min(n.start, len(data))]), "\n")
	return fmt.Errorf("line %d: %s is not an object in braces", line, what)
}

func bom(data []byte) string {
	if strings.HasPrefix(string(data), "\ufeff") {
		return "\ufeff"
	}
	return ""
}

// newlineOf is how the file ends its lines.
func newlineOf(data []byte) string {
	if i := strings.IndexByte(string(data), '\n'); i > 0 && data[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// splice is a change of the bytes from start to end.
type splice struct {
	start, end int
	text       string
}

// apply makes changes that do not overlap. Of two at one place the first stands
// first.
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

type jsonEdit struct {
	data          []byte
	newline, unit string
	splices       []splice
}

func (e *jsonEdit) replace(n node, text string) {
	e.splices = append(e.splices, splice{n.start, n.end, text})
}

// rename puts another member in the place of one.
func (e *jsonEdit) rename(m member, f field) {
	p := &jsonc{data: e.data, at: m.keyStart}
	if _, err := p.string(); err != nil {
		return // it was read before
	}
	e.splices = append(e.splices, splice{m.keyStart, p.at, string(appendString(f.key))})
	e.replace(m.value, e.value(f.value, e.indentAt(m.keyStart)))
}

// remove deletes members of an object, each with its comma, and with its line where
// nothing else stands there. Comments stay.
func (e *jsonEdit) remove(n node, gone []member) {
	isGone := func(m member) bool {
		return slices.ContainsFunc(gone, func(g member) bool { return g.keyStart == m.keyStart })
	}
	var kept *member
	for i, m := range n.members {
		if !isGone(m) {
			kept = &n.members[i]
		}
	}
	last := n.members[len(n.members)-1]
	if kept != nil && isGone(last) && e.commaAfter(last.value.end, n.end) < 0 {
		comma := e.commaAfter(kept.value.end, n.end)
		e.splices = append(e.splices, splice{comma, comma + 1, ""})
	}
	for _, m := range gone {
		from, to := m.keyStart, m.value.end
		comma := e.commaAfter(to, n.end)
		if comma >= 0 && strings.TrimSpace(string(e.data[to:comma])) == "" {
			to = comma + 1
		} else if comma >= 0 {
			e.splices = append(e.splices, splice{comma, comma + 1, ""})
		}
		_, first := e.lineIndent(from)
		rest, _, _ := strings.Cut(string(e.data[to:]), "\n")
		switch {
		case first && strings.TrimSpace(rest) == "":
			from = strings.LastIndexByte(string(e.data[:from]), '\n') + 1
			to += len(rest) + 1
		case strings.HasPrefix(rest, "}"):
			from = len(strings.TrimRight(string(e.data[:from]), " \t"))
		case !first || strings.HasPrefix(rest, " "):
			to += len(rest) - len(strings.TrimLeft(rest, " "))
		}
		e.splices = append(e.splices, splice{from, to, ""})
	}
}

// insert adds members behind the last one of an object, in the style of the file.
func (e *jsonEdit) insert(n node, fields ...field) {
	inner := string(e.data[n.start+1 : n.end-1])
	base := e.indentAt(n.start)
	indent := base + e.unit
	write := func(indent string) string {
		var parts []string
		for _, f := range fields {
			parts = append(parts, string(appendString(f.key))+": "+e.value(f.value, indent))
		}
		return strings.Join(parts, ","+e.newline+indent)
	}
	if len(n.members) == 0 {
		if strings.TrimSpace(inner) == "" {
			e.splices = append(e.splices, splice{n.start + 1, n.end - 1, e.newline + indent + write(indent) + e.newline + base})
			return
		}
		end := n.start + 1 + len(strings.TrimRight(inner, " \t\r\n")) // behind the last comment
		tail := ""
		if !strings.Contains(inner[end-n.start-1:], "\n") {
			tail = e.newline + base
		}
		e.splices = append(e.splices, splice{end, end, e.newline + indent + write(indent) + tail})
		return
	}
	last := n.members[len(n.members)-1]
	comma := e.commaAfter(last.value.end, n.end)
	if !strings.Contains(inner, "\n") {
		at, text := last.value.end, ", "+compact(write(indent), e.newline)
		if comma >= 0 {
			at, text = comma+1, " "+compact(write(indent), e.newline)+","
		}
		e.splices = append(e.splices, splice{at, at, text})
		return
	}
	if own, first := e.lineIndent(last.keyStart); first {
		indent = own
	}
	at, tail := last.value.end, ""
	if comma >= 0 {
		at, tail = comma+1, ","
	} else {
		e.splices = append(e.splices, splice{at, at, ","})
	}
	at = e.lineRest(at, n.end-1)
	text := e.newline + indent + write(indent) + tail
	if !strings.Contains(string(e.data[at:n.end-1]), "\n") {
		text += e.newline + base
	}
	e.splices = append(e.splices, splice{at, at, text})
}

// commaAfter finds a trailing comma between a value and the end of its object.
func (e *jsonEdit) commaAfter(from, end int) int {
	p := &jsonc{data: e.data, at: from}
	if p.trivia() == nil && p.at < end && p.peek() == ',' {
		return p.at
	}
	return -1
}

// lineRest passes blanks and comments on the same line.
func (e *jsonEdit) lineRest(at, end int) int {
	done := at
	for at < end {
		rest := string(e.data[at:end])
		switch {
		case rest[0] == ' ' || rest[0] == '\t':
			at++
		case strings.HasPrefix(rest, "//"):
			line, _, _ := strings.Cut(rest, "\n")
			return at + len(strings.TrimRight(line, "\r"))
		case strings.HasPrefix(rest, "/*"):
			n := strings.Index(rest, "*/")
			if strings.Contains(rest[:n], "\n") {
				return done
			}
			at += n + 2
			done = at
		default:
			return done
		}
	}
	return done
}

// indentAt is the indentation of the line of an offset.
func (e *jsonEdit) indentAt(at int) string {
	indent, _ := e.lineIndent(at)
	return indent
}

// lineIndent also reports whether only blanks stand before the offset.
func (e *jsonEdit) lineIndent(at int) (string, bool) {
	from := strings.LastIndexByte(string(e.data[:at]), '\n') + 1
	line := strings.TrimPrefix(string(e.data[from:at]), "\ufeff")
	trimmed := strings.TrimLeft(line, " \t")
	return line[:len(line)-len(trimmed)], trimmed == ""
}

// unitOf is what one level is indented by.
func (e *jsonEdit) unitOf(root node) string {
	for _, m := range root.members {
		if indent, first := e.lineIndent(m.keyStart); first && indent != "" {
			return indent
		}
	}
	return "  "
}

func (e *jsonEdit) value(v any, indent string) string {
	switch v := v.(type) {
	case object:
		return e.object(v, indent, e.unit)
	case []string:
		parts := make([]string, len(v))
		for i, s := range v {
			parts[i] = string(appendString(s))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case string:
		return string(appendString(v))
	}
	return fmt.Sprint(v)
}

func (e *jsonEdit) object(fields []field, indent, unit string) string {
	if e.unit = unit; len(fields) == 0 {
		return "{}"
	}
	var b strings.Builder
	b.WriteString("{")
	for i, f := range fields {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString(e.newline + indent + unit + string(appendString(f.key)) + ": " + e.value(f.value, indent+unit))
	}
	b.WriteString(e.newline + indent + "}")
	return b.String()
}

// compact writes what [jsonEdit.value] wrote in one line.
func compact(s, newline string) string {
	lines := strings.Split(s, newline)
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.NewReplacer("{ ", "{", " }", "}").Replace(strings.Join(lines, " "))
}

// errSelfCheck says that an edit would have changed something else. The file is
// then left as it is.
var errSelfCheck = errors.New("the entry cannot be added here without changing something else; add it by hand")

// checked applies the changes and compares: the entry is there, and all else is
// what it was.
func (e *jsonEdit) checked(path []string, entry []field, before node) ([]byte, error) {
	out := apply(e.data, e.splices)
	after, ok, err := parseJSON(out)
	if err != nil || !ok {
		return nil, errSelfCheck
	}
	at := after
	for _, key := range path {
		if at, ok = at.member(key); !ok {
			return nil, errSelfCheck
		}
	}
	for _, f := range entry {
		if have, ok := at.member(f.key); !ok || !reflect.DeepEqual(have.value(), plainValue(f.value)) {
			return nil, errSelfCheck
		}
	}
	if !reflect.DeepEqual(without(before, path), without(after, path)) {
		return nil, errSelfCheck
	}
	return out, nil
}

// without is a file's value without what stands at a path, and without the objects
// on the way that are empty then.
func without(root node, path []string) any {
	v := root.value()
	drop(v, path)
	return v
}

func drop(v any, path []string) {
	m, ok := v.(map[string]any)
	if !ok {
		return
	}
	if len(path) > 1 {
		drop(m[path[0]], path[1:])
		if below, ok := m[path[0]].(map[string]any); !ok || len(below) > 0 {
			return
		}
	}
	delete(m, path[0])
}
