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

// answer writes an answer of the SDK. It turns the SDK's plain-text refusals, which MCP clients
// cannot read, into JSON-RPC errors that do not echo the request. It words errors in answers as
// stdio does.
type answer struct {
	httpguard.PacedWriter
	sent        sent
	beforeWrite func()       // if set, finish calls it before anything is written
	status      int          // the status held back, or 0
	refused     int          // the status of a refusal, which is held back too, or 0
	text        bytes.Buffer // the body held back
	begun       bool
}

func newAnswer(w http.ResponseWriter, timeout time.Duration, s sent) *answer {
	return &answer{PacedWriter: httpguard.NewPacedWriter(w, timeout), sent: s}
}

// WriteHeader holds back the status of a refusal.
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
		header.Del("Mcp-Session-Id") // of a session that refuses a second initialize
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write holds back a refusal, and rewords errors.
func (a *answer) Write(data []byte) (n int, err error) {
	a.WriteHeader(http.StatusOK)
	if a.refused != 0 && a.text.Len() >= maxRefusal {
		return len(data), nil
	}
	if a.refused != 0 || a.beforeWrite != nil {
		return a.text.Write(data)
	}
	// A copy if anything changes, because the SDK keeps the written bytes for clients that resume.
	// It expects the length of its own text.
	if said := worded(data); len(said) != len(data) {
		_, err = a.PacedWriter.Write(said)
		return len(data), err
	}
	return a.PacedWriter.Write(data)
}

// FlushError sends the buffered bytes, within the deadline.
func (a *answer) FlushError() error {
	a.WriteHeader(http.StatusOK)
	if a.refused != 0 || a.beforeWrite != nil {
		return nil
	}
	return a.PacedWriter.FlushError()
}

// isError reports whether the answer held back is an error.
func (a *answer) isError() bool {
	_, _, no := errorIn(a.text.Bytes())
	return no != nil || a.refused != 0
}

// finish sends the answer held back.
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
		// A notification that is not accepted has an error status, whatever its kind (Streamable
		// HTTP, Sending Messages).
		status = max(status, http.StatusBadRequest)
	}
	writeError(a.ResponseWriter, status, a.sent.id, no)
}

// failure is a JSON-RPC error as the SDK writes it.
type failure struct {
	ID    json.RawMessage `json:"id"`
	Error *jsonrpc.Error  `json:"error"`
}

// errorIn finds the JSON-RPC error in data, if there is one, and its position. The SDK writes an
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
	// An answer with a result, which may be long, is recognized by its first members.
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

// worded returns data with its error, if any, worded by [wire.ForClient].
func worded(data []byte) []byte {
	from, to, no := errorIn(data)
	if no == nil {
		return data
	}
	line := (&wire.Refusal{ID: no.ID, Error: *wire.ForClient(no.Error)}).Encode()
	return slices.Concat(data[:from], line, data[to:])
}

// maxRefusal bounds the body of a refusal held back; knack's refusals echo at most 256 bytes.
const maxRefusal = 64 << 10

// invalid refuses a request that belongs to no call.
func invalid(w http.ResponseWriter, status int, message string) {
	refuse(w, status, nil, jsonrpc.CodeInvalidRequest, message)
}

// refuseBusy refuses a request because the server is busy.
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
