package wire

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/lazyregexp"
)

// Errors are worded for clients here, for both transports. The SDK's own texts echo whole requests
// and name Go types; some have the code 0. They are recognized by their beginnings, since the rest
// may be the client's words.

// maxMessage bounds the message of an error, in bytes.
const maxMessage = 512

// codeNoSession is the code that the TypeScript SDK uses too.
const codeNoSession = -32001

// refusals are the SDK's error texts (v1.8.0) by their beginnings. status is the HTTP status, or 0
// to keep the SDK's.
var refusals = []struct {
	text    string
	code    int64
	message string
	status  int
}{
	{"method not found", jsonrpc.CodeMethodNotFound, "method not found", 0},
	{"JSON RPC not handled", jsonrpc.CodeMethodNotFound, "method not found", http.StatusOK},
	{`method "`, jsonrpc.CodeInvalidRequest, "the session is not initialized: send initialize first", 0},
	{`duplicate "`, jsonrpc.CodeInvalidRequest, "the session is initialized already", 0},
	{"invalid request: missing required", jsonrpc.CodeInvalidRequest, "invalid request: params are missing", 0},
	{"invalid request: unexpected id", jsonrpc.CodeInvalidRequest, "invalid request: a notification has no id", 0},
	{"invalid request: missing id", jsonrpc.CodeInvalidRequest, "invalid request: the id is missing", 0},
	{"invalid request: request ID", jsonrpc.CodeInvalidRequest, "invalid request: " + InFlight, 0},
	{"duplicate in-flight request", jsonrpc.CodeInvalidRequest, "invalid request: " + InFlight, 0},
	{"context canceled", jsonrpc.CodeInternalError, "the call was cancelled", 0},
	{"context deadline exceeded", jsonrpc.CodeInternalError, "the call took too long", 0},
	{"server is closing", CodeBusy, "the server is ending", 0},
	// Plain-text refusals of the HTTP handler.
	{"malformed payload", jsonrpc.CodeParseError, "the body is not one valid JSON-RPC message", 0},
	{"Accept must contain", jsonrpc.CodeInvalidRequest, "Accept must contain application/json and text/event-stream (for GET, text/event-stream)", 0},
	{"Bad Request: Unsupported protocol version", jsonrpc.CodeInvalidRequest, "unsupported protocol version", 0},
	{"Bad Request: DELETE requires an Mcp-Session-Id", jsonrpc.CodeInvalidRequest, "the Mcp-Session-Id header is missing", 0},
	{"Bad Request: GET requires an Mcp-Session-Id", jsonrpc.CodeInvalidRequest, "the Mcp-Session-Id header is missing", 0},
	{"session not found", codeNoSession, "session not found; initialize a new one", 0},
	{"session user mismatch", codeNoSession, "the session belongs to another token", 0},
	{"failed to replay", jsonrpc.CodeInvalidRequest, "these events are no longer kept; ask again", 0},
	{"stream ID conflicts", jsonrpc.CodeInvalidRequest, "the stream is open already", 0},
}

var (
	// handling matches the SDK's prefix for an unreadable message, if the method is known.
	handling = lazyregexp.New(`^handling '[\w/-]+': `)
	// wrongType matches the end of the SDK's text for a parameter of the wrong type. The client's
	// own value precedes it.
	wrongType = lazyregexp.New(`into Go (?:struct field [\w.]*?(\w+)|value) of type (\S+(?: \{\})?)$`)
	// mismatch matches the beginning of the SDK's text for a header; the values follow its name.
	mismatch = lazyregexp.New(`^(?:header mismatch:|missing required) (Mcp-\w+) header`)
	version  = lazyregexp.New(`^[0-9A-Za-z.-]{1,32}$`)
)

// IsVersion reports whether a text can be a protocol version. The answer echoes an unknown one
// (2026-07-28, -32022).
func IsVersion(s string) bool { return version().MatchString(s) }

// MissingResource begins the error message for an unknown resource.
const MissingResource = "Resource not found: "

// ForClient words an error for a client, with a JSON-RPC code and one sentence.
func ForClient(err error) *jsonrpc.Error {
	var wire *jsonrpc.Error
	text, code := err.Error(), int64(0)
	if errors.As(err, &wire) {
		code = wire.Code
	}
	out := &jsonrpc.Error{Code: code}
	out.Code, out.Message = reword(code, text)
	switch {
	case code == mcp.CodeUnsupportedProtocolVersion:
		out.Data = versions(wire.Data)
	case strings.HasPrefix(out.Message, MissingResource) && len(wire.Data) <= maxMessage:
		out.Data = wire.Data // the URI, which 2026-07-28 requires, cut
	}
	return out
}

