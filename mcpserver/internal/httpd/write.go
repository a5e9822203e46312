package httpd

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/knack-dev/knack/internal/server/httpguard"
	"github.com/knack-dev/knack/mcpserver/internal/wire"
)

// answer is the writer of an answer of the SDK's. It rewords the SDK's refusals: those in
// plain text, which clients of the protocol cannot read, become JSON-RPC errors, and none
// repeats what was sent. The errors in answers are worded as over stdio.
type answer struct {
	httpguard.PacedWriter
	sent        sent
	beforeWrite func()       // if set, everything is held back until finish, which calls it first
	status      int          // what was held back; 0 if nothing was
	refused     int          // the status of a refusal, which is held back too, else 0
	text        bytes.Buffer // and what it said
	begun       bool
}

func newAnswer(w http.ResponseWriter, timeout time.Duration, s sent) *answer {
	return &answer{PacedWriter: httpguard.NewPacedWriter(w, timeout), sent: s}
}

// WriteHeader holds a refusal back.
func (a *answer) WriteHeader(status int) {
	if a.begun {
		return
	}
	a.begun = true
	switch {
	case status >= 400:
		a.refused = status
	case a.beforeWrite != nil:
		a.status = status
	default:
		a.head(status)
	}
}

func (a *answer) head(status int) {
	header := a.Header()
	header.Del("Content-Length") // an error may become shorter
	if strings.HasPrefix(header.Get("Content-Type"), "text/event-stream") {
		header.Set("X-Accel-Buffering", "no") // a proxy passes each event on (Streamable HTTP, Receiving Messages)
	}
	if a.beforeWrite == nil {
		header.Del("Mcp-Session-Id") // of a session that refuses to begin again
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write holds a refusal back, and words errors.
func (a *answer) Write(data []byte) (n int, err error) {
	a.WriteHeader(http.StatusOK)
	if a.refused != 0 && a.text.Len() >= maxRefusal {
		return len(data), nil
	}
	if a.refused != 0 || a.beforeWrite != nil {
		return a.text.Write(data)
	}
	// A copy, if anything is changed: what the SDK writes is also what it keeps for clients
	// that resume. The length that it expects is that of its own text.
	if said := worded(data); len(said) != len(data) {
		_, err = a.PacedWriter.Write(said)
		return len(data), err
	}
	return a.PacedWriter.Write(data)
}

// FlushError sends what is buffered, within the deadline.
func (a *answer) FlushError() error {
	a.WriteHeader(http.StatusOK)
	if a.refused != 0 || a.beforeWrite != nil {
		return nil
	}
	return a.PacedWriter.FlushError()
}

// isError reports whether what was held back is an error.
func (a *answer) isError() bool {
	_, _, no := errorIn(a.text.Bytes())
	return no != nil || a.refused != 0
}

// finish sends what was held back.
func (a *answer) finish() {
	if a.beforeWrite != nil {
		a.beforeWrite()
		if a.refused == 0 && a.begun {
			a.head(a.status)
			_, _ = a.PacedWriter.Write(worded(a.text.Bytes()))
			return
		}
	}
	if a.refused == 0 {
		return
	}
	a.Header().Del("Mcp-Session-Id")
	if _, _, no := errorIn(a.text.Bytes()); no != nil {
		writeError(a.ResponseWriter, a.refused, a.sent.id, wire.ForClient(no.Error))
		return
	}
	status, no := wire.RefusalOf(a.refused, a.text.String())
	if a.sent.id == nil {
		// A notification that is not taken has an error's status, whatever it is
		// (Streamable HTTP, Sending Messages).
		status = max(status, http.StatusBadRequest)
	}
	writeError(a.ResponseWriter, status, a.sent.id, no)
}

// failure is a JSON-RPC error as the SDK writes it.
type failure struct {
	ID    json.RawMessage `json:"id"`
	Error *jsonrpc.Error  `json:"error"`
}

// errorIn finds the error that data is, if it is one, and where in data. The SDK writes an
// answer, or the event that carries it, in one piece.
func errorIn(data []byte) (from, to int, no *failure) {
	to = len(data)
	if to == 0 {
		return 0, 0, nil
	}
	if data[0] != '{' {
		const mark = "data: "
		i := bytes.Index(data[:min(to, 256)], []byte(mark))
		if i < 0 {
			return 0, 0, nil
		}
		from = i + len(mark)
		for to > from && data[to-1] == '\n' {
			to--
		}
	}
	// An answer with a result, which may be long, is known by its first members.
	in := json.NewDecoder(bytes.NewReader(data[from:to]))
	if open, err := in.Token(); err != nil || open != json.Delim('{') {
		return 0, 0, nil
	}
	for key := any(nil); key != "error"; {
		var value json.RawMessage
		var err error
		if key, err = in.Token(); err != nil || key == "result" || key == "method" || key != "error" && in.Decode(&value) != nil {
			return 0, 0, nil
		}
	}
	var m failure
	if json.Unmarshal(data[from:to], &m) != nil || m.Error == nil {
		return 0, 0, nil
	}
	return from, to, &m
}

// worded is data with the error in it, if it has one, worded by [wire.ForClient].
func worded(data []byte) []byte {
	from, to, no := errorIn(data)
	if no == nil {
		return data
	}
	line := (&wire.Refusal{ID: no.ID, Error: *wire.ForClient(no.Error)}).Encode()
	return slices.Concat(data[:from], line, data[to:])
}

// maxRefusal bounds what is held back of a refusal; ours echo at most 256 bytes.
const maxRefusal = 64 << 10

// invalid answers a request that belongs to no call.
func invalid(w http.ResponseWriter, status int, message string) {
	refuse(w, status, nil, jsonrpc.CodeInvalidRequest, message)
}

// refuseBusy answers that there is too much to do.
func refuseBusy(w http.ResponseWriter, status int, id json.RawMessage, message string) {
	w.Header().Set("Retry-After", "1")
	refuse(w, status, id, wire.CodeBusy, message)
}

func refuse(w http.ResponseWriter, status int, id json.RawMessage, code int64, message string) {
	writeError(w, status, id, &jsonrpc.Error{Code: code, Message: message})
}

func writeError(w http.ResponseWriter, status int, id json.RawMessage, no *jsonrpc.Error) {
	body := (&wire.Refusal{ID: id, Error: *no}).Encode()
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Del("Content-Length")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n'))
}
