package plugin

import (
	"fmt"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/typo"
)

// Manifest contains the fields of a plugin's manifest that knack uses.
type Manifest struct {
	Client  Client
	Schema  string
	Name    string
	Version string
	// Skills are the paths in the field skills of a client's manifest, clean and below the plugin's
	// root. Each is a skill, or a folder with skills. Claude Code reads them in addition to
	// skills/, and other clients instead of skills/.
	Skills []string
	// SkillsAt are the positions of Skills in the file.
	SkillsAt []Span
	// Components are the fields of a client's manifest that define components, such as commands.
	// Agent Plugins has none of these fields.
	Components []string
	// Rejected reports whether the client rejects the plugin, and so loads nothing from it.
	Rejected bool
}

// Span is a byte range of a file.
type Span struct{ At, End int }

// textFields are the fields whose only requirement is to be a string (§5.4).
var textFields = []string{"version", "description", "homepage", "repository", "license"}

// fields are all fields of a manifest (§5.2).
var fields = append([]string{"$schema", "name", "author", "keywords", "extensions"}, textFields...)

// components are the fields that define components, in a client's manifest or a marketplace's
// entry.
var components = []string{"skills", "commands", "agents", "hooks", "mcpServers", "lspServers", "outputStyles", "rules", "apps", "monitors", "channels"}

// ParseManifest reads the manifest of a client, or one of Agent Plugins (§5) if the client is
// [Portable]. The manifest is nil if the file is not a JSON object.
func ParseManifest(data []byte, c Client) (*Manifest, []Fault) {
	r := &report{}
	top := r.parse(data, MaxManifest, RuleJSON, Rejects)
	if top == nil {
		return nil, r.list()
	}
	m := &Manifest{Client: c, Schema: top.get("$schema").string(), Name: top.get("name").string(), Version: top.get("version").string()}
	if c == Portable {
		r.portable(top)
	} else {
		r.native(top, m)
	}
	m.Rejected = r.worst(Rejects)
	return m, r.list()
}

// DeclaresSchema reports whether a text looks like the identifier of a schema of Agent Plugins, of
// any version.
func DeclaresSchema(id string) bool { return strings.HasPrefix(id, schemas) }

// schemaVersion returns the version in the identifier of a schema, or "".
func schemaVersion(id, file string) string {
	v, ok := strings.CutPrefix(id, schemas)
	if !ok {
		return ""
	}
	v, _ = strings.CutSuffix(v, "/"+file)
	if strings.Contains(v, "/") {
		return ""
	}
	return v
}

// schema checks the field $schema. bad is the effect of a wrong value.
func (r *report) schema(top *value, want, file, rule string, bad Effect) {
	fix := `write "$schema": "` + want + `"`
	got := top.get("$schema")
	switch {
	case got == nil:
		r.add(rule, bad, nil, "$schema", fix, "$schema is missing, so no client knows the version of the format")
	case got.kind != text:
		r.add(rule, bad, got, "$schema", fix, "$schema is %s and not a string", kindNames[got.kind])
	case got.text == want:
	case schemaVersion(got.text, file) != "":
		r.add(rule, bad, got, "$schema", fix, "$schema declares version %s, and clients know 1.0.0 alone; Codex rejects the plugin, Copilot lists none of its skills, and Claude Code loads it", display.Excerpt(schemaVersion(got.text, file)))
	default:
		r.add(rule, bad, got, "$schema", fix, "$schema is not the identifier of Agent Plugins 1.0.0")
	}
}

// portable checks a manifest against the specification.
func (r *report) portable(top *value) {
	r.schema(top, Schema, "plugin.schema.json", RuleSchema, Rejects)
	switch name := top.get("name"); {
	case name == nil:
		r.add(RuleName, Rejects, nil, "name", `write "name": "…"`, "name is missing")
	case name.kind != text:
		r.add(RuleName, Rejects, name, "name", "write a string", "name is %s and not a string", kindNames[name.kind])
	case !isName(name.text):
		r.add(RuleName, Rejects, name, "name", nameFix(name.text), "name %s", nameFault(name.text))
	}
	for _, field := range textFields {
		r.isText(top.get(field), field, RuleType)
	}
	r.author(top.get("author"))
	r.texts(top.get("keywords"), "keywords", RuleType)
	r.extensions(top)
	for _, m := range top.members {
		if slices.Contains(fields, m.name) {
			continue
		}
		fix := "delete it"
		switch {
		case m.name == "skills":
			fix = "delete it: skills are in skills/"
		case m.name == "mcpServers":
			fix = "delete it: MCP servers are in mcp.json"
		case typo.Nearest(m.name, fields) != "":
			fix = "write " + typo.Nearest(m.name, fields)
		case slices.Contains(components, m.name):
			fix = "put it into the manifest of the client that reads it, such as .claude-plugin/plugin.json, or under extensions"
		default:
			fix = "delete it, or put it under extensions, below the reverse domain name of its client"
		}
		r.name(RuleUnknown, Ignores, m, fieldName("", m.name), fix, "a manifest has no field %s, so clients ignore it", display.Quote(m.name))
	}
}

// nameFault describes the constraint of §5.5 that a name breaks.
func nameFault(name string) string {
	switch {
	case name == "":
		return "is empty"
	case len(name) > 64:
		return fmt.Sprintf("has %d characters, and at most 64 are allowed", len([]rune(name)))
	case strings.Contains(name, "--"):
		return "has two hyphens in a row"
	case strings.Contains(name, ".."):
		return "has two periods in a row"
	case isName("a" + name + "a"):
		return "begins or ends with - or ."
	}
	return display.Quote(name) + " has characters other than a-z, 0-9, - and ."
}

