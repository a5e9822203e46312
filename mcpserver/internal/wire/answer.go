package wire

import (
	"context"
	"io"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/rawjson"
)

// Result is the result of a call: one JSON value that writes itself, the same each time.
type Result interface {
	Encode(*rawjson.Encoder)
	// Weight is about how many bytes of memory it holds until it is written.
	Weight() int
}

// Work is a call that the core has taken.
type Work interface {
	// Answer does the work. Then, before anything is told of it, it claims the answer, unless
	// claim is nil.
	Answer(ctx context.Context, claim Claim) Answer
	Close() // gives back the room of the answer, which was written or never will be
}

// Claim reports false if the client has taken the call back and is answered so.
type Claim interface{ Claim() bool }

// Answer is what a call is answered with: a result, or an error.
type Answer struct {
	ID     string // as the client wrote it
	Result Result
	Error  *jsonrpc.Error
	Busy   bool // the error says that there was no room
}

// Write writes the answer and what end says behind it. Before the first byte it calls begin
// with the number of bytes that follow.
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
