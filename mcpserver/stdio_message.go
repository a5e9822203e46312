package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// refusal is the error that answers a line which is not passed on.
type refusal struct {
	id      json.RawMessage // as the client wrote it; nil when it is unknown
	key     jsonrpc.ID      // the same, when calls can have it
	code    int64
	message string
}

func parseError(message string) *refusal {
	return &refusal{code: jsonrpc.CodeParseError, message: "parse error: " + message}
}

func invalidRequest(message string) *refusal {
	return &refusal{code: jsonrpc.CodeInvalidRequest, message: "invalid request: " + message}
}

// encode writes the refusal out. The SDK's encoder would leave out a null id,
// which JSON-RPC demands when the id is unknown.
func (r *refusal) encode() []byte {
	type body struct {
		Code    int64  `json:"code"`
		Message string `json:"message"`
	}
	line, err := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   body            `json:"error"`
	}{"2.0", r.id, body{r.code, r.message}})
	if err != nil {
		panic(err) // id was cut from valid JSON
	}
	return line
}

// parseLine reads a line as a JSON-RPC message. Both results are nil when there
// is nothing to do: a blank line, or an error answer without an id, which
// belongs to no call and must not itself be answered.
//
// It does not use the SDK's decoder, which ignores what follows a value, makes
// 1 of the id 1.5 and a notification of a call with a null id. The message
// holds no part of line.
func parseLine(line []byte) (jsonrpc.Message, *refusal) {
	line = bytes.Trim(line, " \t\r\n")
	if len(line) == 0 {
		return nil, nil
	}
	if !utf8.Valid(line) {
		return nil, parseError("the line is not UTF-8")
	}
	// A map, because the fields of a struct would match in any case.
	var fields map[string]json.RawMessage
	err := json.Unmarshal(line, &fields)
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		return nil, parseError(syntax.Error())
	}
	switch {
	case line[0] == '[':
		return nil, invalidRequest("batches are not supported; send one message a line")
	case err != nil || fields == nil:
		return nil, invalidRequest("a message is an object")
	}
	return parseFields(fields)
}

// parseFields makes a message of the object on a line.
func parseFields(fields map[string]json.RawMessage) (jsonrpc.Message, *refusal) {
	rawID, hasID := fields["id"]
	id, idErr := parseID(rawID)
	refuse := func(message string) (jsonrpc.Message, *refusal) {
		no := invalidRequest(message)
		no.id, no.key = echoedID(rawID), id
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

// parseFailure reads the error of an answer. One that cannot be read is an
// error all the same: somebody is waiting for it.
func parseFailure(raw json.RawMessage) error {
	var failure jsonrpc.Error
	if json.Unmarshal(raw, &failure) != nil {
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the client answered with a malformed error"}
	}
	return &failure
}

// errID says which ids a call can have. JSON-RPC allows fractions, but
// discourages them, and the SDK cannot give them back as they came.
var errID = errors.New(`"id" must be a string or a whole number within ±(2^53-1)`)

// errSurrogate refuses an id that would come back as another one: U+FFFD stands for
// half a pair in whatever is decoded.
var errSurrogate = errors.New(`"id" has half of a surrogate pair, which no answer can repeat`)

// parseID reads the id of a call.
func parseID(raw json.RawMessage) (jsonrpc.ID, error) {
	if len(raw) == 0 {
		return jsonrpc.ID{}, errID
	}
	if raw[0] == '"' {
		if loneSurrogate(raw) {
			return jsonrpc.ID{}, errSurrogate
		}
		var s string
		if json.Unmarshal(raw, &s) != nil {
			return jsonrpc.ID{}, errID
		}
		return jsonrpc.MakeID(s)
	}
	n, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || n != math.Trunc(n) || math.Abs(n) > 1<<53-1 {
		return jsonrpc.ID{}, errID
	}
	return jsonrpc.MakeID(n)
}

// loneSurrogate reports whether a JSON string has an escape for half a surrogate
// pair: \ud800 to \udbff without one of \udc00 to \udfff behind it, or the latter
// without the former.
func loneSurrogate(raw []byte) bool {
	high := false // the escape before was a first half
	for i := 0; i < len(raw); {
		unit := uint64(0)
		next := i + 1
		if raw[i] == '\\' {
			next = i + 2
			if next <= len(raw) && raw[i+1] == 'u' && i+6 <= len(raw) {
				unit, _ = strconv.ParseUint(string(raw[i+2:i+6]), 16, 16)
				next = i + 6
			}
		}
		low := unit >= 0xdc00 && unit <= 0xdfff
		if low != high {
			return true
		}
		high = unit >= 0xd800 && unit <= 0xdbff
		i = next
	}
	return high
}

// echoedID is the id to answer with: any string or number comes back as it
// was written, anything else is unknown.
func echoedID(raw json.RawMessage) json.RawMessage {
	if len(raw) > 0 && (raw[0] == '"' || raw[0] == '-' || '0' <= raw[0] && raw[0] <= '9') {
		return raw
	}
	return nil
}

// encodeID writes an id as the SDK does.
func encodeID(id jsonrpc.ID) json.RawMessage {
	raw, err := json.Marshal(id.Raw())
	if err != nil {
		panic(err) // it is a string or a number
	}
	return raw
}
