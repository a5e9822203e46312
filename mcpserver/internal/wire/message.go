package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/rawjson"
)

// CodeBusy is the JSON-RPC code for a request refused to bound work. It is in the range that
// JSON-RPC reserves for servers.
const CodeBusy = -32000

// Kind is the kind of a message.
type Kind int

// Kinds of messages.
const (
	Nothing      Kind = iota // a blank line, or a result or error without an id: it needs no action
	Call                     // a request that expects an answer
	Notification             // a request that expects none
	Reply                    // an answer to a call of the server
)

// Message is a JSON-RPC message of a client. Params and Result are parts of the line.
type Message struct {
	Kind   Kind
	ID     string // as the answer echoes it; of a call or a reply
	Key    string // the same for each spelling of the id
	Method string
	Params []byte // any JSON value; nil if missing
	Result []byte // of a reply without an error
	Err    error  // of a reply
}

// Refusal is the error that answers a refused message.
type Refusal struct {
	ID    json.RawMessage // as the client wrote it, nil if unknown
	Key   string          // see [Message]; empty if no call can have that id
	Error jsonrpc.Error
}

func parseError(message string) *Refusal {
	return &Refusal{Error: jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "parse error: " + message}}
}

// Invalid refuses a message that is not a valid request.
func Invalid(message string) *Refusal {
	return &Refusal{Error: *InvalidRequest(message)}
}

// InvalidRequest returns the error for a message that is not a valid request.
func InvalidRequest(message string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "invalid request: " + message}
}

// InFlight is the reason for refusing a call with the id of another one.
const InFlight = "the id belongs to a call that is still in flight"

// Encode encodes the refusal. JSON-RPC requires a null id if the id is unknown.
func (r *Refusal) Encode() []byte {
	id := r.ID
	if id == nil {
		id = json.RawMessage("null")
	}
	b := append(append([]byte(`{"jsonrpc":"2.0","id":`), id...), `,"error":`...)
	return append(appendError(b, &r.Error), '}')
}

// Parse reads a line as a JSON-RPC message. Of repeated members the last one counts.
func Parse(line []byte) (m Message, no *Refusal) {
	line = bytes.Trim(line, " \t\r\n")
	switch {
	case len(line) == 0:
		return m, nil
	case !utf8.Valid(line):
		return m, parseError("the message is not UTF-8")
	case rawjson.TooMany(line) && json.Valid(line):
		return m, tooManyValues(line)
	}
	var f fields
	if !rawjson.Object(line, f.set) {
		return m, unreadable(line)
	}
	return f.message()
}

// fields are the members of a message, as written; nil if missing.
type fields struct {
	version, id, method, params, result, failure []byte
	deep                                         bool // it nests too deep
}

// set stores a member. It always reports true.
func (f *fields) set(key, value []byte) bool {
	switch string(nameOf(key)) {
	case "jsonrpc":
		f.version = value
	case "id":
		f.id = value
	case "method":
		f.method = value
	case "params":
		f.params = value
	case "result":
		f.result = value
	case "error":
		f.failure = value
	}
	return true
}

// nameOf returns the decoded key of a member, without a copy if nothing in it is escaped.
func nameOf(key []byte) []byte {
	if bytes.IndexByte(key, '\\') < 0 {
		return key[1 : len(key)-1]
	}
	var name string
	_ = json.Unmarshal(key, &name) // it is a valid string
	return []byte(name)
}

// unreadable refuses a line that is not a message, or that nests too deep.
func unreadable(line []byte) *Refusal {
	// A map, because struct fields match keys in any case.
	var members map[string]json.RawMessage
	err := json.Unmarshal(line, &members)
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		return parseError(syntax.Error())
	}
	switch {
	case line[0] == '[':
		return Invalid("batches are not supported; send one message at a time")
	case err != nil || members == nil:
		return Invalid("a message is an object")
	}
	_, no := (&fields{version: members["jsonrpc"], id: members["id"], method: members["method"], deep: true}).message()
	return no
}

// tooManyValues refuses a line with too many JSON values. It decodes only the id.
func tooManyValues(line []byte) *Refusal {
	no := Invalid(fmt.Sprintf("the message has more than %d JSON values", rawjson.MaxValues))
	rawjson.Members(line, func(key, value []byte) bool {
		if string(key) == `"id"` {
			no.ID = bytes.Clone(echoedID(value))
			_, no.Key, _ = parseID(value)
		}
		return true
	})
	return no
}

