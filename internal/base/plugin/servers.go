package plugin

import (
	"net/url"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/hosts"
	"github.com/knack-dev/knack/internal/base/typo"
)

// Servers contains the parts of an mcp.json that knack uses (§7.2).
type Servers struct {
	Schema  string
	Servers []Server
	// Disabled reports whether clients ignore all servers.
	Disabled bool
}

// Server is one MCP server of a plugin.
type Server struct {
	Name, Type string
	// Command and Cwd are the server's program and working folder, as clean paths below the
	// plugin's root. "." is the plugin's root. Command is "" for a program elsewhere, and Cwd is ""
	// for the data folder.
	Command, Cwd     string
	CommandAt, CwdAt Span
	// Fixed are the values of env and headers. Everyone can read them in the package.
	Fixed []Text
	// Skipped reports whether clients skip the server.
	Skipped bool
	Span
}

// Text is a string in a file, and the field that has it.
type Text struct {
	Field, Text string
	Span
}

// variant is a type of server and its fields. The first field is required (§7.2.1).
type variant struct {
	kind   string
	fields []string
}

var variants = []variant{
	{"stdio", []string{"command", "args", "env", "cwd"}},
	{"streamable-http", []string{"url", "headers"}},
	{"sse", []string{"url", "headers"}},
}

// ParseServers reads an mcp.json. schema is the $schema of the plugin.json beside it, or "" without
// one; both must have the same version. The result is nil if the file is not a JSON object.
func ParseServers(data []byte, schema string) (*Servers, []Fault) {
	r := &report{}
	top := r.parse(data, MaxManifest, RuleMCPJSON, Disables)
	if top == nil {
		return nil, r.list()
	}
	s := &Servers{Schema: top.get("$schema").string()}
	version := schemaVersion(s.Schema, "mcp.schema.json")
	switch other := schemaVersion(schema, "plugin.schema.json"); {
	case version != "" && other != "" && version != other:
		r.add(RuleMCPSchema, Disables, top.get("$schema"), "$schema", `write "$schema": "`+schemas+other+`/mcp.schema.json"`,
			"$schema declares version %s, and plugin.json %s, so clients use none of the servers", display.Excerpt(version), display.Excerpt(other))
	case s.Schema == Schema:
		r.add(RuleMCPSchema, Disables, top.get("$schema"), "$schema", `write "$schema": "`+ServersSchema+`"`, "$schema is the identifier for plugin.json, so clients use none of the servers")
	default:
		r.schema(top, ServersSchema, "mcp.schema.json", RuleMCPSchema, Disables)
	}
	for _, m := range top.members {
		if m.name != "$schema" && m.name != "mcpServers" {
			r.name(RuleMCPField, Disables, m, fieldName("", m.name), "delete it", "an mcp.json has $schema and mcpServers alone, so clients use none of its servers because of %s", display.Quote(m.name))
		}
	}
	servers := top.get("mcpServers")
	switch {
	case servers == nil:
		r.add(RuleMCPField, Disables, nil, "mcpServers", `write "mcpServers": {…}`, "mcpServers is missing, so clients use no server")
	case servers.kind != object:
		r.add(RuleMCPField, Disables, servers, "mcpServers", `write "mcpServers": {"name": {…}}`, "mcpServers is %s and not an object, so clients use no server", kindNames[servers.kind])
	default:
		for _, m := range servers.members {
			s.Servers = append(s.Servers, r.server(m))
		}
	}
	s.Disabled = r.worst(Disables)
	return s, r.list()
}

// server checks one server. Its faults do not affect other servers (§7.2.2).
func (r *report) server(m member) Server {
	s := Server{Name: m.name, Span: Span{m.at, m.end}}
	own := &report{}
	own.judge(m, &s)
	s.Skipped = own.worst(Skips)
	for _, f := range own.faults {
		r.put(f)
	}
	return s
}

