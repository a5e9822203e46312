package clientconfig

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// readYAML returns the values below a path of keys. It returns the items of a list by their names.
func readYAML(data []byte, path []string) (map[string]any, error) {
	root, err := parseYAML(data)
	if err != nil {
		return nil, err
	}
	for _, key := range path {
		_, root, _ = pair(root, key)
	}
	if root == nil || root.Kind != yaml.SequenceNode {
		out, _ := yamlValue(root).(map[string]any)
		return out, nil
	}
	out := map[string]any{}
	for _, item := range root.Content {
		if _, name, ok := pair(item, "name"); ok {
			out[name.Value] = yamlValue(item)
		}
	}
	return out, nil
}

// mergeYAML sets fields of the entry at a path of two keys, and removes the keys in drop. The
// servers are a mapping in block style, or a list of mappings with the entry's name under "name".
// Only the lines of these keys change.
func mergeYAML(data []byte, path []string, set []field, drop []string, list bool) ([]byte, error) {
	root, err := parseYAML(data)
	if err != nil {
		return nil, err
	}
	e := &yamlEdit{data: data, newline: newlineOf(data), path: path, list: list}
	e.index()
	kind := yaml.MappingNode
	if list {
		kind = yaml.SequenceNode
	}
	key, servers, ok := pair(root, path[0])
	switch {
	case !ok && root != nil && root.Style&yaml.FlowStyle != 0:
		return nil, errors.New("it is written in braces, which knack does not change")
	case !ok:
		indent := ""
		if root != nil {
			indent = strings.Repeat(" ", max(root.Column-1, 0))
		}
		text := indent + path[0] + ":" + e.newline + e.block(indent+"  ", set)
		if s := string(data); s != "" && !strings.HasSuffix(s, "\n") {
			text = e.newline + text
		}
		e.splices = append(e.splices, splice{len(data), len(data), text})
	case servers.Kind == kind && servers.Style&yaml.FlowStyle == 0:
		if err := e.addEntry(key, servers, set, drop); err != nil {
			return nil, err
		}
	case servers.Tag == "!!null" && servers.Value == "":
		end := e.endOfLine(key.Line)
		e.splices = append(e.splices, splice{end, end, e.missingNewline(end) + e.block(strings.Repeat(" ", key.Column-1)+"  ", set)})
	case servers.Kind == kind && len(servers.Content) == 0 && servers.Line == key.Line:
		at := e.offset(servers.Line, servers.Column)
		if text := string(data[at:]); !strings.HasPrefix(text, "{}") && !strings.HasPrefix(text, "[]") {
			return nil, fmt.Errorf("line %d: %s is written in braces, which knack does not change", servers.Line, path[0])
		}
		end := e.endOfLine(key.Line)
		e.splices = append(e.splices, splice{at, at + 2, ""}, splice{end, end, e.missingNewline(end) + e.block(strings.Repeat(" ", key.Column-1)+"  ", set)})
	case list:
		return nil, fmt.Errorf("line %d: %s is not a list with a dash and a name for each server, below it", servers.Line, path[0])
	default:
		return nil, fmt.Errorf("line %d: %s is not a mapping with its keys on lines of their own, below it", servers.Line, path[0])
	}
	return e.checked(root, set, drop)
}

// parseYAML reads one document whose root is a mapping. It returns nil for an empty file.
func parseYAML(data []byte) (*yaml.Node, error) {
	// The parser counts these characters as line ends. The edit does not, so they are refused.
	if at := strings.IndexAny(strings.ReplaceAll(string(data), "\r\n", " \n"), "\r\u0085\u2028\u2029"); at >= 0 {
		return nil, fmt.Errorf("line %d: it has a line end other than \\n and \\r\\n", 1+strings.Count(string(data[:at]), "\n"))
	}
	d := yaml.NewDecoder(strings.NewReader(string(data)))
	var doc, next yaml.Node
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("it is not valid YAML (%s)", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := d.Decode(&next); !errors.Is(err, io.EOF) {
		return nil, errors.New("it has several documents, with --- between them")
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	root := doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("line %d: it does not consist of keys and values", root.Line)
	}
	return root, unique(root)
}

// unique refuses duplicate keys, since some readers use the first and others the last.
func unique(n *yaml.Node) error {
	seen := map[string]bool{}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			if seen[c.Value] {
				return fmt.Errorf("line %d: the key %q appears twice", c.Line, c.Value)
			}
			seen[c.Value] = c.Kind == yaml.ScalarNode
		}
		if err := unique(c); err != nil {
			return err
		}
	}
	return nil
}

