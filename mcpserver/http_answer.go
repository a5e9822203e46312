package mcpserver

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// writeChunk is how much is written under one deadline.
const writeChunk = 64 << 10

// answer is the writer of an MCP answer. It gives up on a client that does not
// read, and rewords the SDK's refusals: those in plain text, which clients of the
// protocol cannot read, become JSON-RPC errors, and none repeats what was sent.
type answer struct {
	http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
	sent    sent
	refused int          // the status of a refusal, else 0
	text    bytes.Buffer // and what it said
	begun   bool
}

func newAnswer(w http.ResponseWriter, timeout time.Duration, s sent) *answer {
	return &answer{ResponseWriter: w, control: http.NewResponseController(w), timeout: timeout, sent: s}
}

// Unwrap lets [http.ResponseController] reach the connection.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader holds a refusal back.
func (a *answer) WriteHeader(status int) {
	if a.begun {
		return
	}
	a.begun = true
	if status >= 400 {
		a.refused = status
		return
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write writes in pieces, each with its own deadline.
func (a *answer) Write(data []byte) (n int, err error) {
	if a.refused != 0 {
		if a.text.Len() < maxRefusal {
			a.text.Write(data)
		}
		return len(data), nil
	}
	a.begun = true
	for n < len(data) && err == nil {
		_ = a.control.SetWriteDeadline(time.Now().Add(a.timeout))
		var m int
		m, err = a.ResponseWriter.Write(data[n:min(n+writeChunk, len(data))])
		n += m
	}
	return n, err
}

// FlushError sends what is buffered, within the deadline.
func (a *answer) FlushError() error {
	if a.refused != 0 {
		return nil
	}
	_ = a.control.SetWriteDeadline(time.Now().Add(a.timeout))
	return a.control.Flush()
}

// finish sends a refusal that was held back.
func (a *answer) finish() {
	if a.refused == 0 {
		return
	}
	var rpc struct {
		Error *struct {
			Code int64 `json:"code"`
		} `json:"error"`
	}
	if json.Unmarshal(a.text.Bytes(), &rpc) != nil || rpc.Error == nil {
		status, code, message := reword(a.refused, a.text.String())
		refuseRPC(a.ResponseWriter, status, a.sent.id, code, message)
		return
	}
	switch rpc.Error.Code {
	case mcp.CodeHeaderMismatch:
		refuseRPC(a.ResponseWriter, a.refused, a.sent.id, rpc.Error.Code, "header mismatch: a header is missing or does not say what the body says")
	case jsonrpc.CodeMethodNotFound:
		refuseRPC(a.ResponseWriter, a.refused, a.sent.id, rpc.Error.Code, "method not found")
	default: // ours, of a handler
		a.ResponseWriter.WriteHeader(a.refused)
		_, _ = a.ResponseWriter.Write(a.text.Bytes())
	}
}

// maxRefusal bounds what is held back of a refusal; ours echo at most 256 bytes.
const maxRefusal = 64 << 10

// refusals are the SDK's texts (v1.8.0) by what they contain.
var refusals = []struct {
	text    string
	status  int // 0: as it was
	code    int64
	message string
}{
	{"not handled", http.StatusOK, jsonrpc.CodeMethodNotFound, "method not found"},
	{"malformed payload", 0, jsonrpc.CodeParseError, "the body is not one valid JSON-RPC message"},
	{"Accept must contain", 0, jsonrpc.CodeInvalidRequest, "Accept must contain application/json and text/event-stream (for GET, text/event-stream)"},
	{"Unsupported protocol version", 0, jsonrpc.CodeInvalidRequest, "unsupported protocol version"},
	{"requires an Mcp-Session-Id", 0, jsonrpc.CodeInvalidRequest, "the Mcp-Session-Id header is missing"},
	{"session not found", 0, codeNoSession, "session not found; initialize a new one"},
	{"session user mismatch", 0, codeNoSession, "the session belongs to another token"},
	{"failed to replay", 0, jsonrpc.CodeInvalidRequest, "these events are no longer kept; ask again"},
	{"stream ID conflicts", 0, jsonrpc.CodeInvalidRequest, "the stream is open already"},
	{"missing", 0, jsonrpc.CodeInvalidRequest, "invalid request: something required is missing"},
}

// codeNoSession is what the TypeScript SDK answers too.
const codeNoSession = -32001

func reword(status int, text string) (int, int64, string) {
	for _, r := range refusals {
		if strings.Contains(text, r.text) {
			if r.status != 0 {
				status = r.status
			}
			return status, r.code, r.message
		}
	}
	return status, jsonrpc.CodeInvalidRequest, strings.ToLower(http.StatusText(status))
}

// refuse answers outside of any call.
func refuse(w http.ResponseWriter, status int, message string) {
	refuseRPC(w, status, nil, jsonrpc.CodeInvalidRequest, message)
}

// refuseBusy answers that there is too much to do.
func refuseBusy(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Retry-After", "1")
	refuseRPC(w, status, nil, codeBusy, message)
}

func refuseRPC(w http.ResponseWriter, status int, id json.RawMessage, code int64, message string) {
	if id == nil {
		id = json.RawMessage("null")
	}
	body, _ := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": message},
	})
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Del("Content-Length")
	if status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n'))
}

// firstByte calls a function when an answer begins.
type firstByte struct {
	http.ResponseWriter
	begins func()
}

func (f *firstByte) Unwrap() http.ResponseWriter { return f.ResponseWriter }

func (f *firstByte) WriteHeader(status int) {
	f.begins()
	f.ResponseWriter.WriteHeader(status)
}

func (f *firstByte) Write(data []byte) (int, error) {
	f.begins()
	return f.ResponseWriter.Write(data)
}