// isText adds a fault for a value that is present and not a string.
func (r *report) isText(v *value, field, rule string) {
	if v != nil && v.kind != text {
		r.add(rule, Rejects, v, field, "write a string, or delete the field", "%s is %s and not a string", field, kindNames[v.kind])
	}
}

// texts adds a fault for a value that is present and not a list of strings.
func (r *report) texts(v *value, field, rule string) {
	switch {
	case v == nil:
	case v.kind != list:
		r.add(rule, Rejects, v, field, "write a list of strings, or delete the field", "%s is %s and not a list", field, kindNames[v.kind])
	default:
		for i, item := range v.items {
			if item.kind != text {
				r.add(rule, Rejects, item, fmt.Sprintf("%s[%d]", field, i), "write a string", "%s has %s, and each must be a string", field, kindNames[item.kind])
			}
		}
	}
}

// author checks the field author, which may have no other members (§5.4).
func (r *report) author(v *value) {
	switch {
	case v == nil:
		return
	case v.kind == text:
		r.add(RuleAuthor, Rejects, v, "author", `write "author": {"name": "…"}`, "author is a string, and must be an object")
		return
	case v.kind != object:
		r.add(RuleAuthor, Rejects, v, "author", `write "author": {"name": "…"}`, "author is %s, and must be an object", kindNames[v.kind])
		return
	}
	for _, m := range v.members {
		field := fieldName("author", m.name)
		if !slices.Contains([]string{"name", "email", "url"}, m.name) {
			fix := "delete it: author has name, email and url alone"
			if near := typo.Nearest(m.name, []string{"name", "email", "url"}); near != "" {
				fix = "write " + near
			}
			r.name(RuleAuthor, Rejects, m, field, fix, "author has no field %s, and a client must reject the plugin for it", display.Quote(m.name))
			continue
		}
		r.isText(m.value, field, RuleAuthor)
	}
}

// extensions checks the field extensions (§8.1).
func (r *report) extensions(top *value) {
	v := top.get("extensions")
	switch {
	case v == nil:
		return
	case v.kind != object:
		r.add(RuleExtensions, Ignores, v, "extensions", `write "extensions": {"com.example.client": {…}}`, "extensions is %s and not an object, so clients ignore it", kindNames[v.kind])
		return
	}
	for _, m := range v.members {
		field := fieldName("extensions", m.name)
		if !isNamespace(m.name) {
			r.name(RuleExtensions, Ignores, m, field, "write the reverse domain name of the client, such as com.example.client", "%s is not a reverse domain name", display.Quote(m.name))
		}
		if m.value.kind != object {
			r.add(RuleExtensions, Rejects, m.value, field, "write an object, or delete it", "%s is %s, and must be an object", display.Echo(m.name), kindNames[m.value.kind])
		}
	}
}

// isNamespace reports whether a name has the form of a reverse domain name.
func isNamespace(name string) bool {
	parts := strings.Split(name, ".")
	for _, p := range parts {
		if p == "" || strings.Trim(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") != "" {
			return false
		}
	}
	return len(parts) > 1
}

// native checks the manifest of a client for the few fields on which its plugin depends. Clients
// ignore unknown fields in their own manifests.
func (r *report) native(top *value, m *Manifest) {
	name := top.get("name")
	switch {
	case name == nil:
		r.add(RuleName, Rejects, nil, "name", `write "name": "…"`, "name is missing, and %s needs it", m.Client)
	case name.kind != text:
		r.add(RuleName, Rejects, name, "name", "write a string", "name is %s and not a string", kindNames[name.kind])
	case !isFolderName(name.text):
		r.add(RuleName, Rejects, name, "name", nameFix(name.text), "name %s cannot be the name of a folder", display.Quote(name.text))
	case !isName(name.text):
		r.add(RuleName, Ignores, name, "name", nameFix(name.text), "name %s, and other clients refuse that", nameFault(name.text))
	}
	for _, field := range components {
		v := top.get(field)
		if v == nil {
			continue
		}
		m.Components = append(m.Components, field)
		paths, at := r.paths(v, field, m.Client)
		if field == "skills" {
			m.Skills, m.SkillsAt = paths, at
		}
	}
}

// paths returns the paths in a field that is a string or a list of strings. It ignores any other
// value, which is a component itself and not a path.
func (r *report) paths(v *value, field string, c Client) (out []string, at []Span) {
	all := []*value{v}
	if v.kind == list {
		all = v.items
	}
	for i, p := range all {
		if p.kind != text {
			continue
		}
		name := field
		if v.kind == list {
			name = fmt.Sprintf("%s[%d]", field, i)
		}
		clean, ok := Clean(p.text)
		switch {
		case !ok:
			r.add(RulePath, Rejects, p, name, "write a path below the plugin's folder, such as ./skills/x", "the path %s leads out of the plugin, and no client may follow it", display.Quote(p.text))
			continue
		case c == Claude && !strings.HasPrefix(p.text, "./"):
			r.add(RulePath, Ignores, p, name, `write "./`+display.Echo(clean)+`"`, "the path %s does not begin with ./, as Claude Code asks", display.Quote(p.text))
		}
		out, at = append(out, clean), append(at, Span{p.at, p.end})
	}
	return out, at
}
