package mcpserver

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/knack-dev/knack/mcpserver/internal/wire"
)

// writeChunk is how much is written under one deadline.
const writeChunk = 64 << 10

// answer is the writer of an MCP answer. It gives up on a client that does not
// read, and rewords the SDK's refusals: those in plain text, which clients of the
// protocol cannot read, become JSON-RPC errors, and none repeats what was sent. The errors
// in answers are worded as over stdio.
type answer struct {
	paced
	sent    sent
	refused int          // the status of a refusal, else 0
	text    bytes.Buffer // and what it said
	begun   bool
}

func newAnswer(w http.ResponseWriter, timeout time.Duration, s sent) *answer {
	return &answer{paced: newPaced(w, timeout), sent: s}
}

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
	a.Header().Del("Content-Length") // an error may become shorter
	if strings.HasPrefix(a.Header().Get("Content-Type"), "text/event-stream") {
		a.Header().Set("X-Accel-Buffering", "no") // a proxy passes each event on (Streamable HTTP, Receiving Messages)
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write holds a refusal back, and words errors.
func (a *answer) Write(data []byte) (n int, err error) {
	if a.refused != 0 {
		if a.text.Len() < maxRefusal {
			a.text.Write(data)
		}
		return len(data), nil
	}
	a.WriteHeader(http.StatusOK)
	if whole := len(data); whole > 0 {
		// A copy: what the SDK writes is also what it keeps for clients that resume.
		if data = worded(data); len(data) != whole { // its length is the caller's
			defer func() {
				if n = min(n, whole); err == nil {
					n = whole
				}
			}()
		}
	}
	return a.paced.Write(data)
}

// FlushError sends what is buffered, within the deadline.
func (a *answer) FlushError() error {
	if a.refused != 0 {
		return nil
	}
	a.WriteHeader(http.StatusOK)
	_ = a.control.SetWriteDeadline(time.Now().Add(a.timeout))
	return a.control.Flush()
}

// finish sends a refusal that was held back.
func (a *answer) finish() {
	if a.refused == 0 {
		return
	}
	var rpc struct {
		Error *jsonrpc.Error `json:"error"`
	}
	if json.Unmarshal(a.text.Bytes(), &rpc) == nil && rpc.Error != nil {
		refuseRPC(a.ResponseWriter, a.refused, a.sent.id, wire.Plain(rpc.Error))
		return
	}
	status, no := wire.PlainText(a.refused, a.text.String())
	if a.sent.id == nil {
		// A notification that is not taken has an error's status, whatever it is
		// (Streamable HTTP, Sending Messages).
		status = max(status, http.StatusBadRequest)
	}
	refuseRPC(a.ResponseWriter, status, a.sent.id, no)
}

// worded is data with the error that it is, if it is one, worded by plain. The SDK
// writes an answer, or the event that carries it, in one piece.
func worded(data []byte) []byte {
	from, to := 0, len(data)
	if data[0] != '{' {
		const mark = "data: "
		i := bytes.Index(data[:min(len(data), 256)], []byte(mark))
		if i < 0 {
			return data
		}
		from = i + len(mark)
		for to > from && data[to-1] == '\n' {
			to--
		}
	}
	// An answer with a result, which may be long, is told by its first members.
	in := json.NewDecoder(bytes.NewReader(data[from:to]))
	for {
		token, err := in.Token()
		if err != nil || token == "result" || token == "method" {
			return data
		}
		if token == "error" {
			break
		}
	}
	var m struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *jsonrpc.Error  `json:"error"`
	}
	if json.Unmarshal(data[from:to], &m) != nil || m.Error == nil {
		return data
	}
	m.Error = wire.Plain(m.Error)
	line, err := json.Marshal(m)
	if err != nil {
		return data
	}
	return slices.Concat(data[:from], line, data[to:])
}

// maxRefusal bounds what is held back of a refusal; ours echo at most 256 bytes.
const maxRefusal = 64 << 10

// refuse answers outside of any call.
func refuse(w http.ResponseWriter, status int, message string) {
	refuseRPC(w, status, nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: message})
}

// refuseBusy answers that there is too much to do.
func refuseBusy(w http.ResponseWriter, status int, id json.RawMessage, message string) {
	w.Header().Set("Retry-After", "1")
	refuseRPC(w, status, id, &jsonrpc.Error{Code: wire.CodeBusy, Message: message})
}

func refuseRPC(w http.ResponseWriter, status int, id json.RawMessage, no *jsonrpc.Error) {
	body := (&wire.Refusal{ID: id, Error: *no}).Encode()
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Del("Content-Length")
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