// pair returns the nodes of a key of a mapping and of its value.
func pair(m *yaml.Node, key string) (k, v *yaml.Node, ok bool) {
	if m == nil {
		return nil, nil, false
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return m.Content[i], m.Content[i+1], true
		}
	}
	return nil, nil, false
}

type yamlEdit struct {
	data    []byte
	newline string
	path    []string
	list    bool  // whether the servers are a list
	lines   []int // the offset of each line
	splices []splice
}

func (e *yamlEdit) index() {
	e.lines = []int{0}
	for i, c := range e.data {
		if c == '\n' {
			e.lines = append(e.lines, i+1)
		}
	}
}

// offset returns the byte offset of a line and a column. Both count from 1, columns in characters.
func (e *yamlEdit) offset(line, column int) int {
	at := e.lines[line-1]
	for range column - 1 {
		_, size := firstRune(e.data[at:])
		at += size
	}
	return at
}

// endOfLine returns the offset at which the next line begins, or the end of the file.
func (e *yamlEdit) endOfLine(line int) int {
	if line < len(e.lines) {
		return e.lines[line]
	}
	return len(e.data)
}

// missingNewline returns a line end if end is the end of a file whose last line has none.
func (e *yamlEdit) missingNewline(end int) string {
	if end == len(e.data) && end > 0 && e.data[end-1] != '\n' {
		return e.newline
	}
	return ""
}

// entry returns the node of the entry, and the node whose line comes before the entry's keys.
func (e *yamlEdit) entry(servers *yaml.Node) (own, have *yaml.Node, ok bool) {
	if !e.list {
		return pair(servers, e.path[1])
	}
	if servers != nil {
		for _, item := range servers.Content {
			if _, name, named := pair(item, "name"); named && name.Value == e.path[1] {
				return item, item, true
			}
		}
	}
	return nil, nil, false
}

// addEntry adds the entry to the servers, or changes the existing one.
func (e *yamlEdit) addEntry(key, servers *yaml.Node, set []field, drop []string) error {
	own, have, ok := e.entry(servers)
	if !ok {
		end := e.endOfLine(key.Line)
		e.splices = append(e.splices, splice{end, end, e.block(strings.Repeat(" ", max(servers.Column-1, 0)), set)})
		return nil
	}
	if have.Kind != yaml.MappingNode || have.Style&yaml.FlowStyle != 0 || !e.list && have.Line == own.Line {
		return fmt.Errorf("line %d: %s is not a mapping with its keys on lines of their own, below it", own.Line, strings.Join(e.path, "."))
	}
	inner := strings.Repeat(" ", max(have.Column-1, 0))
	add := ""
	for _, f := range set {
		k, v, ok := pair(have, f.key)
		switch {
		case !ok:
			add += e.line(inner, f)
		case !reflect.DeepEqual(yamlValue(v), plainValue(f.value)):
			from, to := e.offset(k.Line, k.Column), e.endOfLine(lastLine(v))
			text := e.line("", f)
			if v.LineComment != "" {
				text = strings.TrimSuffix(text, e.newline) + " " + v.LineComment + e.newline
			}
			e.splices = append(e.splices, splice{from, to, text})
		}
	}
	for i := 0; i+1 < len(have.Content); i += 2 {
		if k, v := have.Content[i], have.Content[i+1]; slices.Contains(drop, k.Value) {
			e.splices = append(e.splices, splice{e.offset(k.Line, 1), e.endOfLine(lastLine(v)), ""})
		}
	}
	if add != "" {
		end := e.endOfLine(own.Line)
		if e.list { // the first key is on the line of the dash
			end = e.endOfLine(lastLine(have.Content[1]))
		}
		e.splices = append(e.splices, splice{end, end, e.missingNewline(end) + add})
	}
	return nil
}

