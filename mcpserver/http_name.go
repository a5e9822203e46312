package mcpserver

import (
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What a client puts around a name that no header can carry as it is, in Base64
// (2026-07-28, Streamable HTTP, Standard Request Headers).
const (
	encodedBegins = "=?base64?"
	encodedEnds   = "?="
)

// decodeName decodes the header Mcp-Name: the SDK compares it with the body as it
// came.
func decodeName(h http.Header) *jsonrpc.Error {
	const name = "Mcp-Name"
	if len(h.Values(name)) > 1 {
		return &jsonrpc.Error{Code: mcp.CodeHeaderMismatch, Message: "header mismatch: Mcp-Name is given twice"}
	}
	encoded, ok := strings.CutPrefix(h.Get(name), encodedBegins)
	if !ok {
		return nil
	}
	encoded, ok = strings.CutSuffix(encoded, encodedEnds)
	text, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if !ok || err != nil {
		return &jsonrpc.Error{Code: mcp.CodeHeaderMismatch, Message: "header mismatch: Mcp-Name begins with " + encodedBegins + " and does not go on with Base64 and " + encodedEnds}
	}
	h.Set(name, string(text))
	return nil
}
