package stdio

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/knack-dev/knack/mcpserver/internal/wire"
)

// working is a call of the core's whose work is being done, and the context of that work. The
// context ends with the work, with the session, or when the client takes the call back. Most
// work never waits for that, and costs no channel and no place in the session's context.
type working struct {
	inFlight
	conn     *conn
	key, id  string
	work     wire.Work
	answered atomic.Bool // an answer is being written
	mine     bool        // and the goroutine that works writes it

	mu    sync.Mutex
	done  chan struct{} // nil until it is asked for
	ended bool
	stop  func() bool // ends the wait for the end of the session; nil without done
}

// claim reports whether the caller is the one that answers.
func (w *working) claim() bool { return !w.answered.Swap(true) }

// Claim is claim for the goroutine that works.
func (w *working) Claim() bool {
	w.mine = w.claim()
	return w.mine
}

// takeBack answers a call that its client has taken back. Its work may hang in the system.
func (w *working) takeBack() {
	claimed := w.claim() // first, so that the work ends as cancelled only if it is answered so
	w.cancel()
	if claimed {
		go w.conn.reply(w.key, wire.Answer{ID: w.id, Error: wire.ForClient(context.Canceled)}, new(bool))
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
		if w.ended = w.over(); w.ended {
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
	if w.ended || w.done == nil && w.over() {
		return context.Canceled
	}
	return nil
}

// over reports whether the context has ended. The caller holds mu.
func (w *working) over() bool { return w.ended || w.conn.open.Err() != nil }