func (r *report) judge(m member, s *Server) {
	field, v := fieldName("mcpServers", m.name), m.value
	named := display.Quote(m.name)
	if v.kind != object {
		r.add(RuleMCPServer, Skips, v, field, "write an object", "the server %s is %s and not an object", named, kindNames[v.kind])
		return
	}
	kinds := []string{"stdio", "streamable-http", "sse"}
	t := v.get("type")
	s.Type = t.string()
	at := slices.Index(kinds, s.Type)
	switch {
	case t == nil:
		fix := `write "type": "stdio", "streamable-http" or "sse"`
		if v.get("command") != nil {
			fix = `write "type": "stdio"`
		} else if v.get("url") != nil {
			fix = `write "type": "streamable-http"`
		}
		r.name(RuleMCPServer, Skips, m, field+".type", fix, "the server %s has no type, so clients skip it", named)
		return
	case at < 0:
		fix := "write stdio, streamable-http or sse"
		if strings.Contains(strings.ToLower(s.Type), "http") {
			fix = `write "streamable-http"`
		}
		r.add(RuleMCPServer, Skips, t, field+".type", fix, "the server %s has an unknown type, so clients skip it", named)
		return
	}
	kind := variants[at]
	if required := kind.fields[0]; v.get(required) == nil {
		r.name(RuleMCPServer, Skips, m, field+"."+required, `write "`+required+`": "…"`, "the server %s has no %s, so clients skip it", named, required)
	}
	for _, part := range v.members {
		if part.name == "type" || slices.Contains(kind.fields, part.name) {
			continue
		}
		fix := "delete it"
		if near := typo.Nearest(part.name, kind.fields); near != "" {
			fix = "write " + near
		}
		r.name(RuleMCPServer, Skips, part, fieldName(field, part.name), fix, "a server of type %s has no field %s, so clients skip %s", kind.kind, display.Quote(part.name), named)
	}
	if kind.kind == "stdio" {
		r.stdio(v, field, s)
	} else {
		r.remote(v, field, s)
	}
}

// mistyped reports whether a value is absent or of another type than want. For another type it adds
// a fault.
func (r *report) mistyped(v *value, want kind, field string) bool {
	if v != nil && v.kind != want {
		r.add(RuleMCPServer, Skips, v, field, "write "+kindNames[want], "%s is %s and not %s", field, kindNames[v.kind], kindNames[want])
		return true
	}
	return v == nil
}

func (r *report) stdio(v *value, field string, s *Server) {
	if command := v.get("command"); !r.mistyped(command, text, field+".command") {
		r.command(command, field+".command", s)
	}
	if args := v.get("args"); !r.mistyped(args, list, field+".args") {
		for _, a := range args.items {
			r.mistyped(a, text, field+".args")
		}
	}
	if env := v.get("env"); !r.mistyped(env, object, field+".env") {
		for _, m := range env.members {
			if r.mistyped(m.value, text, fieldName(field+".env", m.name)) {
				continue
			}
			s.Fixed = append(s.Fixed, Text{fieldName(field+".env", m.name), m.value.text, Span{m.value.at, m.value.end}})
			if m.name == "PLUGIN_ROOT" || m.name == "PLUGIN_DATA" {
				r.name(RuleMCPEnv, Skips, m, field+".env."+m.name, "delete it: clients set it", "env sets %s, which is the client's, so clients skip the server", m.name)
			}
		}
	}
	cwd := v.get("cwd")
	if r.mistyped(cwd, text, field+".cwd") {
		return
	}
	const root, data = "${PLUGIN_ROOT}", "${PLUGIN_DATA}"
	rest, inData := strings.CutPrefix(cwd.text, data)
	below, inRoot := strings.CutPrefix(cwd.text, root)
	switch {
	case inData && (rest == "" || rest[0] == '/'):
		below = rest
	case inRoot && (below == "" || below[0] == '/'):
	case strings.HasPrefix(cwd.text, "./"):
		below, inRoot = cwd.text, true
	default:
		r.add(RuleMCPPath, Skips, cwd, field+".cwd", `write a path that begins with ./, ${PLUGIN_ROOT} or ${PLUGIN_DATA}`, "cwd %s is not below the plugin, so clients skip the server", display.Quote(cwd.text))
		return
	}
	clean, ok := Clean("./" + strings.TrimLeft(below, "/"))
	if !ok {
		r.add(RuleMCPPath, Skips, cwd, field+".cwd", "write a path that stays below the folder", "cwd %s leads out, so clients skip the server", display.Quote(cwd.text))
	} else if inRoot {
		s.Cwd, s.CwdAt = clean, Span{cwd.at, cwd.end}
	}
}

