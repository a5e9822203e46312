package mcpserver

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/skillsext"
)

// The SDK writes a result as JSON twice over, and looks through what was written
// already each time. Of a page of skills that is ten times the work of writing it. So
// over pipes the result that the SDK gets has a mark in the place of the page, and
// the page is put there when the answer is written.

// spliceHeader tells the middleware which splice a call has. It goes no further than
// this process.
const spliceHeader = "Knack-Splice"

// splices are the calls under way whose answers have a part that the SDK does not see.
// Its zero value is ready.
type splices struct {
	mu   sync.Mutex
	last uint64
	of   map[string]*splice
}

// splice is one such call.
type splice struct {
	in   *splices
	mark string
	// part is what stands in the answer in the place of the mark, behind pageHead bytes
	// that are free; nil: the answer has no mark.
	part []byte
}

type spliceKey struct{}

func (a *splices) begin() *splice {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of == nil {
		a.of = map[string]*splice{}
	}
	a.last++
	s := &splice{in: a, mark: strconv.FormatUint(a.last, 10)}
	a.of[s.mark] = s
	return s
}

// end ends it. It may be called again.
func (s *splice) end() {
	s.in.mu.Lock()
	defer s.in.mu.Unlock()
	delete(s.in.of, s.mark)
}

// pass is the middleware that gives a call its splice.
func (a *splices) pass(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method == skillsext.MethodList {
			if extra := req.GetExtra(); extra != nil {
				a.mu.Lock()
				s := a.of[extra.Header.Get(spliceHeader)]
				a.mu.Unlock()
				if s != nil {
					ctx = context.WithValue(ctx, spliceKey{}, s)
				}
			}
		}
		return next(ctx, method, req)
	}
}

// put keeps a part for the answer, and returns what stands in its place until then.
func (s *splice) put(part []byte) []byte {
	s.in.mu.Lock()
	defer s.in.mu.Unlock()
	s.part = part
	return []byte(`"splice":` + s.mark)
}

// size is that of the part.
func (s *splice) size() int {
	if s == nil {
		return 0
	}
	s.in.mu.Lock()
	defer s.in.mu.Unlock()
	return len(s.part)
}

// into puts the part into an answer that the SDK has made, in the place of the mark: at
// the end of the result. It is not there where the answer is another one.
func (s *splice) into(line []byte, err error) ([]byte, error) {
	if s == nil || err != nil {
		return line, err
	}
	s.in.mu.Lock()
	part := s.part
	s.part = nil
	s.in.mu.Unlock()
	head, ok := bytes.CutSuffix(line, []byte(`"splice":`+s.mark+`}}`))
	if part == nil || !ok {
		return line, nil
	}
	if len(head) > pageHead {
		return append(append(bytes.Clone(head), part[pageHead:]...), '}', '}'), nil
	}
	begin := pageHead - len(head)
	copy(part[begin:], head)
	return append(part[begin:], '}', '}'), nil
}

// splices has the answer to a call that was admitted put together, where that is what
// it takes.
func (l *callLedger) splices(req *jsonrpc.Request, server *Server) {
	if server == nil || req.Method != skillsext.MethodList || !req.IsCall() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if call := l.calls[req.ID]; call != nil {
		call.splice = server.splices.begin()
		req.Extra = &mcp.RequestExtra{Header: http.Header{spliceHeader: {call.splice.mark}}}
	}
}

// spliced takes the splice of a call that is answered, if it has one.
func (l *callLedger) spliced(id jsonrpc.ID) *splice {
	l.mu.Lock()
	defer l.mu.Unlock()
	call := l.calls[id]
	if call == nil || call.splice == nil {
		return nil
	}
	s := call.splice
	call.splice = nil
	s.end()
	return s
}
