package stdio

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/knack-dev/knack/mcpserver/internal/wire"
)

// listenMethod opens a subscription: a call that is answered when the client cancels it, or never.
// Such a call must neither take up a place nor delay the end of the session.
const listenMethod = "subscriptions/listen"

// initializeMethod begins a session. Messages that a client sends right after it are not read
// before the answer to it is being written.
const initializeMethod = "initialize"

// maxUnwritten bounds the bytes of answers waiting for the client to read. It allows the largest
// answer (a file of 16 MiB, in Base64) and as much again. While more bytes are waiting, further
// calls are refused.
const maxUnwritten = 48 << 20

// ledger records the calls in flight of one session: the client's calls, whose answers are owed,
// and the server's own calls.
type ledger struct {
	limit     int
	settled   chan struct{} // receives a token when owed drops to zero
	unwritten atomic.Int64  // bytes of unwritten answers

	mu          sync.Mutex
	calls       map[string]*working // unanswered calls of the client, by key
	placesTaken int                 // number of calls with a place
	listens     int                 // open subscriptions
	owed        int                 // unwritten answers
	asked       map[string]chan reply
	lastAsked   int
	ended       bool // nothing more will be read
}

// reply is the answer to a call of the server.
type reply struct {
	Result json.RawMessage
	Err    error
}

func newLedger(limit int) *ledger {
	return &ledger{limit: limit, settled: make(chan struct{}, 1), calls: map[string]*working{}, asked: map[string]chan reply{}}
}

// admit records a call of the client, or returns its refusal.
func (l *ledger) admit(method string, call *working) *wire.Refusal {
	l.mu.Lock()
	defer l.mu.Unlock()
	busy := func(format string, args ...any) *wire.Refusal {
		return &wire.Refusal{ID: json.RawMessage(call.id), Key: call.key, Error: jsonrpc.Error{Code: wire.CodeBusy, Message: "server busy: " + fmt.Sprintf(format, args...)}}
	}
	if l.calls[call.key] != nil {
		// The refusal has no id, since with the id it would look like the answer to the first call.
		return wire.Invalid(wire.InFlight)
	}
	if method == listenMethod {
		if l.listens >= l.limit {
			return busy("%d subscriptions open; cancel one first", l.listens)
		}
		l.listens++
		call.listens = true
		l.calls[call.key] = call
		return nil
	}
	if l.unwritten.Load() > maxUnwritten {
		return busy("too many answers wait to be read; read them, then retry")
	}
	if l.placesTaken >= l.limit {
		return busy("%d calls in flight; retry", l.placesTaken)
	}
	l.placesTaken++
	l.owed++
	l.calls[call.key] = call
	return nil
}

// cancel ends a call that the client has cancelled, if there is one.
func (l *ledger) cancel(key string) {
	if call := l.find(key); call != nil {
		call.takeBack()
	}
}

// answering removes a call just before its answer is written, and reports whether
// [ledger.finish] must follow.
func (l *ledger) answering(key string) (owed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	call := l.calls[key]
	if call == nil {
		return false
	}
	delete(l.calls, key)
	if call.listens {
		l.listens--
		return false
	}
	l.placesTaken--
	return true
}

// finish records that an answer is written, or never will be.
func (l *ledger) finish() {
	l.mu.Lock()
	defer l.mu.Unlock()
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

// find returns the call in flight with this key, or nil.
func (l *ledger) find(key string) *working {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls[key]
}

// ask records a call of the server. The channel is nil if no answer can arrive.
func (l *ledger) ask() (id string, answer <-chan reply) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return "", nil
	}
	l.lastAsked++
	id = strconv.Itoa(l.lastAsked)
	c := make(chan reply, 1)
	l.asked[id] = c
	return id, c
}

// forget removes a call of the server.
func (l *ledger) forget(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.asked, id)
}

// replied passes on the client's answer to a call of the server.
func (l *ledger) replied(m *wire.Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.asked[m.Key]; c != nil {
		c <- reply{bytes.Clone(m.Result), m.Err}
		delete(l.asked, m.Key)
	}
}

// end records the end of the input, and fails the server's own calls, which will never be
// answered.
func (l *ledger) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	for id, c := range l.asked {
		c <- reply{Err: errors.New("the client closed its input before it answered")}
		delete(l.asked, id)
	}
}
