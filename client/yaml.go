package client

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// mergeYAML puts an entry under a path of two keys into a YAML file in block style.
// Only the lines of the entry's own keys change.
func mergeYAML(data []byte, path []string, entry, defaults []field, ours []string) ([]byte, error) {
	root, err := parseYAML(data)
	if err != nil {
		return nil, err
	}
	e := &yamlEdit{data: data, newline: newlineOf(data), path: path}
	e.index()
	whole := slices.Concat(entry, defaults)
	key, servers, ok := pair(root, path[0])
	switch {
	case !ok && root != nil && root.Style&yaml.FlowStyle != 0:
		return nil, errors.New("it is written in braces, which knack does not change")
	case !ok:
		indent := ""
		if root != nil {
			indent = strings.Repeat(" ", max(root.Column-1, 0))
		}
		text := indent + path[0] + ":" + e.newline + e.block(indent+"  ", whole)
		if s := string(data); s != "" && !strings.HasSuffix(s, "\n") {
			text = e.newline + text
		}
		e.splices = append(e.splices, splice{len(data), len(data), text})
	case servers.Kind == yaml.MappingNode && servers.Style&yaml.FlowStyle == 0:
		if err := e.into(key, servers, entry, whole, ours); err != nil {
			return nil, err
		}
	case servers.Tag == "!!null" && servers.Value == "":
		end := e.endOfLine(key.Line)
		e.splices = append(e.splices, splice{end, end, e.opened(end) + e.block(strings.Repeat(" ", key.Column-1)+"  ", whole)})
	case servers.Kind == yaml.MappingNode && len(servers.Content) == 0 && servers.Line == key.Line:
		at := e.offset(servers.Line, servers.Column)
		if !strings.HasPrefix(string(data[at:]), "{}") {
			return nil, fmt.Errorf("line %d: %s is written in braces, which knack does not change", servers.Line, path[0])
		}
		end := e.endOfLine(key.Line)
		e.splices = append(e.splices, splice{at, at + 2, ""}, splice{end, end, e.opened(end) + e.block(strings.Repeat(" ", key.Column-1)+"  ", whole)})
	default:
		return nil, fmt.Errorf("line %d: %s is not a mapping with its keys on lines of their own, below it", servers.Line, path[0])
	}
	return e.checked(root, entry, ours)
}

