package clientconfig

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"
	"go.yaml.in/yaml/v4"
)

// errRemove is returned if an entry cannot be removed without changing something else.
var errRemove = errors.New("the entry cannot be removed here without changing something else; remove it by hand")

// removeEntry removes the entry at a path of keys. All other entries stay, with their comments.
func (c Client) removeEntry(data []byte, path []string) (out []byte, err error) {
	switch c.format {
	case formatTOML:
		out, err = removeTOML(data, path)
	case formatYAML:
		out, err = removeYAML(data, path, c.list)
	default:
		out, err = removeJSON(data, path, c.dialect)
	}
	if err != nil {
		return nil, err
	}
	before, err := c.tree(data)
	after, failed := c.tree(out)
	if errors.Join(err, failed) != nil || !reflect.DeepEqual(pruned(before, path), pruned(after, path)) {
		return nil, errRemove
	}
	return out, nil
}

// tree returns all values of a file.
func (c Client) tree(data []byte) (map[string]any, error) {
	switch c.format {
	case formatTOML:
		all := map[string]any{}
		err := toml.Unmarshal(trimMark(data), &all)
		return all, err
	case formatYAML:
		root, err := parseYAML(data)
		if all, ok := yamlValue(root).(map[string]any); ok {
			return all, err
		}
		return map[string]any{}, err
	}
	f, err := parseJSON(data, c.dialect)
	if err != nil {
		return nil, err
	}
	return f.value(), nil
}

// pruned removes the value at a path. Then it removes the containers on the path that are empty.
func pruned(all map[string]any, path []string) map[string]any {
	if len(path) == 1 {
		delete(all, path[0])
		return all
	}
	switch below := all[path[0]].(type) {
	case map[string]any:
		if len(pruned(below, path[1:])) == 0 {
			delete(all, path[0])
		}
	case []any:
		all[path[0]] = slices.DeleteFunc(below, func(v any) bool {
			item, _ := v.(map[string]any)
			return item["name"] == path[1]
		})
		if len(all[path[0]].([]any)) == 0 {
			delete(all, path[0])
		}
	case nil:
		delete(all, path[0])
	}
	return all
}

func removeJSON(data []byte, path []string, d dialect) ([]byte, error) {
	f, err := parseJSON(data, d)
	if err != nil {
		return nil, err
	}
	at, last := &f.root, len(path)-1
	for _, key := range path[:last] {
		o, ok := at.Value.(*hujson.Object)
		if !ok || member(o, key) == nil {
			return nil, errRemove
		}
		at = &member(o, key).Value
	}
	o, ok := at.Value.(*hujson.Object)
	if !ok || member(o, path[last]) == nil {
		return nil, errRemove
	}
	drop(o, path[last])
	f.prune(path[:last])
	return f.packed(data), nil
}

// drop removes a member. If it was the first one, the next member gets its position.
func drop(o *hujson.Object, key string) {
	first := o.Members[0].Name.BeforeExtra
	remove(o, key)
	if len(o.Members) > 0 && first.IsStandard() && o.Members[0].Name.BeforeExtra.IsStandard() {
		o.Members[0].Name.BeforeExtra = first
	}
	if len(o.Members) == 0 && o.AfterExtra.IsStandard() {
		o.AfterExtra = nil
	}
}

// prune removes the empty objects and lists on a path, starting at its end. One with a comment is
// not empty.
func (f jsonFile) prune(path []string) {
	for n := len(path) - 1; n >= 0; n-- {
		at := &f.root
		for _, key := range path[:n] {
			at = &member(at.Value.(*hujson.Object), key).Value
		}
		o := at.Value.(*hujson.Object)
		if !isEmpty(member(o, path[n]).Value.Value) {
			return
		}
		drop(o, path[n])
	}
}

// isEmpty reports whether an object or list has no content and no comment.
func isEmpty(v hujson.ValueTrimmed) bool {
	switch v := v.(type) {
	case *hujson.Object:
		return len(v.Members) == 0 && v.AfterExtra.IsStandard()
	case *hujson.Array:
		return len(v.Elements) == 0 && v.AfterExtra.IsStandard()
	}
	return false
}

// holdsNothing reports whether a file has no setting and no comment.
func (c Client) holdsNothing(data []byte) bool {
	if c.format != formatJSON {
		return len(bytes.TrimSpace(trimMark(data))) == 0
	}
	f, err := parseJSON(data, c.dialect)
	return err == nil && isEmpty(f.root.Value) && f.root.BeforeExtra.IsStandard() && f.root.AfterExtra.IsStandard()
}

// packed returns the bytes of the changed file. The byte-order mark and the last line end are as in
// the original.
func (f jsonFile) packed(data []byte) []byte {
	out := f.root.Pack()
	if !bytes.HasSuffix(data, []byte("\n")) {
		out = bytes.TrimSuffix(out, []byte("\n"))
	}
	mark := data[:len(data)-len(bytes.TrimPrefix(data, []byte(byteOrderMark)))]
	return append(bytes.Clone(mark), out...)
}

func removeTOML(data []byte, path []string) ([]byte, error) {
	file, err := parseTOML(data)
	if err != nil {
		return nil, err
	}
	isBelow := func(at []string) bool { return len(at) >= len(path) && slices.Equal(at[:len(path)], path) }
	var splices []splice
	for _, t := range file.tables {
		if !isBelow(t.path) {
			continue
		}
		start := 1 + strings.LastIndexByte(string(data[:t.end]), '\n')
		if blank := strings.TrimRight(string(data[:start]), "\r\n"); blank == "" {
			start = len(blank)
		} else if before := start - len(newlineOf(data)); len(blank) < before {
			start = before // include the blank line before the table
		}
		end := t.end + 1 + max(strings.IndexByte(string(data[t.end:]), '\n'), 0)
		for _, k := range file.keys {
			if slices.Equal(k.table, t.path) {
				end = max(end, k.lineEnd)
			}
		}
		splices = append(splices, splice{start, min(end, len(data)), ""})
	}
	for _, k := range file.keys {
		if !isBelow(k.table) && isBelow(slices.Concat(k.table, k.path)) {
			splices = append(splices, splice{k.lineStart, k.lineEnd, ""})
		}
	}
	return apply(data, splices), nil
}

func removeYAML(data []byte, path []string, list bool) ([]byte, error) {
	root, err := parseYAML(data)
	if err != nil {
		return nil, err
	}
	e := &yamlEdit{data: data, newline: newlineOf(data), path: path, list: list}
	e.index()
	key, servers, ok := pair(root, path[0])
	if !ok {
		return nil, errRemove
	}
	own, have, ok := e.entry(servers)
	if !ok || servers.Style&yaml.FlowStyle != 0 {
		return nil, errRemove
	}
	from, to := own.Line, e.endOfLine(max(own.Line, lastLine(have)))
	if len(servers.Content) == 1 || !list && len(servers.Content) == 2 {
		from = key.Line
	}
	return apply(data, []splice{{e.lines[from-1], to, ""}}), nil
}
