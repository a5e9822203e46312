package httpd

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/internal/base/lazyregexp"
	"github.com/knack-dev/knack/mcpserver/internal/wire"
	"github.com/knack-dev/knack/skillsext"
)

var eventID = lazyregexp.New(`^[0-9A-Za-z]{0,64}_[0-9]{1,18}$`)

// isSessionID reports whether a string can be the id of a session.
func isSessionID(s string) bool {
	return 0 < len(s) && len(s) <= 128 && !strings.ContainsFunc(s, func(c rune) bool { return c <= ' ' || c > '~' })
}

const malformed = "a header of the protocol is malformed or given twice"

// wellFormed reports whether the protocol's headers have a valid form.
func wellFormed(h http.Header) bool {
	one := func(name string, ok func(string) bool) bool {
		v := h[name]
		return len(v) == 0 || len(v) == 1 && ok(v[0])
	}
	return one("Mcp-Protocol-Version", wire.IsVersion) && one("Mcp-Session-Id", isSessionID) && one("Last-Event-Id", eventID().MatchString)
}

// accepts returns which forms of an answer a client accepts.
func accepts(values []string) (json, events bool) {
	for _, value := range values {
		for kind := range strings.SplitSeq(value, ",") {
			kind, _, _ = strings.Cut(kind, ";")
			switch strings.ToLower(strings.TrimSpace(kind)) {
			case "application/json", "application/*":
				json = true
			case "text/event-stream", "text/*":
				events = true
			case "*/*":
				json, events = true, true
			}
		}
	}
	return json, events
}

// Delimiters that a client puts around a Base64 name that a header cannot carry unencoded
// (2026-07-28, Standard Request Headers).
const (
	encodedBegins = "=?base64?"
	encodedEnds   = "?="
)

// decodedName decodes the value of the Mcp-Name header.
func decodedName(value string) (string, *jsonrpc.Error) {
	encoded, ok := strings.CutPrefix(value, encodedBegins)
	if !ok {
		return value, nil
	}
	encoded, ok = strings.CutSuffix(encoded, encodedEnds)
	text, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if !ok || err != nil {
		return "", mismatch("Mcp-Name begins with " + encodedBegins + ", so Base64 and " + encodedEnds + " must follow")
	}
	return string(text), nil
}

func mismatch(why string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: mcp.CodeHeaderMismatch, Message: "header mismatch: " + why}
}

// objection returns the error for a message whose headers are refused, or nil.
func objection(h http.Header, m *wire.Message, p *wire.Params, modern bool) *jsonrpc.Error {
	if !wellFormed(h) {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: malformed}
	}
	said := ""
	if m.Kind == wire.Call {
		said = p.Meta.Version
	}
	if no := agreed(h.Get("Mcp-Protocol-Version"), said); no != nil {
		return no
	}
	json, events := accepts(h["Accept"])
	switch {
	case m.Kind == wire.Call && (!json || !events):
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: refusedAccept}
	case len(h["Last-Event-Id"]) > 0:
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "bad request"}
	case modern:
		return standard(h, m, p)
	}
	return nil
}

const refusedAccept = "Accept must contain application/json and text/event-stream (for GET, text/event-stream)"

// standard checks the headers of a message of 2026-07-28 against its body (Standard Request
// Headers).
func standard(h http.Header, m *wire.Message, p *wire.Params) *jsonrpc.Error {
	switch {
	case m.Kind == wire.Reply:
		return nil
	case m.Kind == wire.Call && p.Meta.Version == "":
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: `missing or invalid _meta field "` + mcp.MetaKeyProtocolVersion + `"`}
	case h.Get("Mcp-Method") != m.Method || m.Method == "":
		return mismatch("Mcp-Method is missing or does not say what the body says")
	}
	said := p.Name
	switch m.Method {
	case "resources/read":
		said = p.URI
	case "tools/call", "prompts/get":
	default:
		return nil
	}
	names := h["Mcp-Name"]
	if len(names) > 1 {
		return mismatch("Mcp-Name is given twice")
	}
	name, no := decodedName(h.Get("Mcp-Name"))
	switch {
	case no != nil:
		return no
	case name == "" || name != said:
		return mismatch("Mcp-Name is missing or does not say what the body says")
	}
	return nil
}

// agreed refuses a request whose header and body name different protocol versions, or whose version
// is not served (2026-07-28, Streamable HTTP, Protocol Version Header). said is the version that
// the body names, or "".
func agreed(header, said string) *jsonrpc.Error {
	switch {
	case said != "" && said != header:
		return mismatch("Mcp-Protocol-Version must say what " + mcp.MetaKeyProtocolVersion + " says in the body")
	case header == "": // the header was introduced with 2025-06-18
		return nil
	case said != "" && header < skillsext.Since:
		// The body has the form of a version without sessions, but names a version with sessions.
		return wire.Unsupported(wire.Sessionless(), header)
	case slices.Contains(wire.Versions(), header):
		return nil
	}
	return wire.Unsupported(wire.Versions(), header)
}
