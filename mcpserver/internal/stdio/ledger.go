package stdio

import (
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/knack-dev/knack/mcpserver/internal/wire"
)

// listenMethod opens a subscription: a call that is answered when the client takes it
// back, or never. It may neither hold a place nor delay the end.
const listenMethod = "subscriptions/listen"

// initializeMethod begins a session. What a client sends behind it, without waiting for
// the answer, is answered behind it, which the SDK sees to.
const initializeMethod = "initialize"

// maxUnwritten bounds the bytes of answers that wait until the client reads: the largest
// answer (a file of 16 MiB, in Base64) and as much again. Calls that come while more wait
// are refused.
const maxUnwritten = 48 << 20

// ledger records the calls in flight of one session: the client's, with the answers that it is
// owed, and the server's.
//
// The SDK answers every call it was given, cancelled or not, with one exception: a result
// that cannot be marshalled. Such a call would hold its place for good, so a call that was
// cancelled and stays unanswered loses it.
type ledger struct {
	limit      int
	patience   time.Duration // what a cancelled call has left to answer
	settled    chan struct{} // has a token after owed has come down to zero
	unwritten  atomic.Int64  // bytes of answers that are not out yet
	handshakes atomic.Int64  // handshakes that are not answered yet

	mu          sync.Mutex
	calls       map[string]*inFlight  // asked by the client, not answered, by [wire.Key]
	placesTaken int                   // calls that hold a place
	listens     int                   // open subscriptions
	owed        int                   // answers that are not out yet
	asked       map[string]jsonrpc.ID // asked by the server, not answered
	ended       bool                  // nothing more will be read
}

// inFlight is one call of the client's.
type inFlight struct {
	method    string // does not change
	listen    bool
	handshake bool      // it is the handshake
	abandoned bool      // it was given up, and holds no place
	cancelled time.Time // zero: it was not
	core      *working  // nil: the SDK has the call
}

func newLedger(limit int, patience time.Duration) *ledger {
	return &ledger{
		limit:    limit,
		patience: patience,
		settled:  make(chan struct{}, 1),
		calls:    make(map[string]*inFlight),
		asked:    make(map[string]jsonrpc.ID),
	}
}

// admit enters a call, or says why it is refused. id is what a refusal repeats.
func (l *ledger) admit(key, method, id string, call *inFlight) *wire.Refusal {
	l.mu.Lock()
	defer l.mu.Unlock()
	busy := func(format string, args ...any) *wire.Refusal {
		return &wire.Refusal{ID: json.RawMessage(id), Key: key, Error: jsonrpc.Error{Code: wire.CodeBusy, Message: "server busy: " + fmt.Sprintf(format, args...)}}
	}
	call.method = method
	if l.calls[key] != nil {
		// Without the id: it would pass for the answer to the first call.
		return wire.Invalid(wire.InFlight)
	}
	if method == listenMethod {
		if l.listens >= l.limit {
			return busy("%d subscriptions open; cancel one first", l.listens)
		}
		l.listens++
		call.listen = true
		l.calls[key] = call
		return nil
	}
	if l.unwritten.Load() > maxUnwritten {
		return busy("too many answers wait to be read; read them, then retry")
	}
	if l.placesTaken >= l.limit {
		l.giveUpCancelled()
	}
	if l.placesTaken >= l.limit {
		return busy("%d calls in flight; retry", l.placesTaken)
	}
	l.placesTaken++
	l.owed++
	l.calls[key] = call
	if method == initializeMethod {
		call.handshake = true
		l.handshakes.Add(1)
	}
	return nil
}

// giveUpCancelled takes their places from cancelled calls that had time enough to answer.
// Their ids stay taken, for as far as the SDK knows they are worked on.
func (l *ledger) giveUpCancelled() {
	for _, call := range l.calls {
		late := !call.cancelled.IsZero() && time.Since(call.cancelled) >= l.patience
		if late && !call.listen && !call.abandoned {
			call.abandoned = true
			l.placesTaken--
			l.settle()
		}
	}
}

// cancelled notes that the client has cancelled a call. It reports whether the SDK must get
// the cancellation: only for a call that the SDK has.
func (l *ledger) cancelled(key string) (forSDK bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	call := l.calls[key]
	if call == nil {
		return false
	}
	if call.cancelled.IsZero() {
		call.cancelled = time.Now()
	}
	if call.core != nil {
		call.core.takeBack()
	}
	return call.core == nil
}

// answering strikes a call off just before its answer is written, and reports whether
// answered must follow.
func (l *ledger) answering(key string) (owed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	call := l.calls[key]
	if call == nil {
		return false
	}
	delete(l.calls, key)
	if call.handshake {
		l.handshakes.Add(-1)
	}
	if call.listen {
		l.listens--
	} else if !call.abandoned {
		l.placesTaken--
		return true
	}
	return false
}

// answered notes that an answer is out, or can never get out.
func (l *ledger) answered() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settle()
}

// settle notes that one answer less is owed. The caller holds mu.
func (l *ledger) settle() {
	if l.owed--; l.owed > 0 {
		return
	}
	select {
	case l.settled <- struct{}{}:
	default: // a token is there already
	}
}

// owing counts the answers that are not out yet.
func (l *ledger) owing() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.owed
}

// find returns the call in flight that has this id, or nil.
func (l *ledger) find(key string) *inFlight {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls[key]
}

// ask enters a call of the server's; false says that no answer can come.
func (l *ledger) ask(id jsonrpc.ID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return false
	}
	l.asked[wire.Key(id)] = id
	return true
}

// replied strikes off a call of the server's that was answered or taken back.
func (l *ledger) replied(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.asked, key)
}

// end notes that nothing more will be read, and returns the server's calls that will
// therefore never be answered.
func (l *ledger) end() []jsonrpc.ID {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	ids := make([]jsonrpc.ID, 0, len(l.asked))
	for _, id := range l.asked {
		ids = append(ids, id)
	}
	clear(l.asked)
	return ids
}
