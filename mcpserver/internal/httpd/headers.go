package httpd

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/internal/base/lazyregexp"
	"github.com/knack-dev/knack/mcpserver/internal/wire"
	"github.com/knack-dev/knack/skillsext"
)

var (
	sessionID = lazyregexp.New(`^[!-~]{1,128}$`)
	eventID   = lazyregexp.New(`^[0-9A-Za-z]{0,64}_[0-9]{1,18}$`)
)

const malformed = "a header of the protocol is malformed or given twice"

// wellFormed reports whether the headers that the SDK would echo in its answer have a valid form.
func wellFormed(h http.Header) bool {
	for name, ok := range map[string]func(string) bool{
		"Mcp-Protocol-Version": wire.IsVersion,
		"Mcp-Session-Id":       sessionID().MatchString,
		"Last-Event-Id":        eventID().MatchString,
	} {
		if v := h[name]; len(v) > 1 || len(v) == 1 && !ok(v[0]) {
			return false
		}
	}
	return true
}

// accepted reports whether a client accepts JSON and events, as the protocol requires.
func accepted(values []string) bool {
	if len(values) != 1 {
		return false
	}
	json, events := false, false
	for kind := range strings.SplitSeq(values[0], ",") {
		kind, _, _ = strings.Cut(kind, ";")
		switch strings.TrimSpace(kind) {
		case "application/json":
			json = true
		case "text/event-stream":
			events = true
		case "*/*":
			json, events = true, true
		}
	}
	return json && events
}

// agrees reports whether a call's headers match its body (2026-07-28, Standard Request Headers).
func agrees(h http.Header, method string, p *wire.Params) bool {
	is := func(header, value string) bool {
		v := h[header]
		return len(v) == 1 && v[0] == value
	}
	if !is("Mcp-Protocol-Version", p.Meta.Version) || !is("Mcp-Method", method) || len(h["Mcp-Session-Id"]) > 0 {
		return false
	}
	name := p.Name
	switch method {
	case "resources/read":
		name = p.URI
	case "tools/call", "prompts/get":
	default:
		return true
	}
	v := h["Mcp-Name"]
	if len(v) != 1 || name == "" {
		return false
	}
	said, no := decodedName(v[0])
	return no == nil && said == name
}

// Delimiters that a client puts around a Base64 name that a header cannot carry unencoded
// (2026-07-28, Standard Request Headers).
const (
	encodedBegins = "=?base64?"
	encodedEnds   = "?="
)

// decodedName decodes the value of the Mcp-Name header. The SDK would compare the encoded value
// with the body.
func decodedName(value string) (string, *jsonrpc.Error) {
	encoded, ok := strings.CutPrefix(value, encodedBegins)
	if !ok {
		return value, nil
	}
	encoded, ok = strings.CutSuffix(encoded, encodedEnds)
	text, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if !ok || err != nil {
		return "", &jsonrpc.Error{Code: mcp.CodeHeaderMismatch, Message: "header mismatch: Mcp-Name begins with " + encodedBegins + ", so Base64 and " + encodedEnds + " must follow"}
	}
	return string(text), nil
}

// objection returns the error for a message whose headers keep it from the SDK, or nil. It decodes
// Mcp-Name.
func objection(header http.Header, s sent, modern bool) *jsonrpc.Error {
	if !wellFormed(header) {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: malformed}
	}
	if no := agreed(header.Get("Mcp-Protocol-Version"), s); no != nil || !modern {
		return no
	}
	names := header["Mcp-Name"]
	switch len(names) {
	case 0:
		return nil
	case 1:
		name, no := decodedName(names[0])
		header.Set("Mcp-Name", name)
		return no
	}
	return &jsonrpc.Error{Code: mcp.CodeHeaderMismatch, Message: "header mismatch: Mcp-Name is given twice"}
}

// Versions returns the protocol versions served, newest first: all that the SDK supports except
// 2025-03-26, which would require batches.
func Versions() []string {
	return slices.DeleteFunc(mcp.SupportedProtocolVersions(), func(v string) bool { return v == "2025-03-26" })
}

// agreed refuses a request whose header and body name different protocol versions, or whose version
// is not served. For the first, the SDK's session handler would report an unsupported version, with
// a list that lacks the intended one (2026-07-28, Streamable HTTP, Protocol Version Header).
func agreed(header string, s sent) *jsonrpc.Error {
	versions := Versions()
	switch {
	case s.version != "" && s.version != header:
		return &jsonrpc.Error{Code: mcp.CodeHeaderMismatch, Message: "header mismatch: Mcp-Protocol-Version must say what " + mcp.MetaKeyProtocolVersion + " says in the body"}
	case header == "": // the header was introduced with 2025-06-18
		return nil
	case s.version != "" && header < skillsext.Since:
		// A version with sessions, in the form of the versions without.
		versions = slices.DeleteFunc(versions, func(v string) bool { return v < skillsext.Since })
	case slices.Contains(versions, header):
		return nil
	}
	data, _ := json.Marshal(mcp.UnsupportedProtocolVersionData{Supported: versions, Requested: header}) // strings always marshal
	return &jsonrpc.Error{Code: mcp.CodeUnsupportedProtocolVersion, Data: data,
		Message: fmt.Sprintf("unsupported protocol version (supported here: %s)", strings.Join(versions, ", "))}
}
