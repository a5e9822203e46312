package httpd

import (
	"encoding/json"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/knack-dev/knack/mcpserver/internal/wire"
)

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
