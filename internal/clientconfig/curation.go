package clientconfig

import (
	"maps"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// Curation contains one client's settings that turn skills on or off.
type Curation struct {
	settings []setting
}

// setting is the value of one key in one of the client's files.
type setting struct {
	key   string
	value any
}

// Subject is a skill in one of the folders that a client reads.
type Subject struct {
	Name, Folder string   // the skill's own name, and the base name of its folder
	Files        []string // the paths of its SKILL.md, before and after links are resolved
	InProject    bool
}

// verdict is the effect of one setting on a skill.
type verdict int

const (
	silent verdict = iota // the setting does not name the skill
	on
	off
)

// verdictFunc returns the verdict of a setting's value on a skill.
type verdictFunc func(value any, s Subject) verdict

// judges contains a function for each setting, by its key in the table of agents. A later file
// overrides an earlier one. A list of names cannot turn a skill on, so the lists of all files apply
// together.
var judges = map[string]verdictFunc{
	"skillOverrides":         overridden, // Claude Code
	"skills.config":          configured, // Codex
	"disabledSkills":         named,      // Copilot CLI
	"skills.disabled":        named,      // Gemini CLI, Qwen Code
	"skills.defaultDisabled": named,      // Qwen Code
	"skills.disabledLevels":  levelled,   // Qwen Code
	"skills.enabled":         switched,   // Gemini CLI
	"permission.skill":       permitted,  // OpenCode
}

// Add reads a setting from a file of the client. Keys are separated by dots. It returns an error if
// the file cannot be parsed.
func (c *Curation) Add(file, key string, data []byte) error {
	all, err := readSettings(file, data)
	if err != nil {
		return err
	}
	var value any = all
	for part := range strings.SplitSeq(key, ".") {
		object, _ := value.(map[string]any)
		value = object[part]
	}
	if judges[key] != nil && value != nil {
		c.settings = append(c.settings, setting{key, value})
	}
	return nil
}

// readSettings returns the contents of a settings file. It accepts comments and trailing commas for
// all clients.
func readSettings(file string, data []byte) (all map[string]any, err error) {
	if filepath.Ext(file) == ".toml" {
		if err := checkTOML(data); err != nil {
			return nil, err
		}
		err = toml.Unmarshal(trimMark(data), &all)
		return all, err
	}
	f, err := parseJSON(data, dialectLax)
	if err != nil {
		return nil, err
	}
	return f.value(), nil
}

// IsEmpty reports whether there are no settings.
func (c *Curation) IsEmpty() bool { return len(c.settings) == 0 }

// Equal reports whether c and o have the same settings.
func (c *Curation) Equal(o Curation) bool { return reflect.DeepEqual(c.settings, o.settings) }

// Off reports whether the settings turn a skill off.
func (c *Curation) Off(s Subject) bool {
	last := map[string]verdict{}
	for _, set := range c.settings {
		if v := judges[set.key](set.value, s); v != silent {
			last[set.key] = v
		}
	}
	return slices.Contains(slices.Collect(maps.Values(last)), off)
}

// overridden judges {"NAME": "on", "name-only", "user-invocable-only" or "off"}, where NAME is the
// name of the folder. With "name-only", the client lists only the skill's name.
func overridden(value any, s Subject) verdict {
	names, _ := value.(map[string]any)
	switch names[s.Folder] {
	case "on", "name-only":
		return on
	case "off", "user-invocable-only":
		return off
	}
	return silent
}

// configured judges a list of {name or path, enabled}. It ignores an entry with both or neither.
func configured(value any, s Subject) (out verdict) {
	entries, _ := value.([]any)
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		name, byName := entry["name"].(string)
		file, byPath := entry["path"].(string)
		enabled, isSet := entry["enabled"].(bool)
		if byName == byPath || !isSet || byName && name != s.Name || byPath && !slices.Contains(s.Files, filepath.Clean(file)) {
			continue
		}
		out = off
		if enabled {
			out = on
		}
	}
	return out
}

// named judges a list of names that are off.
func named(value any, s Subject) verdict {
	names, _ := value.([]any)
	if slices.ContainsFunc(names, func(n any) bool {
		name, _ := n.(string)
		return strings.EqualFold(name, s.Name)
	}) {
		return off
	}
	return silent
}

// levelled judges a list of levels, user or project, whose skills are off.
func levelled(value any, s Subject) verdict {
	levels, _ := value.([]any)
	level := "user"
	if s.InProject {
		level = "project"
	}
	if slices.Contains(levels, any(level)) {
		return off
	}
	return silent
}

// switched judges true or false, which applies to all skills.
func switched(value any, _ Subject) verdict {
	switch value {
	case true:
		return on
	case false:
		return off
	}
	return silent
}

// permitted judges a permission, or {"PATTERN": permission}. The longest matching pattern counts;
// among patterns of equal length, deny does.
func permitted(value any, s Subject) (out verdict) {
	patterns, ok := value.(map[string]any)
	if !ok {
		patterns = map[string]any{"*": value}
	}
	length := -1
	for pattern, permission := range patterns {
		if matches, err := path.Match(pattern, s.Name); err != nil || !matches || len(pattern) < length {
			continue
		}
		this := on
		if permission == "deny" {
			this = off
		}
		if len(pattern) > length || this == off {
			out, length = this, len(pattern)
		}
	}
	return out
}
