package wire

import (
	"context"
	"io"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/rawjson"
)

// Result is the result of a call: a JSON value that encodes itself, the same each time.
type Result interface {
	Encode(*rawjson.Encoder)
	// Weight is the approximate memory in bytes that the result needs until it is written.
	Weight() int
}

// Work is a call that the core has accepted.
type Work interface {
	// Answer does the work. It then claims the answer, unless claim is nil, before it reports
	// anything.
	Answer(ctx context.Context, claim Claim) Answer
	Close() // releases the memory of the answer, which was written or never will be
}

// Claim claims the answer to a call. Its method reports false if the client has cancelled the call,
// which then is already answered.
type Claim interface{ Claim() bool }

// Answer is the answer to a call: a result, or an error.
type Answer struct {
	ID     string // as the client wrote it
	Result Result
	Error  *jsonrpc.Error
	Busy   bool // the error reports a lack of room
}

// Write writes the answer and then end. Before the first byte it calls begin with the number of
// bytes that follow.
func (a *Answer) Write(w io.Writer, end string, begin func(size int64) error) error {
	return rawjson.Write(w, func(e *rawjson.Encoder) {
		e.Raw(`{"jsonrpc":"2.0","id":`)
		e.Raw(a.ID)
		if a.Result == nil {
			e.Raw(`,"error":`)
			e.RawBytes(appendError(nil, a.Error))
		} else {
			e.Raw(`,"result":`)
			a.Result.Encode(e)
		}
		e.Raw("}")
		e.Raw(end)
	}, begin)
}

// appendError appends a JSON-RPC error.
func appendError(b []byte, err *jsonrpc.Error) []byte {
	b = strconv.AppendInt(append(b, `{"code":`...), err.Code, 10)
	b = display.AppendJSONString(append(b, `,"message":`...), err.Message)
	if len(err.Data) > 0 {
		b = append(append(b, `,"data":`...), err.Data...)
	}
	return append(b, '}')
}
