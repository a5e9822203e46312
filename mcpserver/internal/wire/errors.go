package wire

import (
	"context"
	"errors"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/knack-dev/knack/internal/base/display"
)

// maxMessage bounds the message of an error, in bytes.
const maxMessage = 512

// CodeNoSession is the code for an unknown session; the TypeScript SDK uses it too.
const CodeNoSession = -32001

// MissingResource begins the error message for an unknown resource.
const MissingResource = "Resource not found: "

// ForClient returns an error in the form for a client, with a JSON-RPC code and one sentence. It
// hides the text of an error without a code.
func ForClient(err error) *jsonrpc.Error {
	var coded *jsonrpc.Error
	switch {
	case errors.As(err, &coded) && coded.Code != 0:
	case errors.Is(err, context.Canceled):
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the call was cancelled"}
	case errors.Is(err, context.DeadlineExceeded):
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the call took too long"}
	default:
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error"}
	}
	out := &jsonrpc.Error{Code: coded.Code, Message: display.CutBytes(display.OneLine(coded.Message), maxMessage), Data: coded.Data}
	if strings.HasPrefix(out.Message, MissingResource) && len(out.Data) > maxMessage {
		out.Data = nil
	}
	return out
}

// MethodNotFound is the error for an unknown method.
var MethodNotFound = &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "method not found"}

// IsVersion reports whether a string can be a protocol version, and so can be repeated in the error
// for an unknown version (2026-07-28, -32022).
func IsVersion(s string) bool {
	return 0 < len(s) && len(s) <= 32 && !strings.ContainsFunc(s, func(c rune) bool {
		return !('0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '.' || c == '-')
	})
}
