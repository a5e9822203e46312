package mcpserver

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/access"
)

const (
	// batchSize is how many bytes of kept answers are gathered before they are written:
	// what a pipe takes at once.
	batchSize = 64 << 10
	// relief is how long a write of theirs may take before somebody else reads on,
	// at least; twice that at most.
	relief = 100 * time.Millisecond
)

// sessions numbers the sessions over pipes, and what each says about itself anew.
var sessions atomic.Uint64

// quick is the part of a session that answers from memory. It belongs to whoever
// reads the lines.
//
// The reader writes these answers itself: to hand them over costs more than all the
// rest. But a write to a client that does not read hangs, and the lines behind must
// be read all the same, since the end of the input or a cancellation may be among
// them. So after a while another goroutine becomes the reader, and until the write
// has ended the SDK answers everything.
type quick struct {
	server  *Server // nil: nothing is kept
	session []byte  // tells this one's requests apart
	key     []byte
	batch   []byte    // answers that are to be written; one is owed while there are any
	held    []byte    // the line that comes next, where it was read before they were written
	shared  io.Closer // what the looks share that are made for lines which are all read
	sharing bool      // whether there is more than one such line

	writes  atomic.Uint64 // odd while the reader writes; one more with each begin and end
	watched atomic.Bool   // whether watch is going to look
	seen    uint64        // writes, when it last looked
	stuck   atomic.Int32  // writes whose writer is not the reader any more
}

// errRelieved says that another goroutine is the reader now.
var errRelieved = errors.New("somebody else reads")

// answered answers a line that was answered before. Where it was not and could be
// kept, l learns its answer. The error is one of flush, with the line as its next.
func (c *stdioConn) answered(line []byte) (l *learning, done bool, err error) {
	q := &c.quick
	if q.server == nil {
		return nil, false, nil
	}
	id, ok := callID(line)
	if !ok {
		if bytes.Contains(line, []byte("initialize")) {
			q.session = nil // what the client says of itself may be other from here on
		}
		return nil, false, nil
	}
	v, ok := q.server.viewNow(access.Subject{})
	if !ok {
		return nil, false, nil
	}
	if q.session == nil {
		q.session = append(strconv.AppendUint([]byte("stdio "), sessions.Add(1), 10), 0)
	}
	q.key = append(append(append(append(q.key[:0], q.session...), line[:id.from]...), 0), line[id.to:]...)
	var shared *io.Closer
	if q.sharing = q.sharing || c.lines.more(); q.sharing {
		shared = &q.shared
	}
	r := q.server.memory.recall(v, q.key, shared)
	if r == nil {
		return q.server.memory.learn(v, q.key), false, nil
	}
	if q.stuck.Load() > 0 || !c.calls.free(line[id.from:id.to]) {
		return nil, false, nil
	}
	if size := len(answerHead) + id.to - id.from + len(r.tail) + 1; len(q.batch)+size > cap(q.batch) {
		if err := c.flush(line); err != nil {
			return nil, false, err
		}
		if size > cap(q.batch) {
			q.batch = make([]byte, 0, max(size, batchSize))
		}
	}
	q.server.again(r, access.Subject{}, "")
	if len(q.batch) == 0 {
		c.calls.owe()
	}
	q.batch = append(append(append(append(q.batch, answerHead...), line[id.from:id.to]...), r.tail...), '\n')
	return nil, true, nil
}

// unshare ends what looks share, before more is read: for a request that arrives
// later they would have been made too early.
func (q *quick) unshare() {
	if q.sharing = false; q.shared != nil {
		q.shared.Close()
	}
}

// flush writes the answers that were gathered; next is a line that is read and not
// dealt with. Its error says that the session is over, or that somebody else reads
// on, beginning with next.
func (c *stdioConn) flush(next []byte) error {
	q := &c.quick
	if len(q.batch) == 0 {
		return nil
	}
	batch := q.batch
	q.held = next
	begun := q.writes.Add(1)
	if !q.watched.Load() && q.watched.CompareAndSwap(false, true) {
		time.AfterFunc(relief, c.watch)
	}
	c.calls.waiting.Add(int64(len(batch)))
	err := c.put(batch)
	c.calls.waiting.Add(-int64(len(batch)))
	c.calls.answered()
	if !q.writes.CompareAndSwap(begun, begun+1) {
		q.stuck.Add(-1)
		return errRelieved
	}
	q.held = nil
	if q.batch = batch[:0]; cap(batch) > batchSize {
		q.batch = nil
	}
	return err
}

// put writes whole lines when its turn has come.
func (c *stdioConn) put(lines []byte) error {
	select {
	case c.turn <- struct{}{}:
	default:
		select {
		case c.turn <- struct{}{}:
		case <-c.closed:
			return mcp.ErrConnectionClosed
		case <-c.broken:
			return c.writeErr
		}
	}
	defer func() { <-c.turn }()
	select {
	case <-c.broken:
		return c.writeErr
	default:
	}
	if c.isClosed() {
		return mcp.ErrConnectionClosed
	}
	return c.wrote(c.write(lines))
}

// watch looks whether the reader writes what it wrote the last time, and then reads
// in its place. It looks for as long as there are writes.
func (c *stdioConn) watch() {
	q := &c.quick
	now := q.writes.Load()
	if now == q.seen {
		q.watched.Store(false)
		if now%2 == 1 && q.writes.CompareAndSwap(now, now+1) {
			q.stuck.Add(1)
			c.relieve()
			return
		}
		if q.writes.Load() == now || !q.watched.CompareAndSwap(false, true) {
			return // whoever writes next has it watched
		}
	}
	q.seen = now
	time.AfterFunc(relief, c.watch)
}

// relieve reads on in place of a reader who hangs in a write.
func (c *stdioConn) relieve() {
	q := &c.quick
	q.batch = nil
	if next := q.held; next != nil {
		q.held = nil
		if err := c.take(next); err != nil {
			if !errors.Is(err, errRelieved) {
				q.unshare()
			}
			return
		}
	}
	c.receive()
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

// owe notes that there are answers to be written; answered takes it back.
func (l *callLedger) owe() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.owed++
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