// parseYAML reads one document whose root is a mapping; nil for an empty file.
func parseYAML(data []byte) (*yaml.Node, error) {
	d := yaml.NewDecoder(strings.NewReader(string(data)))
	var doc, next yaml.Node
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("it is not valid YAML (%s)", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := d.Decode(&next); !errors.Is(err, io.EOF) {
		return nil, errors.New("it holds several documents, with --- between them")
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

// unique refuses a key that stands twice, of which readers take one or the other.
func unique(n *yaml.Node) error {
	seen := map[string]bool{}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			if seen[c.Value] {
				return fmt.Errorf("line %d: the key %q stands twice", c.Line, c.Value)
			}
			seen[c.Value] = c.Kind == yaml.ScalarNode
		}
		if err := unique(c); err != nil {
			return err
		}
	}
	return nil
}

// pair finds a key of a mapping.
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
	lines   []int // where each begins
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

// offset of a line and a column, which count characters from 1.
func (e *yamlEdit) offset(line, column int) int {
	at := e.lines[line-1]
	for range column - 1 {
		_, size := firstRune(e.data[at:])
		at += size
	}
	return at
}

// endOfLine is where the next line begins, or the end.
func (e *yamlEdit) endOfLine(line int) int {
	if line < len(e.lines) {
		return e.lines[line]
	}
	return len(e.data)
}

// opened is a line end where the last line has none.
func (e *yamlEdit) opened(end int) string {
	if end == len(e.data) && end > 0 && e.data[end-1] != '\n' {
		return e.newline
	}
	return ""
}

// into adds the entry to a mapping of servers, or brings the one there up to date.
func (e *yamlEdit) into(key, servers *yaml.Node, entry, whole []field, ours []string) error {
	indent := strings.Repeat(" ", max(servers.Column-1, 0))
	own, have, ok := pair(servers, e.path[1])
	if !ok {
		end := e.endOfLine(key.Line)
		e.splices = append(e.splices, splice{end, end, e.block(indent, whole)})
		return nil
	}
	if have.Kind != yaml.MappingNode || have.Style&yaml.FlowStyle != 0 || have.Line == own.Line {
		return fmt.Errorf("line %d: %s is not a mapping with its keys on lines of their own, below it", own.Line, strings.Join(e.path, "."))
	}
	inner := strings.Repeat(" ", max(have.Column-1, 0))
	add := ""
	for _, f := range entry {
		k, v, ok := pair(have, f.key)
		switch {
		case !ok:
			add += e.line(inner, f)
		case !reflect.DeepEqual(yamlValue(v), plainValue(f.value)):
			from, to := e.offset(k.Line, k.Column), e.endOfLine(lastLine(v))
			e.splices = append(e.splices, splice{from, to, e.line("", f)})
			if v.LineComment != "" {
				last := &e.splices[len(e.splices)-1]
				last.text = strings.TrimSuffix(last.text, e.newline) + " " + v.LineComment + e.newline
			}
		}
	}
	for i := 0; i+1 < len(have.Content); i += 2 {
		k, v := have.Content[i], have.Content[i+1]
		if slices.Contains(ours, k.Value) && !slices.ContainsFunc(entry, func(f field) bool { return f.key == k.Value }) {
			e.splices = append(e.splices, splice{e.offset(k.Line, 1), e.endOfLine(lastLine(v)), ""})
		}
	}
	if add != "" {
		end := e.endOfLine(own.Line)
		e.splices = append(e.splices, splice{end, end, add})
	}
	return nil
}

// lastLine is the last line on which a part of the value begins.
func lastLine(n *yaml.Node) int {
	last := n.Line
	for _, c := range n.Content {
		last = max(last, lastLine(c))
	}
	return last
}

func (e *yamlEdit) block(indent string, fields []field) string {
	text := indent + e.path[1] + ":" + e.newline
	for _, f := range fields {
		text += e.line(indent+"  ", f)
	}
	return text
}

// line writes a field in one line, in flow style: JSON is YAML.
func (e *yamlEdit) line(indent string, f field) string {
	return indent + f.key + ": " + flow(f.value) + e.newline
}

func flow(v any) string {
	o, ok := v.(object)
	if !ok {
		return (&jsonEdit{}).value(v, "")
	}
	members := make([]string, len(o))
	for i, f := range o {
		members[i] = string(appendString(f.key)) + ": " + flow(f.value)
	}
	return "{" + strings.Join(members, ", ") + "}"
}

// yamlValue is a node as the fields of an entry are compared.
func yamlValue(n *yaml.Node) any {
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
	if n.Tag == "!!str" {
		return n.Value
	}
	return [2]string{n.Tag, n.Value}
}

// checked applies the changes and compares: the entry is there, and all else is
// what it was.
func (e *yamlEdit) checked(before *yaml.Node, entry []field, ours []string) ([]byte, error) {
	out := apply(e.data, e.splices)
	after, err := parseYAML(out)
	if err != nil {
		return nil, errSelfCheck
	}
	_, servers, _ := pair(after, e.path[0])
	_, have, ok := pair(servers, e.path[1])
	if !ok {
		return nil, errSelfCheck
	}
	for _, f := range entry {
		if _, v, ok := pair(have, f.key); !ok || !reflect.DeepEqual(yamlValue(v), plainValue(f.value)) {
			return nil, errSelfCheck
		}
	}
	rest := func(n *yaml.Node) any {
		if n == nil {
			return map[string]any{}
		}
		v := yamlValue(n)
		drop(v, e.path)
		if m := v.(map[string]any); len(m) > 0 {
			if s, ok := m[e.path[0]].([2]string); ok && s[0] == "!!null" {
				delete(m, e.path[0])
			}
		}
		return v
	}
	kept := func(n *yaml.Node) any {
		_, servers, _ := pair(n, e.path[0])
		_, have, ok := pair(servers, e.path[1])
		if !ok {
			return nil
		}
		m, _ := yamlValue(have).(map[string]any)
		for _, k := range ours {
			delete(m, k)
		}
		return m
	}
	if !reflect.DeepEqual(rest(before), rest(after)) || kept(before) != nil && !reflect.DeepEqual(kept(before), kept(after)) {
		return nil, errSelfCheck
	}
	return out, nil
}
