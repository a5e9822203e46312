package wire

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/internal/base/rawjson"
)

// Call is a request that expects an answer, as its client wrote it.
type Call struct {
	ID     string // a string or a whole number, as written
	Method string
	Params []byte // a part of the line: an object, or nil
}

// ParseCall reads one message. It reports false for everything but a call in the usual form: it
// declines notifications, answers, batches, unusual ids, repeated or unknown members, more than 64
// levels, too many values, and invalid UTF-8.
func ParseCall(line []byte) (c Call, ok bool) {
	if !utf8.Valid(line) || rawjson.TooMany(line) {
		return c, false
	}
	var version, id, method, params []byte
	ok = rawjson.Object(line, func(key, value []byte) bool {
		switch string(key) {
		case `"jsonrpc"`:
			return once(&version, value)
		case `"id"`:
			return once(&id, value)
		case `"method"`:
			return once(&method, value)
		case `"params"`:
			return once(&params, value)
		}
		return false
	})
	if !ok || string(version) != `"2.0"` || len(id) == 0 || len(id) > maxID || !plainID(id) || params != nil && params[0] != '{' {
		return c, false
	}
	name, ok := methodOf(method)
	return Call{ID: string(id), Method: name, Params: params}, ok
}

// methodOf decodes the name of a method, without a copy for the most frequent ones.
func methodOf(raw []byte) (name string, ok bool) {
	for _, often := range [...]string{`"tools/call"`, `"tools/list"`, `"resources/read"`, `"resources/list"`} {
		if string(raw) == often {
			return often[1 : len(often)-1], true
		}
	}
	return rawjson.Text(raw)
}

// once stores a member's value, and reports whether it is the first.
func once(at *[]byte, value []byte) bool {
	first := *at == nil
	*at = value
	return first
}

// Params are the parameters of a call of any method.
type Params struct {
	Meta      Meta
	Cursor    string
	URI       string
	Name      string            // of a tool or prompt
	Arguments []byte            // of a tool, as written; may be nil
	Texts     map[string]string // the arguments of a prompt
	Ref       Ref               // the prompt or template to complete
	Argument  Argument          // the argument to complete
}

// Ref names a prompt by its name or a resource template by its URI.
type Ref struct{ Type, Name, URI string }

// Argument is an argument to complete, with the typed text.
type Argument struct{ Name, Value string }

// Meta is the metadata of a request, from its _meta.
type Meta struct {
	Version    string // the protocol version, empty without one
	ClientInfo []byte // as written, nil if missing
	// Capabilities are the client's, as written, nil if missing.
	Capabilities []byte
	CallID       string // the client's own id of the call, or empty
}

// The keys of _meta that the server reads (2026-07-28).
const (
	keyVersion      = `"io.modelcontextprotocol/protocolVersion"`
	keyClientInfo   = `"io.modelcontextprotocol/clientInfo"`
	keyCapabilities = `"io.modelcontextprotocol/clientCapabilities"`
	keyCallID       = `"callId"` // Codex 0.169.0
)

// ParseParams reads the parameters of a method. It reports false if a member that the method takes
// has another type or is given twice, and for members that ask for more than an answer. It skips
// members that the method does not take.
func ParseParams(method string, raw []byte) (p *Params, ok bool) {
	p = &Params{}
	if raw == nil {
		return p, true
	}
	var meta, cursor, uri, name, arguments, ref, argument []byte
	ok = rawjson.Members(raw, func(key, value []byte) bool {
		switch string(key) {
		case `"_meta"`:
			return once(&meta, value)
		case `"cursor"`:
			return once(&cursor, value)
		case `"uri"`:
			return once(&uri, value)
		case `"name"`:
			return once(&name, value)
		case `"arguments"`:
			return once(&arguments, value)
		case `"ref"`:
			return once(&ref, value)
		case `"argument"`:
			return once(&argument, value)
		case `"context"`, `"inputResponses"`, `"requestState"`:
			return false
		}
		return bytes.IndexByte(key, '\\') < 0 // an escape may spell one of these keys
	})
	ok = ok && p.Meta.parse(meta)
	switch method {
	case "tools/call":
		p.Arguments = arguments
		ok = ok && optional(name, &p.Name)
	case "prompts/get":
		ok = ok && optional(name, &p.Name) && parseTexts(arguments, &p.Texts)
	case "resources/read", "skills/get":
		ok = ok && optional(uri, &p.URI)
	case "resources/directory/read":
		ok = ok && optional(uri, &p.URI) && optional(cursor, &p.Cursor)
	case "completion/complete":
		ok = ok && parseRef(ref, &p.Ref) && parseArgument(argument, &p.Argument)
	default: // a list
		ok = ok && optional(cursor, &p.Cursor)
	}
	return p, ok
}

