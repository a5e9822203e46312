package stdio

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/knack-dev/knack/mcpserver/internal/wire"
)

// working is a running call, and the context of its work. The context ends with the work, with the
// session, or if the client cancels the call. Most work never waits for that end, and then needs no
// channel and no registration with the session's context.
type working struct {
	conn     *Conn
	key, id  string
	work     wire.Work
	listens  bool        // it is a subscription; set when it is admitted
	first    bool        // no message is read before its answer is written
	answered atomic.Bool // an answer is being written
	mine     bool        // the goroutine that does the work writes the answer

	mu    sync.Mutex
	done  chan struct{} // nil until Done is called
	ended bool
	stop  func() bool // ends the wait for the session's end; nil without done
}

// claim reports whether the caller must write the answer.
func (w *working) claim() bool { return !w.answered.Swap(true) }

// Claim is like claim, for the goroutine that does the work.
func (w *working) Claim() bool {
	w.mine = w.claim()
	return w.mine
}

// takeBack answers a call that its client has cancelled, because the work may hang in a system
// call. It does not answer a subscription: the work of a subscription ends with the context and
// sends its own answer.
func (w *working) takeBack() {
	if w.listens {
		w.cancel()
		return
	}
	claimed := w.claim() // claim first, so that the work is cancelled only if this answer says so
	w.cancel()
	if claimed {
		go w.conn.reply(w, wire.Answer{ID: w.id, Error: wire.ForClient(context.Canceled)}, new(bool))
	}
}

// cancel ends the context.
func (w *working) cancel() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done != nil && !w.ended {
		w.stop()
		close(w.done)
	}
	w.ended = true
}

// Deadline implements [context.Context].
func (w *working) Deadline() (time.Time, bool) { return time.Time{}, false }

// Value implements [context.Context].
func (w *working) Value(any) any { return nil }

// Done implements [context.Context].
func (w *working) Done() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done == nil {
		w.done = make(chan struct{})
		if w.ended = w.isOver(); w.ended {
			close(w.done)
		} else {
			w.stop = context.AfterFunc(w.conn.open, w.cancel)
		}
	}
	return w.done
}

// Err implements [context.Context].
func (w *working) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended || w.done == nil && w.isOver() {
		return context.Canceled
	}
	return nil
}

// isOver reports whether the context has ended. The caller holds mu.
func (w *working) isOver() bool { return w.ended || w.conn.open.Err() != nil }
