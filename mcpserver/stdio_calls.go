package mcpserver

import (
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// listenMethod opens a subscription: a call that is answered when the client
// takes it back, or never. It may neither hold a place nor delay the end.
const listenMethod = "subscriptions/listen"

// codeServerBusy is of the range that JSON-RPC leaves to servers.
const codeServerBusy = -32000

// callLedger keeps the books on one session: what the client has asked and is
// still owed, and what the server has asked the client.
//
// The SDK answers every call it was given, cancelled or not, with one
// exception: a result that cannot be marshalled. Such a call would hold its
// place for good, so a call that was cancelled and stays unanswered loses it.
type callLedger struct {
	limit    int
	patience time.Duration // what a cancelled call has left to answer
	settled  chan struct{} // has a token after owed has come down to zero
	waiting  atomic.Int64  // bytes of answers that are not out yet

	mu      sync.Mutex
	calls   map[jsonrpc.ID]*inFlight // asked by the client, not answered
	places  int                      // calls that hold a place
	listens int                      // open subscriptions
	owed    int                      // answers that are not out yet
	asked   map[jsonrpc.ID]struct{}  // asked by the server, not answered
	ended   bool                     // nothing more will be read
}

// inFlight is one call of the client's.
type inFlight struct {
	listen    bool
	given     bool      // it was given up, and holds no place
	cancelled time.Time // zero: it was not
}

func newCallLedger(limit int, patience time.Duration) *callLedger {
	return &callLedger{
		limit:    limit,
		patience: patience,
		settled:  make(chan struct{}, 1),
		calls:    make(map[jsonrpc.ID]*inFlight),
		asked:    make(map[jsonrpc.ID]struct{}),
	}
}

// admit enters a call, or says why it is refused. Notifications always pass.
func (l *callLedger) admit(req *jsonrpc.Request) *refusal {
	if !req.IsCall() {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calls[req.ID] != nil {
		// Without the id: it would pass for the answer to the first call.
		return invalidRequest("the id belongs to a call that is still in flight")
	}
	if req.Method == listenMethod {
		return l.admitListen(req.ID)
	}
	if l.waiting.Load() > maxWaiting {
		return busy(req.ID, "server busy: too many answers wait to be read; read them, then retry")
	}
	if l.places >= l.limit {
		l.giveUpCancelled()
	}
	if l.places >= l.limit {
		return busy(req.ID, fmt.Sprintf("server busy: %d calls in flight; retry", l.places))
	}
	l.places++
	l.owed++
	l.calls[req.ID] = &inFlight{}
	return nil
}

func (l *callLedger) admitListen(id jsonrpc.ID) *refusal {
	if l.listens >= l.limit {
		return busy(id, fmt.Sprintf("server busy: %d subscriptions open; cancel one first", l.listens))
	}
	l.listens++
	l.calls[id] = &inFlight{listen: true}
	return nil
}

func busy(id jsonrpc.ID, message string) *refusal {
	return &refusal{id: encodeID(id), key: id, code: codeServerBusy, message: message}
}

// giveUpCancelled takes their places from cancelled calls that had time enough
// to answer. Their ids stay taken, for as far as the SDK knows they are at work.
func (l *callLedger) giveUpCancelled() {
	for _, call := range l.calls {
		late := !call.cancelled.IsZero() && time.Since(call.cancelled) >= l.patience
		if late && !call.listen && !call.given {
			call.given = true
			l.places--
			l.settle()
		}
	}
}

// cancelled notes that the client has taken a call back.
func (l *callLedger) cancelled(id jsonrpc.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if call := l.calls[id]; call != nil && call.cancelled.IsZero() {
		call.cancelled = time.Now()
	}
}

// answering strikes a call off just before its answer is written, and reports
// whether answered must follow.
func (l *callLedger) answering(id jsonrpc.ID) (owed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	call := l.calls[id]
	if call == nil {
		return false
	}
	delete(l.calls, id)
	if call.listen {
		l.listens--
		return false
	}
	if call.given {
		return false
	}
	l.places--
	return true
}

// answered notes that an answer is out, or can never get out.
func (l *callLedger) answered() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settle()
}

// settle needs mu.
func (l *callLedger) settle() {
	l.owed--
	if l.owed > 0 {
		return
	}
	l.tellSettled()
}

// tellSettled puts the token where it is looked for.
func (l *callLedger) tellSettled() {
	select {
	case l.settled <- struct{}{}:
	default: // a token is there already
	}
}

// owing counts the answers that are not out yet.
func (l *callLedger) owing() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.owed
}

// knows reports whether a call with this id is in flight.
func (l *callLedger) knows(id jsonrpc.ID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls[id] != nil
}

// ask enters a call of the server's; false says that no answer can come.
func (l *callLedger) ask(id jsonrpc.ID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return false
	}
	l.asked[id] = struct{}{}
	return true
}

// replied strikes off a call of the server's that was answered or taken back.
func (l *callLedger) replied(id jsonrpc.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.asked, id)
}

// end notes that nothing more will be read, and returns the server's calls
// that will therefore never be answered.
func (l *callLedger) end() []jsonrpc.ID {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	ids := make([]jsonrpc.ID, 0, len(l.asked))
	for id := range l.asked {
		ids = append(ids, id)
	}
	clear(l.asked)
	return ids
}

// cancelledID is the id of the call that req takes back, if it takes one back.
func cancelledID(req *jsonrpc.Request) (jsonrpc.ID, bool) {
	if req.Method != "notifications/cancelled" || req.IsCall() {
		return jsonrpc.ID{}, false
	}
	var params map[string]json.RawMessage
	if json.Unmarshal(req.Params, &params) != nil {
		return jsonrpc.ID{}, false
	}
	id, err := parseID(params["requestId"])
	return id, err == nil
}
