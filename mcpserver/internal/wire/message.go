package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/knack-dev/knack/internal/base/rawjson"
)

// CodeBusy is the JSON-RPC code for a request refused to bound work. It is in the range that
// JSON-RPC reserves for servers.
const CodeBusy = -32000

// Refusal is the error that answers a refused message.
type Refusal struct {
	ID    json.RawMessage // as the client wrote it, nil if unknown
	Key   string          // see [Key]; empty if no call can have that id
	Error jsonrpc.Error
}

func parseError(message string) *Refusal {
	return &Refusal{Error: jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "parse error: " + message}}
}

// Invalid refuses a message that is no valid request.
func Invalid(message string) *Refusal {
	return &Refusal{Error: jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "invalid request: " + message}}
}

// InFlight is the reason for refusing a call with the id of another one.
const InFlight = "the id belongs to a call that is still in flight"

// Encode encodes the refusal. The SDK's encoder would leave out a null id, which JSON-RPC requires
// if the id is unknown.
func (r *Refusal) Encode() []byte {
	id := r.ID
	if id == nil {
		id = json.RawMessage("null")
	}
	b := append(append([]byte(`{"jsonrpc":"2.0","id":`), id...), `,"error":`...)
	return append(appendError(b, &r.Error), '}')
}

// Parse reads a line as a JSON-RPC message. Both results are nil if the line needs no action: it is
// blank, or a result or error without an id, which belongs to no call and must not itself be
// answered.
//
// It does not use the SDK's decoder, which ignores bytes after a value, turns the id 1.5 into 1,
// and turns a call with a null id into a notification. The message holds no part of line.
func Parse(line []byte) (jsonrpc.Message, *Refusal) {
	line = bytes.Trim(line, " \t\r\n")
	if len(line) == 0 {
		return nil, nil
	}
	if !utf8.Valid(line) {
		return nil, parseError("the message is not UTF-8")
	}
	if rawjson.TooMany(line) && json.Valid(line) {
		return nil, tooManyValues(line)
	}
	// A map, because struct fields match keys in any case.
	var fields map[string]json.RawMessage
	err := json.Unmarshal(line, &fields)
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		return nil, parseError(syntax.Error())
	}
	switch {
	case line[0] == '[':
		return nil, Invalid("batches are not supported; send one message at a time")
	case err != nil || fields == nil:
		return nil, Invalid("a message is an object")
	}
	return parseFields(fields)
}

// tooManyValues refuses a line, and decodes only its id.
func tooManyValues(line []byte) *Refusal {
	no := Invalid(fmt.Sprintf("the message has more than %d JSON values", rawjson.MaxValues))
	rawjson.Members(line, func(key, value []byte) bool {
		if string(key) == `"id"` {
			no.ID = bytes.Clone(echoedID(value))
			id, _ := parseID(value)
			no.Key = Key(id)
		}
		return true
	})
	return no
}

// parseFields makes a message from the members of its object.
func parseFields(fields map[string]json.RawMessage) (jsonrpc.Message, *Refusal) {
	rawID, hasID := fields["id"]
	id, idErr := parseID(rawID)
	refuse := func(message string) (jsonrpc.Message, *Refusal) {
		no := Invalid(message)
		no.ID, no.Key = echoedID(rawID), Key(id)
		return nil, no
	}

	var version string
	if json.Unmarshal(fields["jsonrpc"], &version) != nil || version != "2.0" {
		return refuse(`"jsonrpc" must be "2.0"`)
	}
	method, isRequest := fields["method"]
	result, hasResult := fields["result"]
	failure, hasError := fields["error"]
	hasError = hasError && string(failure) != "null"
	switch {
	case isRequest && (hasResult || hasError):
		return refuse(`a message has a "method" or a "result" or an "error"`)
	case !isRequest && !hasResult && !hasError:
		return refuse(`neither "method" nor "result" nor "error"`)
	case !isRequest && (!hasID || string(rawID) == "null"):
		return nil, nil
	case hasID && idErr != nil:
		return refuse(idErr.Error())
	case rawjson.Deeper(fields["params"], maxLevels):
		return refuse(fmt.Sprintf("its params nest deeper than %d levels", maxLevels))
	case isRequest:
		var name string
		if method[0] != '"' || json.Unmarshal(method, &name) != nil {
			return refuse(`"method" must be a string`)
		}
		return &jsonrpc.Request{ID: id, Method: name, Params: fields["params"]}, nil
	case hasError:
		return &jsonrpc.Response{ID: id, Error: parseFailure(failure)}, nil
	}
	return &jsonrpc.Response{ID: id, Result: result}, nil
}

// parseFailure reads the error in an answer. A malformed one still yields an error, because a call
// of the server waits for it.
func parseFailure(raw json.RawMessage) error {
	var failure jsonrpc.Error
	if json.Unmarshal(raw, &failure) != nil {
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the client answered with a malformed error"}
	}
	return &failure
}

// maxLevels bounds the nesting of params. The SDK (v1.8.0) decodes 1,000 levels of a message.
const maxLevels = 900

// maxID bounds an id in bytes, as written: several copies are kept until it is answered.
const maxID = 4096

// errID reports an id that a call cannot have. The SDK cannot echo fractions unchanged.
var errID = errors.New(`"id" must be a string of at most 4,096 bytes or a whole number within ±(2^53-1)`)

// errSurrogate refuses an id that decoders change to U+FFFD, so that the answer would have another
// id.
var errSurrogate = errors.New(`"id" has half of a surrogate pair, for which decoders put another character`)

// parseID reads the id of a call.
func parseID(raw json.RawMessage) (jsonrpc.ID, error) {
	if len(raw) == 0 || len(raw) > maxID {
		return jsonrpc.ID{}, errID
	}
	if raw[0] == '"' {
		s, ok := rawjson.Text(raw)
		if !ok {
			return jsonrpc.ID{}, errSurrogate
		}
		return jsonrpc.MakeID(s)
	}
	n, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || n != math.Trunc(n) || math.Abs(n) > 1<<53-1 {
		return jsonrpc.ID{}, errID
	}
	return jsonrpc.MakeID(n)
}

// echoedID returns the id for the answer: a string or number as written, else nil.
func echoedID(raw json.RawMessage) json.RawMessage {
	if len(raw) > 0 && len(raw) <= maxID && (raw[0] == '"' || raw[0] == '-' || '0' <= raw[0] && raw[0] <= '9') {
		return raw
	}
	return nil
}

// Key returns a unique key for an id: a quote and the text for a string, the digits for a number.
// It is empty for the zero ID.
func Key(id jsonrpc.ID) string {
	switch v := id.Raw().(type) {
	case string:
		return `"` + v
	case int64:
		return strconv.FormatInt(v, 10)
	}
	return ""
}

// Key is [Key] of the call's id.
func (c *Call) Key() string { return strings.TrimSuffix(c.ID, `"`) }

// EncodeID writes an id as the SDK does.
func EncodeID(id jsonrpc.ID) json.RawMessage {
	raw, _ := json.Marshal(id.Raw()) // strings and numbers always marshal
	return raw
}

// Cancelled returns the key of the call that a notification cancels, or "" if it cancels none.
func Cancelled(req *jsonrpc.Request) string {
	if req.Method != "notifications/cancelled" || req.IsCall() {
		return ""
	}
	var params map[string]json.RawMessage
	if json.Unmarshal(req.Params, &params) != nil {
		return ""
	}
	id, _ := parseID(params["requestId"]) // a malformed id has no key
	return Key(id)
}
