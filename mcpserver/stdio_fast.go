package mcpserver

import (
	"bytes"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/access"
)

// batchSize is how many bytes of kept answers are gathered before they are written.
const batchSize = 16 << 10

// sessions numbers the sessions over pipes, and what each says about itself anew.
var sessions atomic.Uint64

// quick is the part of a session that answers from memory.
type quick struct {
	server  *Server // nil: nothing is kept
	session []byte  // tells this one's requests apart
	key     []byte
	batch   []byte // answers that are to be written
}

// answered answers a line that was answered before. Where it was not and could be
// kept, l learns its answer.
func (c *stdioConn) answered(line []byte) (l *learning, done bool) {
	q := &c.quick
	if q.server == nil {
		return nil, false
	}
	id, ok := callID(line)
	if !ok {
		if bytes.Contains(line, []byte("initialize")) {
			q.session = nil // what the client says of itself may be other from here on
		}
		return nil, false
	}
	v, ok := q.server.viewNow(access.Subject{})
	if !ok {
		return nil, false
	}
	if q.session == nil {
		q.session = append(strconv.AppendUint([]byte("stdio "), sessions.Add(1), 10), 0)
	}
	q.key = append(append(append(append(q.key[:0], q.session...), line[:id.from]...), 0), line[id.to:]...)
	r := q.server.memory.recall(v, q.key)
	if r == nil {
		return q.server.memory.learn(v, q.key), false
	}
	if !c.calls.free(line[id.from:id.to]) {
		return nil, false
	}
	q.server.again(r, access.Subject{}, "")
	q.batch = append(append(append(append(q.batch, answerHead...), line[id.from:id.to]...), r.tail...), '\n')
	return nil, true
}

// flush writes the answers that were gathered. Its error says that the session is
// over.
func (c *stdioConn) flush() error {
	q := &c.quick
	if len(q.batch) == 0 {
		return nil
	}
	// As with refusals, nothing is read meanwhile.
	patience := time.NewTimer(positiveOr(c.drain, DefaultDrainTimeout))
	defer patience.Stop()
	err := c.send(ready(q.batch[:len(q.batch)-1]), patience.C)
	if cap(q.batch) > 2*batchSize {
		q.batch = nil
	}
	q.batch = q.batch[:0]
	return err
}

// learns has the middleware note what a call reads that was admitted.
func (l *callLedger) learns(req *jsonrpc.Request, of *learning) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if call := l.calls[req.ID]; call != nil {
		call.learning = of
		req.Extra = &mcp.RequestExtra{Header: http.Header{learnHeader: {of.key}}}
	}
}

// taught takes the learning of a call that is answered, if it has one.
func (l *callLedger) taught(id jsonrpc.ID) *learning {
	l.mu.Lock()
	defer l.mu.Unlock()
	call := l.calls[id]
	if call == nil {
		return nil
	}
	of := call.learning
	call.learning = nil
	return of
}

// free reports whether a call with this id may be answered at once: no other has
// the id, and the client reads.
func (l *callLedger) free(id []byte) bool {
	if l.waiting.Load() > maxWaiting {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.calls) == 0 {
		return true
	}
	key, err := parseID(id)
	return err == nil && l.calls[key] == nil
}

// more reports whether another whole line is there without waiting.
func (r *lineReader) more() bool {
	waiting, _ := r.in.Peek(r.in.Buffered())
	return bytes.IndexByte(waiting, '\n') >= 0
}

// teach keeps the answer to a call as it is written, where it is to be learned and
// is a result.
func (c *stdioConn) teach(id jsonrpc.ID, line []byte) {
	l := c.calls.taught(id)
	if l == nil {
		return
	}
	defer l.end()
	now, ok := c.quick.server.viewNow(access.Subject{})
	if !ok {
		return
	}
	if tail := tailOf(line, encodeID(id)); tail != nil {
		l.keep(now, &remembered{tail: tail})
	}
}
