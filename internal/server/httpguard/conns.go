package httpguard

import (
	"container/list"
	"net"
	"net/http"
	"sync"
)

// maxArriving bounds the connections whose first request has not arrived. Each takes up to 50 KiB,
// and its client needs no token.
const maxArriving = 2048

// arriving tracks the connections without a request yet. If there are too many, it closes the
// oldest for a new one. A client that sends its request immediately never has the oldest.
type arriving struct {
	most int

	mu       sync.Mutex
	queue    list.List // of net.Conn, the oldest first
	elements map[net.Conn]*list.Element
}

func newArriving(most int) *arriving {
	return &arriving{most: most, elements: map[net.Conn]*list.Element{}}
}

// changed handles a change of a connection's state.
func (a *arriving) changed(c net.Conn, now http.ConnState) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now != http.StateNew {
		a.remove(a.elements[c])
		return
	}
	a.elements[c] = a.queue.PushBack(c)
	if a.queue.Len() > a.most {
		oldest := a.remove(a.queue.Front())
		go func() { _ = oldest.Close() }() // over TLS, closing may take a while
	}
}

// remove removes a connection from the queue. The caller holds mu.
func (a *arriving) remove(e *list.Element) net.Conn {
	if e == nil {
		return nil
	}
	c := a.queue.Remove(e).(net.Conn)
	delete(a.elements, c)
	return c
}
