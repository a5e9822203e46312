package wire

import (
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/internal/base/rawjson"
)

// Params are the parameters of a message of any method.
type Params struct {
	Meta      Meta
	Missing   bool // the message has no params, or null
	Cursor    string
	URI       string
	Name      string            // of a tool or prompt
	Level     string            // of log messages
	Arguments []byte            // of a tool, as written; may be nil
	Texts     map[string]string // the arguments of a prompt
	Ref       Ref               // the prompt or template to complete
	Argument  Argument          // the argument to complete
	Handshake Handshake         // of initialize
	Listen    *Listen           // of subscriptions/listen; nil without it
}

// Ref names a prompt by its name or a resource template by its URI.
type Ref struct{ Type, Name, URI string }

// Argument is an argument to complete, with the typed text.
type Argument struct{ Name, Value string }

// Handshake is the description of a client in initialize.
type Handshake struct {
	Version             string // the protocol version that it proposes
	Name, ClientVersion string // of the client
	Roots               bool   // it offers roots
}

// Listen names the notifications that a client wants.
type Listen struct {
	Tools, Prompts, Resources bool // changes of these lists
	URIs                      []string
}

// Meta is the metadata of a request, from its _meta.
type Meta struct {
	Version    string // the protocol version, empty without one
	ClientInfo []byte // as written, nil if missing
	// Capabilities are the client's, as written, nil if missing.
	Capabilities []byte
	CallID       string // the client's own id of the call, or empty
}

// ParseParams reads the parameters of a method. It skips members that the method does not take. Of
// a repeated member, it reads the last. A valid _meta is read even if another member is invalid.
func ParseParams(method string, raw []byte) (*Params, *jsonrpc.Error) {
	p := &Params{}
	if raw == nil || string(raw) == "null" {
		p.Missing = true
		return p, nil
	}
	if raw[0] != '{' {
		return p, mistyped("", "an object")
	}
	var d decoder
	var meta, cursor, uri, name, arguments, ref, argument, level, version, info, capabilities, notifications []byte
	eachMember(raw, func(key, value []byte) {
		switch string(key) {
		case "_meta":
			meta = value
		case "cursor":
			cursor = value
		case "uri":
			uri = value
		case "name":
			name = value
		case "arguments":
			arguments = value
		case "ref":
			ref = value
		case "argument":
			argument = value
		case "level":
			level = value
		case "protocolVersion":
			version = value
		case "clientInfo":
			info = value
		case "capabilities":
			capabilities = value
		case "notifications":
			notifications = value
		}
	})
	d.object("_meta", meta, p.Meta.set)
	switch method {
	case "tools/call":
		d.text("name", name, &p.Name)
		p.Arguments = arguments
	case "prompts/get":
		d.text("name", name, &p.Name)
		d.texts("arguments", arguments, &p.Texts)
	case "resources/read", "skills/get", "resources/subscribe", "resources/unsubscribe":
		d.text("uri", uri, &p.URI)
	case "resources/directory/read":
		d.text("uri", uri, &p.URI)
		d.text("cursor", cursor, &p.Cursor)
	case "completion/complete":
		d.members("ref", ref, map[string]*string{"type": &p.Ref.Type, "name": &p.Ref.Name, "uri": &p.Ref.URI})
		d.members("argument", argument, map[string]*string{"name": &p.Argument.Name, "value": &p.Argument.Value})
		if r := p.Ref; ref != nil && string(ref) != "null" && !(r.Type == "ref/prompt" && r.URI == "" || r.Type == "ref/resource" && r.Name == "") {
			d.fail(misread)
		}
	case "logging/setLevel":
		d.text("level", level, &p.Level)
	case "initialize":
		d.text("protocolVersion", version, &p.Handshake.Version)
		d.client(info, &p.Handshake)
		d.capabilities(capabilities, &p.Handshake)
	case "subscriptions/listen":
		p.Listen = d.listen(notifications)
	case "tools/list", "prompts/list", "resources/list", "resources/templates/list", "skills/list":
		d.text("cursor", cursor, &p.Cursor)
	}
	return p, d.no
}

// eachMember calls visit with each member of an object; other values have no members.
func eachMember(raw []byte, visit func(name, value []byte)) {
	rawjson.Members(raw, func(key, value []byte) bool {
		visit(nameOf(key), value)
		return true
	})
}

// text decodes a JSON string, as encoding/json does.
func text(raw []byte) (s string, ok bool) {
	if s, ok = rawjson.Text(raw); ok {
		return s, true
	}
	ok = len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &s) == nil
	return s, ok
}

// isNull reports whether a value is null or missing.
func isNull(raw []byte) bool { return raw == nil || string(raw) == "null" }

// misread is the error for params that do not fit the method, where details would not help.
var misread = &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "invalid params: they do not fit the method"}

// mistyped returns the error for a parameter of the wrong type.
func mistyped(name, want string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: strings.TrimSpace("invalid params: "+name) + " must be " + want}
}

// decoder decodes parameters, and keeps the first error.
type decoder struct{ no *jsonrpc.Error }