// command checks the program of a server, which is a bare name or a path below the plugin.
func (r *report) command(v *value, field string, s *Server) {
	clean, inside := Clean(v.text)
	switch c := v.text; {
	case c == "":
		r.add(RuleMCPServer, Skips, v, field, "write the name of a program", "command is empty, so clients skip the server")
	case strings.HasPrefix(c, "./") && inside:
		s.Command, s.CommandAt = clean, Span{v.at, v.end}
	case strings.HasPrefix(c, "./"):
		r.add(RuleMCPPath, Skips, v, field, "write a path below the plugin, such as ./bin/server", "command %s leads out of the plugin, so clients skip the server", display.Quote(c))
	case strings.ContainsAny(c, `/\`):
		fix := "write the name of a program that is on the PATH, or a path below the plugin that begins with ./"
		if rest, ok := strings.CutPrefix(c, "${PLUGIN_ROOT}/"); ok {
			fix = `write "./` + display.Echo(rest) + `": placeholders are not replaced in command`
		} else if inside && !strings.Contains(c, "$") {
			fix = `write "./` + display.Echo(clean) + `"`
		}
		r.add(RuleMCPPath, Skips, v, field, fix, "command %s is neither a bare name nor a path that begins with ./, so clients skip the server", display.Quote(c))
	case strings.ContainsAny(c, " \t|&;<>$`\"'"):
		r.add(RuleMCPServer, Ignores, v, field, "write the program in command and its arguments in args", "command %s looks like a command line, and no shell reads it", display.Quote(c))
	}
}

func (r *report) remote(v *value, field string, s *Server) {
	if u := v.get("url"); !r.mistyped(u, text, field+".url") {
		if fault, fix := urlFault(u.text); fault != "" {
			r.add(RuleMCPURL, Skips, u, field+".url", fix, "url %s, so clients skip the server", fault)
		} else if strings.Contains(u.text, "${") {
			r.add(RuleMCPURL, Ignores, u, field+".url", "write the whole URL", "placeholders in url are not replaced")
		}
	}
	headers := v.get("headers")
	if r.mistyped(headers, object, field+".headers") {
		return
	}
	seen := map[string]string{}
	for _, m := range headers.members {
		name := fieldName(field+".headers", m.name)
		if r.mistyped(m.value, text, name) {
			continue
		}
		s.Fixed = append(s.Fixed, Text{name, m.value.text, Span{m.value.at, m.value.end}})
		if !isToken(m.name) {
			r.name(RuleMCPHeader, Skips, m, name, "correct the name", "%s is not the name of a header, so clients skip the server", display.Quote(m.name))
		}
		if strings.ContainsFunc(m.value.text, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) || strings.TrimSpace(m.value.text) != m.value.text {
			r.add(RuleMCPHeader, Skips, m.value, name, "delete control characters, and spaces at the ends", "the value of the header %s is not valid, so clients skip the server", display.Echo(m.name))
		}
		if other, ok := seen[strings.ToLower(m.name)]; ok && other != m.name {
			r.name(RuleMCPHeader, Skips, m, name, "keep one of the two", "the headers %s and %s are one, so clients skip the server", display.Echo(other), display.Echo(m.name))
		}
		seen[strings.ToLower(m.name)] = m.name
		if strings.Contains(m.value.text, "${") {
			r.add(RuleMCPHeader, Ignores, m.value, name, "leave the header out, and let the client sign in", "placeholders in headers are not replaced")
		}
	}
}

// urlFault returns why a URL cannot be the address of a server, and the fix.
func urlFault(raw string) (fault, fix string) {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return "is not an absolute http or https URL", "write https://host/path"
	case u.User != nil:
		return "has a user name or password", "delete it; clients sign in themselves"
	case strings.Contains(raw, "#"):
		return "has a fragment", "delete # and the text after it"
	case u.Scheme == "http" && !hosts.IsLoopback(u.Hostname()):
		return "is not encrypted", "write https://"
	}
	return "", ""
}

// isToken reports whether a text is a token of HTTP (RFC 9110, 5.6.2).
func isToken(name string) bool {
	return name != "" && strings.Trim(name, "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}