// lastLine returns the last line on which a part of the node starts.
func lastLine(n *yaml.Node) int {
	last := n.Line
	for _, c := range n.Content {
		last = max(last, lastLine(c))
	}
	return last
}

// block formats a new entry in block style.
func (e *yamlEdit) block(indent string, fields []field) string {
	text, dash := indent+e.path[1]+":"+e.newline, ""
	if e.list {
		text, dash = "", indent+"- "
		fields = slices.Concat([]field{{"name", e.path[1]}}, fields)
	}
	for _, f := range fields {
		text += e.line(cmp.Or(dash, indent+"  "), f)
		dash = ""
	}
	return text
}

// line formats a field in one line, with its value in flow style.
func (e *yamlEdit) line(indent string, f field) string {
	return indent + f.key + ": " + flow(f.value) + e.newline
}

// yamlValue returns a node's value as encoding/json would decode it. A type that JSON lacks becomes
// a pair of its tag and its text.
func yamlValue(n *yaml.Node) any {
	if n == nil {
		return nil
	}
	switch n.Kind {
	case yaml.SequenceNode:
		l := []any{}
		for _, c := range n.Content {
			l = append(l, yamlValue(c))
		}
		return l
	case yaml.MappingNode:
		m := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			m[n.Content[i].Value] = yamlValue(n.Content[i+1])
		}
		return m
	case yaml.AliasNode:
		return [2]string{"alias", n.Value}
	}
	switch n.Tag {
	case "!!str":
		return n.Value
	case "!!bool":
		return strings.EqualFold(n.Value, "true")
	case "!!int":
		return json.Number(n.Value)
	}
	return [2]string{n.Tag, n.Value}
}

// checked applies the changes. It checks that the entry then has the intended fields, and that
// everything else is unchanged.
func (e *yamlEdit) checked(before *yaml.Node, set []field, drop []string) ([]byte, error) {
	out := apply(e.data, e.splices)
	after, err := parseYAML(out)
	if err != nil {
		return nil, errSelfCheck
	}
	_, servers, _ := pair(after, e.path[0])
	_, have, ok := e.entry(servers)
	if !ok {
		return nil, errSelfCheck
	}
	for _, f := range set {
		if _, v, ok := pair(have, f.key); !ok || !reflect.DeepEqual(yamlValue(v), plainValue(f.value)) {
			return nil, errSelfCheck
		}
	}
	touched := slices.Concat(keys(set), drop)
	if e.list {
		touched = append(touched, "name") // the name identifies the entry
	}
	// rest returns the file's values without the fields that the edit may change.
	rest := func(n *yaml.Node) [3]any {
		all, _ := yamlValue(n).(map[string]any)
		var others []any
		own := map[string]any{}
		if _, servers, ok := pair(n, e.path[0]); ok {
			_, mine, _ := e.entry(servers)
			for i, c := range servers.Content {
				v := yamlValue(c)
				if fields, mapping := v.(map[string]any); c == mine && mapping {
					maps.DeleteFunc(fields, func(key string, _ any) bool { return slices.Contains(touched, key) })
					own = fields
				} else if e.list || i%2 > 0 || c.Value != e.path[1] {
					others = append(others, v)
				}
			}
		}
		left := map[string]any{}
		for key, v := range all {
			if key != e.path[0] {
				left[key] = v
			}
		}
		return [3]any{left, others, own}
	}
	if !reflect.DeepEqual(rest(before), rest(after)) {
		return nil, errSelfCheck
	}
	return out, nil
}
