package clientconfig

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// readTOML returns the values below a path of keys. An inline table is returned as text.
func readTOML(data []byte, path []string) (map[string]any, error) {
	file, err := parseTOML(data)
	if err != nil {
		return nil, err
	}
	root := map[string]any{}
	below := func(path []string) map[string]any {
		at := root
		for _, key := range path {
			next, ok := at[key].(map[string]any)
			if !ok {
				next = map[string]any{}
				at[key] = next
			}
			at = next
		}
		return at
	}
	for _, t := range file.tables {
		if !t.array {
			below(t.path)
		}
	}
	for _, k := range file.keys {
		last := len(k.path) - 1
		below(slices.Concat(k.table, k.path[:last]))[k.path[last]] = k.value
	}
	return below(path), nil
}

// mergeTOML sets and removes keys in the table at a path, and adds the table if it is missing. Only
// the lines of these keys change.
func mergeTOML(data []byte, path []string, set []field, drop []string) ([]byte, error) {
	file, err := parseTOML(data)
	if err != nil {
		return nil, err
	}
	newline := newlineOf(data)
	header := slices.IndexFunc(file.tables, func(t tomlTable) bool { return slices.Equal(t.path, path) && !t.array })
	var splices []splice
	inTable := map[string]tomlKey{}
	for _, k := range file.keys {
		switch at := slices.Concat(k.table, k.path); {
		case !slices.Equal(k.table, path) && len(at) <= len(path) && slices.Equal(at, path[:len(at)]),
			!slices.Equal(k.table, path) && len(k.table) < len(path) && len(at) > len(path) && slices.Equal(at[:len(path)], path):
			return nil, fmt.Errorf("line %d: %s is not written as a table [%s]", k.line, strings.Join(at, "."), strings.Join(path, "."))
		case slices.Equal(k.table, path):
			inTable[strings.Join(k.path, ".")] = k
		}
	}
	if i := slices.IndexFunc(file.tables, func(t tomlTable) bool {
		return t.array && len(t.path) <= len(path) && slices.Equal(t.path, path[:len(t.path)])
	}); i >= 0 {
		list := strings.Join(file.tables[i].path, ".")
		return nil, fmt.Errorf("[[%s]] makes a list of %s, which should be a table", list, list)
	}
	if header < 0 {
		text := "[" + strings.Join(path, ".") + "]" + newline
		for _, f := range set {
			text += tomlLine(f) + newline
		}
		switch body := strings.TrimPrefix(string(data), "\ufeff"); {
		case strings.TrimSpace(body) == "":
		case !strings.HasSuffix(body, "\n"):
			text = newline + newline + text
		default:
			text = newline + text
		}
		splices = append(splices, splice{len(data), len(data), text})
		return checkedTOML(data, splices, path, set, drop, file)
	}
	add := ""
	for _, f := range set {
		k, ok := inTable[f.key]
		switch {
		case !ok:
			add += newline + tomlLine(f)
		case !sameValue(k.value, plainValue(f.value)):
			splices = append(splices, splice{k.start, k.end, tomlValue(f.value)})
		}
		delete(inTable, f.key)
	}
	for name, k := range inTable {
		if slices.Contains(drop, name) {
			splices = append(splices, splice{k.lineStart, k.lineEnd, ""})
		}
	}
	if end := file.tables[header].end; add != "" {
		splices = append(splices, splice{end, end, add})
	}
	return checkedTOML(data, splices, path, set, drop, file)
}

// sameValue reports whether a parsed value equals want. For an inline table of TOML, have is its
// text.
func sameValue(have, want any) bool {
	text, ok := have.(json.RawMessage)
	if !ok {
		return reflect.DeepEqual(have, want)
	}
	var table map[string]any
	return toml.Unmarshal([]byte("v = "+string(text)), &table) == nil && reflect.DeepEqual(table["v"], want)
}

func tomlLine(f field) string { return f.key + " = " + tomlValue(f.value) }

func tomlValue(v any) string {
	switch v := v.(type) {
	case string:
		return tomlString(v)
	case []string:
		parts := make([]string, len(v))
		for i, s := range v {
			parts[i] = tomlString(s)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case object:
		return tomlInline(v)
	}
	return flow(v)
}

// tomlString formats a string. It writes a literal string if a backslash would otherwise be
// doubled, as people write Windows paths.
func tomlString(s string) string {
	if strings.Contains(s, `\`) && !strings.ContainsFunc(s, func(r rune) bool { return r == '\'' || r < ' ' || r == 0x7f }) {
		return "'" + s + "'"
	}
	return strings.ReplaceAll(string(appendString(s)), "\x7f", `\u007f`)
}

// checkedTOML applies the changes. It checks that the entry then has the intended fields, and that
// everything else is unchanged.
func checkedTOML(data []byte, splices []splice, path []string, set []field, drop []string, before tomlFile) ([]byte, error) {
	out := apply(data, splices)
	after, err := parseTOML(out)
	if err != nil {
		return nil, errors.Join(errSelfCheck, err)
	}
	for _, f := range set {
		if !slices.ContainsFunc(after.keys, func(k tomlKey) bool {
			return slices.Equal(k.table, path) && slices.Equal(k.path, []string{f.key}) && sameValue(k.value, plainValue(f.value))
		}) {
			return nil, errSelfCheck
		}
	}
	rest := func(f tomlFile) (out []string) {
		for _, k := range f.keys {
			if !slices.Equal(k.table, path) || len(k.path) != 1 || !slices.Contains(drop, k.path[0]) && !slices.Contains(keys(set), k.path[0]) {
				out = append(out, fmt.Sprintf("%q %q %#v", k.table, k.path, k.value))
			}
		}
		for _, t := range f.tables {
			if !slices.Equal(t.path, path) {
				out = append(out, fmt.Sprintf("%q %v", t.path, t.array))
			}
		}
		return out
	}
	if !slices.Equal(rest(before), rest(after)) {
		return nil, errSelfCheck
	}
	return out, nil
}