func (d *decoder) fail(no *jsonrpc.Error) {
	if d.no == nil {
		d.no = no
	}
}

// text decodes a string that may be missing or null.
func (d *decoder) text(name string, raw []byte, to *string) {
	if isNull(raw) {
		return
	}
	var ok bool
	if *to, ok = text(raw); !ok {
		d.fail(mistyped(name, "a string"))
	}
}

// object visits the members of an object that may be missing or null.
func (d *decoder) object(name string, raw []byte, visit func(name, value []byte)) {
	switch {
	case isNull(raw):
	case raw[0] != '{':
		d.fail(mistyped(name, "an object"))
	default:
		eachMember(raw, visit)
	}
}

// members decodes the string members of an object. It skips a member whose name is not in to.
func (d *decoder) members(name string, raw []byte, to map[string]*string) {
	d.object(name, raw, func(key, value []byte) {
		if at := to[string(key)]; at != nil {
			d.text(string(key), value, at)
		}
	})
}

// texts decodes an object of strings.
func (d *decoder) texts(name string, raw []byte, to *map[string]string) {
	d.object(name, raw, func(key, value []byte) {
		if *to == nil {
			*to = map[string]string{}
		}
		s, ok := text(value)
		if !ok && !isNull(value) {
			d.fail(misread)
		}
		(*to)[string(key)] = s
	})
}

// client decodes clientInfo.
func (d *decoder) client(raw []byte, to *Handshake) {
	if isNull(raw) {
		return
	}
	var no *jsonrpc.Error
	if raw[0] != '{' {
		no = mistyped("clientInfo", "an object")
	} else {
		to.Name, to.ClientVersion, no = parseClient(raw)
	}
	if no != nil {
		d.fail(no)
	}
}

// capabilities decodes a client's capabilities.
func (d *decoder) capabilities(raw []byte, to *Handshake) {
	if isNull(raw) {
		return
	}
	if raw[0] != '{' {
		d.fail(mistyped("capabilities", "an object"))
	} else if json.Unmarshal(raw, new(mcp.ClientCapabilities)) != nil {
		d.fail(misread)
	}
	eachMember(raw, func(name, value []byte) { to.Roots = to.Roots || string(name) == "roots" && !isNull(value) })
}

// listen decodes the notifications that a client wants.
func (d *decoder) listen(raw []byte) (l *Listen) {
	if !isNull(raw) {
		l = &Listen{}
	}
	d.object("notifications", raw, func(name, value []byte) {
		switch string(name) {
		case "toolsListChanged":
			d.flag(value, &l.Tools)
		case "promptsListChanged":
			d.flag(value, &l.Prompts)
		case "resourcesListChanged":
			d.flag(value, &l.Resources)
		case "resourceSubscriptions":
			if !isNull(value) && value[0] != '[' {
				d.fail(mistyped("resourceSubscriptions", "an array"))
			} else if value != nil && json.Unmarshal(value, &l.URIs) != nil {
				d.fail(misread)
			}
		}
	})
	return l
}

func (d *decoder) flag(raw []byte, to *bool) {
	if json.Unmarshal(raw, to) != nil {
		d.fail(misread)
	}
}

// set stores one member of _meta (2026-07-28); callId is Codex's (0.169.0).
func (m *Meta) set(name, value []byte) {
	switch string(name) {
	case mcp.MetaKeyProtocolVersion:
		m.Version, _ = text(value)
	case mcp.MetaKeyClientInfo:
		m.ClientInfo = value
	case mcp.MetaKeyClientCapabilities:
		m.Capabilities = value
	case "callId":
		m.CallID, _ = text(value)
	}
}

// Client returns the client of a request, as the request itself names it. The error is for a
// request of 2026-07-28 that describes its client wrongly.
func (m *Meta) Client() (name, version string, no *jsonrpc.Error) {
	if !isNull(m.ClientInfo) {
		if name, version, no = parseClient(m.ClientInfo); no != nil {
			return "", "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: `invalid _meta field "` + mcp.MetaKeyClientInfo + `"`}
		}
	}
	if string(m.Capabilities) != "{}" && (isNull(m.Capabilities) || json.Unmarshal(m.Capabilities, new(mcp.ClientCapabilities)) != nil) {
		no = &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: `missing or invalid _meta field "` + mcp.MetaKeyClientCapabilities + `"`}
	}
	return name, version, no
}

// parseClient decodes the name and the version of a client. The error names a member of the wrong
// type.
func parseClient(raw []byte) (name, version string, no *jsonrpc.Error) {
	if raw[0] != '{' {
		return "", "", misread
	}
	var d decoder
	eachMember(raw, func(key, value []byte) {
		var other string
		switch string(key) {
		case "name":
			d.text("name", value, &name)
		case "version":
			d.text("version", value, &version)
		case "title", "description", "websiteUrl":
			d.text("", value, &other)
		case "icons":
			if json.Unmarshal(value, new([]mcp.Icon)) != nil {
				d.fail(misread)
			}
		}
	})
	return name, version, d.no
}
