package clientconfig

import (
	"errors"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/tailscale/hujson"
)

// allowList is a client's list of tools that it calls without asking.
type allowList struct {
	file func(Env) string
	path []string // the path of keys to the list
	rule func(server, tool string) string
}

// claudeAllow is the list of allowed tools of Claude Code.
var claudeAllow = &allowList{
	file: pathOf("$CLAUDE_CONFIG_DIR/settings.json"), path: []string{"permissions", "allow"},
	rule: func(server, tool string) string {
		name := "mcp__" + toolWord(server)
		if tool != "" {
			name += "__" + tool
		}
		return name
	},
}

// Allow returns a change of the client's list of allowed tools. The change adds the tools of the
// named server or, with remove, removes them. Allow returns nil if the client has no such list.
func (c Client) Allow(p Env, server string, tools []string, remove bool) (*Change, error) {
	if c.allow == nil {
		return nil, nil
	}
	f := candidate{location: location{scope: User, file: c.allow.file}, at: filepath.FromSlash(c.allow.file(p)), mode: 0o600}
	if f.at == "" {
		return nil, errNoFolder
	}
	f.place = f.at
	c.read(p, &f)
	ch := &Change{File: f.at, Scope: User, Name: server, State: Absent, Before: f.data, After: f.data, existed: f.real != "", mode: f.mode, place: f.place, remove: remove}
	if f.real != "" {
		ch.File = f.real
	}
	if f.err != nil {
		return ch, f.err
	}
	before, err := readJSON(f.data, c.allow.path[:len(c.allow.path)-1], c.dialect)
	if err != nil {
		return ch, err
	}
	last := c.allow.path[len(c.allow.path)-1]
	rules, isList := before[last].([]any)
	if before[last] != nil && !isList {
		return ch, errors.New(last + " is not a list")
	}
	var add, gone []string
	for _, tool := range tools {
		rule := c.allow.rule(server, tool)
		switch has := slices.Contains(rules, any(rule)); {
		case remove && has:
			gone = append(gone, rule)
		case !remove && !has && !slices.Contains(rules, any(c.allow.rule(server, ""))):
			add = append(add, rule)
		}
	}
	if len(add)+len(gone) == 0 {
		ch.State, ch.Trusted = Connected, !remove
		return ch, nil
	}
	ch.After, err = editList(f.data, c.allow.path, add, gone, c.dialect)
	ch.Gone = remove && err == nil && c.isRemoved(f, ch.After)
	return ch, err
}

// editList adds the texts in add to the end of a list, and removes those in gone. Everything else
// stays.
func editList(data []byte, path []string, add, gone []string, d dialect) ([]byte, error) {
	f, err := parseJSON(data, d)
	if err != nil {
		return nil, err
	}
	at := &f.root
	for _, key := range path {
		o, ok := at.Value.(*hujson.Object)
		if !ok {
			return nil, errors.New("the file is not an object in braces")
		}
		m := member(o, key)
		if m == nil {
			return mergeJSON(data, path[:len(path)-1], []field{{path[len(path)-1], add}}, nil, d)
		}
		at = &m.Value
	}
	list, ok := at.Value.(*hujson.Array)
	if !ok {
		return nil, errors.New(path[len(path)-1] + " is not a list")
	}
	want, _ := decoded(*at).([]any)
	isGone := func(v any) bool {
		text, _ := v.(string)
		return slices.Contains(gone, text)
	}
	want = slices.DeleteFunc(want, isGone)
	list.Elements = slices.DeleteFunc(list.Elements, func(v hujson.Value) bool { return isGone(decoded(v)) })
	for _, text := range add {
		v := hujson.Value{Value: hujson.Literal(appendString(text))}
		if n := len(list.Elements); n > 0 {
			last := &list.Elements[n-1]
			v.BeforeExtra, v.AfterExtra = hujson.Extra(" "), last.AfterExtra
			if last.BeforeExtra.IsStandard() && len(last.BeforeExtra) > 1 {
				v.BeforeExtra = slices.Clone(last.BeforeExtra) // on a new line, as the last element
			}
			last.AfterExtra = nil
		}
		list.Elements, want = append(list.Elements, v), append(want, text)
	}
	if len(add) == 0 {
		f.prune(path)
	}
	out := f.packed(data)
	after, err := parseJSON(out, d)
	if err != nil {
		return nil, errSelfCheck
	}
	now := after.value()
	for _, key := range path[:len(path)-1] {
		now, _ = now[key].(map[string]any)
	}
	if got, _ := now[path[len(path)-1]].([]any); !reflect.DeepEqual(append([]any{}, got...), append([]any{}, want...)) {
		return nil, errSelfCheck
	}
	return out, nil
}
