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

// wellFormed refuses headers that the SDK would repeat in its answer.
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

// agrees reports whether a call's headers say what its body says (2026-07-28, Standard
// Request Headers).
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

// What a client puts around a name that no header can carry as it is, in Base64
// (2026-07-28, Standard Request Headers).
const (
	encodedBegins = "=?base64?"
	encodedEnds   = "?="
)

// decodedName is what the header Mcp-Name says. The SDK would compare it with the body
// undecoded.
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

// objection is what keeps a message from the SDK because of its headers, nil if nothing
// does. It decodes Mcp-Name.
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

// Versions are the protocol versions that are served, newest first: all that the SDK
// supports but 2025-03-26, whose servers must take batches.
func Versions() []string {
	return slices.DeleteFunc(mcp.SupportedProtocolVersions(), func(v string) bool { return v == "2025-03-26" })
}

// agreed refuses a request whose header and body name different protocol versions, or one
// that is not served. The SDK's handler for sessions would answer the first as the second,
// with a list of versions that lacks the one which is meant (2026-07-28, Streamable HTTP,
// Protocol Version Header).
func agreed(header string, s sent) *jsonrpc.Error {
	versions := Versions()
	switch {
	case s.version != "" && s.version != header:
		return &jsonrpc.Error{Code: mcp.CodeHeaderMismatch, Message: "header mismatch: Mcp-Protocol-Version must say what " + mcp.MetaKeyProtocolVersion + " says in the body"}
	case header == "": // the header came with 2025-06-18
		return nil
	case s.version != "" && header < skillsext.Since:
		// A version that has sessions, in the form of those that have none.
		versions = slices.DeleteFunc(versions, func(v string) bool { return v < skillsext.Since })
	case slices.Contains(versions, header):
		return nil
	}
	data, _ := json.Marshal(mcp.UnsupportedProtocolVersionData{Supported: versions, Requested: header}) // strings always marshal
	return &jsonrpc.Error{Code: mcp.CodeUnsupportedProtocolVersion, Data: data,
		Message: fmt.Sprintf("unsupported protocol version (supported here: %s)", strings.Join(versions, ", "))}
}
