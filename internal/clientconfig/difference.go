package clientconfig

import (
	"maps"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/rawjson"
)

// Difference is one changed field of an entry. Old is "" for an added field, and New for a removed
// one.
type Difference struct {
	Key, Old, New string
}

// plainKeys lists the fields of an entry whose values are shown in full. Values of other fields,
// such as variables and headers, may be secret.
var plainKeys = []string{"type", "name", "description", "cwd", "tools", "enabled", "disabled", "trust", "timeout"}

// hidden stands for a value that may be secret.
const hidden = "…"

// differences lists the fields of an entry that a change sets or removes.
func (c Client) differences(have map[string]any, ch change) (out []Difference) {
	for _, f := range ch.set {
		now := plainValue(f.value)
		if old, there := have[f.key]; !there {
			out = append(out, Difference{Key: f.key, New: c.formatValue(f.key, now)})
		} else if !sameValue(old, now) {
			out = append(out, Difference{f.key, c.formatValue(f.key, old), c.formatValue(f.key, now)})
		}
	}
	for _, key := range ch.drop {
		out = append(out, Difference{Key: key, Old: c.formatValue(key, have[key])})
	}
	return out
}

// formatValue formats the value of a field for people, without its possibly secret parts.
func (c Client) formatValue(key string, v any) string {
	out, err := rawjson.Marshal(c.masked(key, v))
	if err != nil {
		return hidden
	}
	return string(out)
}

// masked returns the value of a field, with masks for its possibly secret parts.
func (c Client) masked(key string, v any) any {
	switch text, isText := v.(string); {
	case slices.Contains(plainKeys, key):
		return v
	case slices.Contains(commandKeys, key):
		return maskedWords(v)
	case slices.Contains(urlKeys, key) && isText:
		return display.RedactURI(text)
	}
	return c.maskedValue(v)
}

// maskedWords masks the arguments of a command line that may be secret.
func maskedWords(v any) any {
	all, ok := v.([]any)
	if !ok {
		return v
	}
	words := make([]string, len(all))
	for i, w := range all {
		words[i], _ = w.(string)
	}
	return plainValue(display.RedactWords(words))
}

// maskedValue masks each value except booleans, null and texts that knack itself writes. It keeps
// keys.
func (c Client) maskedValue(v any) any {
	switch v := v.(type) {
	case bool, nil:
		return v
	case string:
		if slices.Contains(texts(plainValue(object(c.bearer))), v) {
			return v
		}
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = c.maskedValue(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = c.maskedValue(value)
		}
		return out
	}
	return hidden
}

// texts lists the strings in a value, at any depth.
func texts(v any) (out []string) {
	switch v := v.(type) {
	case string:
		out = append(out, v)
	case map[string]any:
		for _, value := range v {
			out = append(out, texts(value)...)
		}
	}
	return out
}

// shownEntry formats an entry with the given values in the file's format, without possibly secret
// parts. As in a new entry, the fields that describe how to reach the server come first.
func (c Client) shownEntry(path []string, at entry, values map[string]any) []byte {
	if at.nested {
		path = append(slices.Clone(path), c.nested)
	}
	order := slices.Concat([]string{"type"}, commandKeys, urlKeys)
	order = append(order, slices.Sorted(maps.Keys(values))...)
	var fields []field
	for i, key := range order {
		if v, ok := values[key]; ok && slices.Index(order, key) == i && !(c.list && key == "name") { // an item of a list contains its name
			fields = append(fields, field{key, inOrder(c.masked(key, v))})
		}
	}
	path = path[max(0, len(path)-2):]
	var out string
	switch c.format {
	case formatTOML:
		out = "[" + shownKey(path[0]) + "." + shownKey(path[1]) + "]\n"
		for _, f := range fields {
			out += shownKey(f.key) + " = " + tomlInline(f.value) + "\n"
		}
	case formatYAML:
		out = shownKey(path[0]) + ":\n  " + shownKey(path[1]) + ":\n"
		if c.list {
			out = shownKey(path[0]) + ":\n  - name: " + shownKey(path[1]) + "\n"
		}
		for _, f := range fields {
			out += "    " + shownKey(f.key) + ": " + flow(f.value) + "\n"
		}
	default:
		data, _ := mergeJSON(nil, path, fields, nil, c.dialect) // an empty file accepts every entry
		return data
	}
	return []byte(out)
}

// shownKey returns a key of TOML or YAML, in quotes if it is not a plain word.
func shownKey(key string) string {
	if reBareKey().FindString(key) == key && key != "" {
		return key
	}
	return string(appendString(key))
}

// inOrder converts a parsed value to the form of a [field]. It sorts the keys of mappings.
func inOrder(v any) any {
	switch v := v.(type) {
	case []any:
		words := make([]string, len(v))
		for i, w := range v {
			text, ok := w.(string)
			if !ok {
				return v
			}
			words[i] = text
		}
		return words
	case map[string]any:
		out := object{}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			out = append(out, field{key, inOrder(v[key])})
		}
		return out
	}
	return v
}

// tomlInline formats a value in one line, and a mapping as an inline table.
func tomlInline(v any) string {
	o, ok := v.(object)
	if !ok {
		return tomlValue(v)
	}
	var parts []string
	for _, f := range o {
		parts = append(parts, shownKey(f.key)+" = "+tomlInline(f.value))
	}
	return "{ " + strings.Join(parts, ", ") + " }"
}
