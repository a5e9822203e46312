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

// listenMethod opens a subscription: a call that is answered when the client cancels it, or never.
// It must neither hold a place nor delay the end.
const listenMethod = "subscriptions/listen"

// initializeMethod begins a session. Messages that a client sends after it without waiting are
// answered after it; the SDK sees to that.
const initializeMethod = "initialize"

// maxUnwritten bounds the bytes of answers waiting for the client to read. It allows the largest
// answer (a file of 16 MiB, in Base64) and as much again. Further calls are refused while more are
// waiting.
const maxUnwritten = 48 << 20

// ledger records the calls in flight of one session: the client's calls, with their owed answers,
// and the server's.
//
// The SDK answers every call it was given, cancelled or not, with one exception: a result that
// cannot be marshalled. Such a call would hold its place forever, so a cancelled call that stays
// unanswered loses it.
type ledger struct {
	limit      int
	patience   time.Duration // time that a cancelled call has to answer
	settled    chan struct{} // receives a token when owed drops to zero
	unwritten  atomic.Int64  // bytes of unwritten answers
	handshakes atomic.Int64  // unanswered handshakes

	mu          sync.Mutex
	calls       map[string]*inFlight  // unanswered calls of the client, by [wire.Key]
	placesTaken int                   // calls that hold a place
	listens     int                   // open subscriptions
	owed        int                   // unwritten answers
	asked       map[string]jsonrpc.ID // unanswered calls of the server
	ended       bool                  // nothing more will be read
}

// inFlight is one call of the client.
type inFlight struct {
	method    string // immutable
	listen    bool
	handshake bool      // the call is the handshake
	abandoned bool      // given up, so it holds no place
	cancelled time.Time // zero if not cancelled
	core      *working  // nil if the SDK has the call
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

// admit enters a call, or returns its refusal. The refusal echoes id.
func (l *ledger) admit(key, method, id string, call *inFlight) *wire.Refusal {
	l.mu.Lock()
	defer l.mu.Unlock()
	busy := func(format string, args ...any) *wire.Refusal {
		return &wire.Refusal{ID: json.RawMessage(id), Key: key, Error: jsonrpc.Error{Code: wire.CodeBusy, Message: "server busy: " + fmt.Sprintf(format, args...)}}
	}
	call.method = method
	if l.calls[key] != nil {
		// Without the id: with it, the refusal would look like the answer to the first call.
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

// giveUpCancelled takes away the places of cancelled calls that had enough time to answer. Their
// ids stay in use, since the SDK may still be working on them.
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

// cancelled records that the client has cancelled a call. It reports whether the SDK must get the
// cancellation, which is so only for a call that the SDK has.
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

// answering removes a call just before its answer is written, and reports whether answered must
// follow.
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

// answered records that an answer is written, or never will be.
func (l *ledger) answered() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settle()
}

// settle subtracts one owed answer. The caller holds mu.
func (l *ledger) settle() {
	if l.owed--; l.owed > 0 {
		return
	}
	select {
	case l.settled <- struct{}{}:
	default: // a token is there already
	}
}

// owing returns the number of unwritten answers.
func (l *ledger) owing() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.owed
}

// find returns the call in flight with this id, or nil.
func (l *ledger) find(key string) *inFlight {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls[key]
}

// ask enters a call of the server. It reports false if no answer can come.
func (l *ledger) ask(id jsonrpc.ID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return false
	}
	l.asked[wire.Key(id)] = id
	return true
}

// replied removes a call of the server that was answered or cancelled.
func (l *ledger) replied(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.asked, key)
}

// end records that nothing more will be read, and returns the server's calls that will therefore
// never be answered.
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