// optional decodes a string that may be missing or null.
func optional(raw []byte, to *string) (ok bool) {
	if raw == nil || string(raw) == "null" {
		return true
	}
	*to, ok = rawjson.Text(raw)
	return ok
}

func parseTexts(raw []byte, to *map[string]string) bool {
	if raw == nil || string(raw) == "null" {
		return true
	}
	*to = map[string]string{}
	return rawjson.Members(raw, func(key, value []byte) bool {
		k, ok := rawjson.Text(key)
		if _, twice := (*to)[k]; !ok || twice {
			return false
		}
		v, ok := rawjson.Text(value)
		(*to)[k] = v
		return ok
	})
}

func (m *Meta) parse(raw []byte) bool {
	if raw == nil || string(raw) == "null" {
		return true
	}
	var version []byte
	return rawjson.Members(raw, func(key, value []byte) bool {
		switch string(key) {
		case keyVersion:
			return once(&version, value) && value[0] == '"' && optional(value, &m.Version)
		case keyClientInfo:
			return once(&m.ClientInfo, value)
		case keyCapabilities:
			return once(&m.Capabilities, value)
		case keyCallID:
			if value[0] == '"' {
				return m.CallID == "" && optional(value, &m.CallID)
			}
		}
		return bytes.IndexByte(key, '\\') < 0
	})
}

// texts decodes the members of an object that to names; each may be missing or null.
func texts(raw []byte, to map[string]*string) bool {
	seen := map[string]bool{}
	return rawjson.Members(raw, func(key, value []byte) bool {
		at, known := to[string(key)]
		if !known {
			return bytes.IndexByte(key, '\\') < 0
		}
		twice := seen[string(key)]
		seen[string(key)] = true
		return !twice && optional(value, at)
	})
}

// ParseClient reads the name and the version from a client's clientInfo. It reports false if a
// member has another type than in the protocol.
func ParseClient(raw []byte) (name, version string, ok bool) {
	var other string
	icons := false
	ok = texts(raw, map[string]*string{`"name"`: &name, `"version"`: &version, `"title"`: &other, `"description"`: &other, `"websiteUrl"`: &other})
	ok = ok && rawjson.Members(raw, func(key, _ []byte) bool { icons = icons || string(key) == `"icons"`; return true })
	if ok && icons {
		ok = json.Unmarshal(raw, &mcp.Implementation{}) == nil
	}
	return name, version, ok
}

// parseRef decodes into a local variable, since variables that the map points to are allocated on
// the heap.
func parseRef(raw []byte, to *Ref) bool {
	var r Ref
	ok := len(raw) > 0 && texts(raw, map[string]*string{`"type"`: &r.Type, `"name"`: &r.Name, `"uri"`: &r.URI})
	*to = r
	return ok && (r.Type == "ref/prompt" && r.URI == "" || r.Type == "ref/resource" && r.Name == "")
}

func parseArgument(raw []byte, to *Argument) bool {
	var a Argument
	ok := len(raw) > 0 && texts(raw, map[string]*string{`"name"`: &a.Name, `"value"`: &a.Value})
	*to = a
	return ok && a.Name != ""
}

// plainID reports whether an id is written as every encoder writes it, so that it can be echoed
// unchanged. Such an id is a whole number of at most 15 digits, or ASCII without escapes.
func plainID(raw []byte) bool {
	if raw[0] == '"' {
		return !bytes.ContainsFunc(raw[1:len(raw)-1], func(c rune) bool { return c < ' ' || c > '~' || c == '\\' })
	}
	if len(raw) > 15 {
		return false
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	return err == nil && (n != 0 || len(raw) == 1)
}
