package clientconfig

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Field is a key of a YAML mapping and its value, a text.
type Field struct{ Key, Text string }

// AddItem adds a mapping to the front of the list at a path of keys in a YAML file, and adds
// missing keys. If the first key is commented out, AddItem removes its #. All other comments and
// lines stay. If anything else would change, AddItem refuses the file.
func AddItem(data []byte, path []string, item []Field) ([]byte, error) {
	root, err := parseYAML(data)
	if err != nil {
		return nil, err
	}
	want := withItem(yamlValue(root), path, item)
	if plain := withoutHash(data, path[0]); plain != nil {
		if out, err := withAdded(plain, path, item, want); err == nil {
			return out, nil
		}
	}
	return withAdded(data, path, item, want)
}

// withAdded returns the file with the item added. It fails unless the values of the result equal
// want.
func withAdded(data []byte, path []string, item []Field, want any) ([]byte, error) {
	root, err := parseYAML(data)
	if err != nil {
		return nil, err
	}
	e := &yamlEdit{data: data, newline: newlineOf(data)}
	e.index()
	if err := e.addItem(root, path, item); err != nil {
		return nil, err
	}
	out := apply(data, e.splices)
	after, err := parseYAML(out)
	if err != nil || !reflect.DeepEqual(yamlValue(after), want) {
		return nil, errSelfCheck
	}
	return out, nil
}

// withoutHash uncomments a key: it removes the # of the first line that has only the key, as in the
// files of 'knack config init'. It returns nil if there is no such line.
func withoutHash(data []byte, key string) []byte {
	at := 0
	for line := range bytes.Lines(data) {
		text, hash := bytes.CutPrefix(line, []byte("#"))
		text = bytes.TrimPrefix(text, []byte(" "))
		rest, ok := bytes.CutPrefix(text, []byte(key+":"))
		if rest = bytes.TrimSpace(rest); hash && ok && (len(rest) == 0 || rest[0] == '#') {
			return slices.Concat(data[:at], text, data[at+len(line):])
		}
		at += len(line)
	}
	return nil
}

func (e *yamlEdit) insert(at int, text string) {
	e.splices = append(e.splices, splice{at, at, text})
}

// addItem adds the item to the mapping in. in is nil for an empty file.
func (e *yamlEdit) addItem(in *yaml.Node, path []string, item []Field) error {
	if in == nil || in.Style&yaml.FlowStyle == 0 && len(in.Content) == 0 {
		e.insert(len(e.data), e.missingNewline(len(e.data))+e.nested("", path, item))
		return nil
	}
	key, v, ok := pair(in, path[0])
	indent := strings.Repeat(" ", max(in.Column-1, 0))
	switch {
	case !ok && in.Style&yaml.FlowStyle != 0:
		e.insertFlow(in, inFlow(path, item))
	case !ok:
		// in is the whole file. Below a key, the new lines follow the key's line instead.
		e.insert(len(e.data), e.missingNewline(len(e.data))+e.nested(indent, path, item))
	case v.Kind == yaml.ScalarNode && v.Tag == "!!null" && v.Value == "" && in.Style&yaml.FlowStyle == 0:
		end := e.endOfComments(e.endOfLine(key.Line))
		e.insert(end, e.missingNewline(end)+e.nested(indent+"  ", path[1:], item))
	case v.Kind == yaml.SequenceNode && len(path) == 1 && v.Style&yaml.FlowStyle != 0:
		e.insertFlow(v, inFlow(nil, item))
	case v.Kind == yaml.SequenceNode && len(path) == 1:
		e.insert(e.endOfLine(key.Line), e.nested(strings.Repeat(" ", v.Column-1), nil, item))
	case v.Kind != yaml.MappingNode || len(path) == 1:
		return fmt.Errorf("line %d: %s has another form than expected", key.Line, path[0])
	default:
		if _, _, has := pair(v, path[1]); !has && v.Style&yaml.FlowStyle == 0 && len(v.Content) > 0 {
			if v.Line == key.Line {
				return errors.New("it is written in a way that knack does not change")
			}
			e.insert(e.endOfLine(key.Line), e.nested(strings.Repeat(" ", v.Column-1), path[1:], item))
			return nil
		}
		return e.addItem(v, path[1:], item)
	}
	return nil
}

// endOfComments returns the end of the commented-out keys of a section that begin at an offset. Two
// or more spaces follow the # of their lines.
func (e *yamlEdit) endOfComments(at int) int {
	for line := range bytes.Lines(e.data[at:]) {
		if !bytes.HasPrefix(line, []byte("#  ")) {
			break
		}
		at += len(line)
	}
	return at
}

// insertFlow adds an element to the front of a mapping in braces or a list in brackets.
func (e *yamlEdit) insertFlow(in *yaml.Node, text string) {
	if len(in.Content) > 0 {
		text += ", "
	}
	e.insert(e.offset(in.Line, in.Column)+1, text)
}

// nested formats the item in a list below the keys of a path, with a line for each key.
func (e *yamlEdit) nested(indent string, path []string, item []Field) string {
	text := ""
	for _, key := range path {
		text += indent + key + ":" + e.newline
		indent += "  "
	}
	dash := "- "
	for _, f := range item {
		text += e.line(indent+dash, field{f.Key, f.Text})
		dash = "  "
	}
	return text
}

// inFlow formats the item in a list below the keys of a path, in flow style.
func inFlow(path []string, item []Field) string {
	var parts []string
	for _, f := range item {
		parts = append(parts, f.Key+": "+flow(f.Text))
	}
	text := "{" + strings.Join(parts, ", ") + "}"
	for i, key := range slices.Backward(path) {
		if i == len(path)-1 {
			text = "[" + text + "]"
		}
		if text = key + ": " + text; i > 0 {
			text = "{" + text + "}"
		}
	}
	return text
}

// withItem returns the values of the file with the item added to the front of the list.
func withItem(v any, path []string, item []Field) any {
	if len(path) == 0 {
		fields := map[string]any{}
		for _, f := range item {
			fields[f.Key] = f.Text
		}
		list, _ := v.([]any)
		return append([]any{fields}, list...)
	}
	all, _ := v.(map[string]any)
	out := map[string]any{}
	for key, value := range all {
		out[key] = value
	}
	out[path[0]] = withItem(out[path[0]], path[1:], item)
	return out
}