// message makes a message from its members.
func (f *fields) message() (m Message, no *Refusal) {
	id, key, idErr := parseID(f.id)
	refuse := func(message string) (Message, *Refusal) {
		no := Invalid(message)
		no.ID, no.Key = bytes.Clone(echoedID(f.id)), key
		return m, no
	}
	hasError := f.failure != nil && string(f.failure) != "null"
	if string(f.version) != `"2.0"` {
		if version, ok := text(f.version); !ok || version != "2.0" {
			return refuse(`"jsonrpc" must be "2.0"`)
		}
	}
	switch {
	case f.method != nil && (f.result != nil || hasError):
		return refuse(`a message has a "method" or a "result" or an "error"`)
	case f.method == nil && f.result == nil && !hasError && !f.deep:
		return refuse(`neither "method" nor "result" nor "error"`)
	case f.method == nil && !f.deep && (f.id == nil || string(f.id) == "null"):
		return m, nil
	case f.id != nil && idErr != nil:
		return refuse(idErr.Error())
	case f.deep:
		return refuse(fmt.Sprintf("its params nest deeper than %d levels", rawjson.MaxDepth))
	}
	m = Message{ID: id, Key: key, Params: f.params, Result: f.result}
	switch {
	case f.method == nil && hasError:
		m.Kind, m.Err = Reply, parseFailure(f.failure)
		return m, nil
	case f.method == nil:
		m.Kind = Reply
		return m, nil
	case f.id == nil:
		m.Kind = Notification
	default:
		m.Kind = Call
	}
	var ok bool
	if m.Method, ok = methodOf(f.method); !ok {
		m = Message{}
		return refuse(`"method" must be a string`)
	}
	return m, nil
}

// methodOf decodes the name of a method, without a copy for the most frequent ones.
func methodOf(raw []byte) (name string, ok bool) {
	for _, often := range [...]string{`"tools/call"`, `"tools/list"`, `"resources/read"`, `"resources/list"`} {
		if string(raw) == often {
			return often[1 : len(often)-1], true
		}
	}
	return text(raw)
}

// parseFailure reads the error in a reply. A malformed one still yields an error, because a call
// of the server waits for it.
func parseFailure(raw []byte) error {
	var failure jsonrpc.Error
	if json.Unmarshal(raw, &failure) != nil {
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the client answered with a malformed error"}
	}
	return &failure
}

// maxWhole is the largest whole number that every decoder reads exactly.
const maxWhole = 1<<53 - 1

// maxID bounds an id in bytes, as written: several copies are kept until the call is answered.
const maxID = 4096

// errID reports an id that a call cannot have. An id must not be a fraction, since decoders differ
// in how they read one.
var errID = errors.New(`"id" must be a string of at most 4,096 bytes or a whole number within ±(2^53-1)`)

// errSurrogate refuses an id that decoders change to U+FFFD, so that the answer would have another
// id.
var errSurrogate = errors.New(`"id" has half of a surrogate pair, for which decoders put another character`)

// parseID reads the id of a call: its text in the answer, and its key. The key is a quote and the
// text for a string, the digits for a number.
func parseID(raw []byte) (id, key string, err error) {
	switch {
	case len(raw) == 0 || len(raw) > maxID:
		return "", "", errID
	case raw[0] == '"' && bytes.IndexByte(raw, '\\') < 0:
		id = string(raw)
		return id, id[:len(id)-1], nil
	case raw[0] == '"':
		s, ok := rawjson.Text(raw)
		if !ok {
			return "", "", errSurrogate
		}
		return string(display.AppendJSONString(nil, s)), `"` + s, nil
	}
	id = string(raw)
	if n, err := strconv.ParseInt(id, 10, 64); err == nil && (n != 0 || id == "0") && -maxWhole <= n && n <= maxWhole {
		return id, id, nil
	}
	n, err := strconv.ParseFloat(id, 64)
	if err != nil || n != math.Trunc(n) || math.Abs(n) > maxWhole {
		return "", "", errID
	}
	id = strconv.FormatInt(int64(n), 10)
	return id, id, nil
}

// echoedID returns the id for a refusal: a string or number as written, else nil.
func echoedID(raw []byte) []byte {
	if len(raw) > 0 && len(raw) <= maxID && (raw[0] == '"' || raw[0] == '-' || '0' <= raw[0] && raw[0] <= '9') {
		return raw
	}
	return nil
}

// Cancelled returns the key of the call that a notification cancels, or "" if it cancels none.
func (m *Message) Cancelled() (key string) {
	if m.Kind != Notification || m.Method != "notifications/cancelled" {
		return ""
	}
	eachMember(m.Params, func(name, value []byte) {
		if string(name) == "requestId" {
			_, key, _ = parseID(value) // a malformed id has no key
		}
	})
	return key
}