// heard marks the error of a call that reached a handler. All others are refusals of the SDK.
type heard struct{ error }

func (h heard) Unwrap() error { return h.error }

// Heard marks the error of a call that reached a handler.
func Heard(err error) error { return heard{err} }

// IsHeard reports whether an error has that mark.
func IsHeard(err error) bool { return errors.As(err, new(heard)) }

// reword returns the code and the text for an error.
func reword(code int64, text string) (int64, string) {
	known := handling().ReplaceAllString(text, "")
	for _, r := range refusals {
		if strings.HasPrefix(known, r.text) {
			return r.code, r.message
		}
	}
	if strings.HasPrefix(strings.TrimPrefix(known, "invalid params: "), "unmarshaling") || strings.HasPrefix(known, "failed to extract name") {
		return jsonrpc.CodeInvalidParams, "invalid params: " + misread(known)
	}
	if code == mcp.CodeHeaderMismatch {
		header := "a header"
		if m := mismatch().FindStringSubmatch(known); m != nil {
			header = m[1]
		}
		return code, "header mismatch: " + header + " is missing or does not say what the body says"
	}
	switch {
	case known != text: // it did not reach a handler
		return jsonrpc.CodeInvalidParams, "invalid params"
	case code == 0: // it is not worded for clients
		return jsonrpc.CodeInternalError, "internal error"
	}
	return code, display.CutBytes(display.OneLine(text), maxMessage)
}

// named are the parameters that an error may name. Other names can be the client's own words.
var named = []string{
	"_meta", "argument", "arguments", "capabilities", "clientInfo", "context", "cursor", "level", "name", "notifications", "protocolVersion",
	"ref", "requestId", "resourceSubscriptions", "type", "uri", "value", "version",
}

// misread names the parameter of the wrong type, in JSON terms.
func misread(text string) string {
	m := wrongType().FindStringSubmatch(text[max(0, len(text)-200):])
	if m == nil || m[1] != "" && !slices.Contains(named, m[1]) {
		return "they are not what the method takes"
	}
	types := [][2]string{
		{"string", "a string"}, {"bool", "true or false"}, {"int", "a number"}, {"uint", "a number"}, {"float", "a number"}, {"[]", "an array"}, {"", "an object"},
	}
	which := slices.IndexFunc(types, func(t [2]string) bool { return strings.HasPrefix(m[2], t[0]) })
	return strings.TrimSpace(m[1] + " must be " + types[which][1])
}

// versions returns the data of a refused protocol version. The specification requires the requested
// version in it; a malformed one is left out.
func versions(data json.RawMessage) json.RawMessage {
	var d struct {
		Supported []string `json:"supported"`
		Requested string   `json:"requested"`
	}
	if json.Unmarshal(data, &d) != nil {
		return nil
	}
	if !IsVersion(d.Requested) {
		d.Requested = ""
	}
	out, _ := json.Marshal(d) // strings always marshal
	return out
}

// RefusalOf words a plain-text refusal of the SDK, and returns its HTTP status.
func RefusalOf(status int, text string) (int, *jsonrpc.Error) {
	for _, r := range refusals {
		if strings.HasPrefix(text, r.text) {
			if r.status != 0 {
				status = r.status
			}
			return status, &jsonrpc.Error{Code: r.code, Message: r.message}
		}
	}
	return status, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: strings.ToLower(http.StatusText(status))}
}

// clientFaults are the beginnings of log lines about clients that the SDK (v1.8.0) writes as errors
// or warnings. The client has broken the protocol, or has left before a notification. Any client
// can cause them, and the log is for the operator.
var clientFaults = []string{
	"calling notifications/", "method invalid during initialization", "method removed in the new protocol",
	"initialized before initialize", "duplicate initialized notification", "duplicate initialize request", "rejecting request with protocol version",
}

// IsClientFault reports whether a line of the SDK's log reports a client's mistake.
func IsClientFault(message string) bool {
	return slices.ContainsFunc(clientFaults, func(fault string) bool { return strings.HasPrefix(message, fault) })
}
