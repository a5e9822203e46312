package guard

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/knack-dev/knack/limit"
)

// maxConns is how many connections are open. Each takes up to 50 KiB before its request is
// known. An address gets three quarters of them.
const maxConns = 4096

// conns are the open connections. If there are too many, one without a request gives way to
// a new one of its address: the one that has had none for longest.
type conns struct {
	room  *limit.Budget
	share func(address string) string // under which an address counts

	mu sync.Mutex
	of map[net.Conn]*conn
}

// conn is an open connection.
type conn struct {
	share string
	place *limit.Account
	busy  int // requests that are being answered
	last  time.Time
}

type connKey struct{}

// add takes a new connection in. If there is no room, the connection is closed: its client
// may not even have sent a request that could be answered.
func (t *conns) add(ctx context.Context, c net.Conn) context.Context {
	t.mu.Lock()
	defer t.mu.Unlock()
	address, _, _ := net.SplitHostPort(c.RemoteAddr().String())
	n := &conn{share: t.share(networkOf(address)), last: time.Now()}
	for n.place = t.room.Open(n.share); !n.place.Try(1); {
		if !t.evict(n.share) {
			_ = c.Close()
			return ctx
		}
	}
	if t.of == nil {
		t.of = map[net.Conn]*conn{}
	}
	t.of[c] = n
	return context.WithValue(ctx, connKey{}, n)
}

// evict closes a connection without a request. The caller holds mu.
func (t *conns) evict(share string) bool {
	var oldest net.Conn
	for c, n := range t.of {
		if n.share == share && n.busy == 0 && (oldest == nil || n.last.Before(t.of[oldest].last)) {
			oldest = c
		}
	}
	if oldest == nil {
		return false
	}
	t.remove(oldest)
	go func() { _ = oldest.Close() }() // over TLS it may take a while
	return true
}

// remove forgets a connection. The caller holds mu.
func (t *conns) remove(c net.Conn) {
	if n := t.of[c]; n != nil {
		delete(t.of, c)
		n.place.Close()
	}
}

// changed is called when the state of a connection has changed.
func (t *conns) changed(c net.Conn, now http.ConnState) {
	if now == http.StateClosed {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.remove(c)
	}
}

// work notes that a request of a connection is being answered, until done is called.
func (t *conns) work(ctx context.Context) (done func()) {
	n, _ := ctx.Value(connKey{}).(*conn)
	add := func(busy int) {
		if n != nil {
			t.mu.Lock()
			defer t.mu.Unlock()
			n.busy, n.last = n.busy+busy, time.Now()
		}
	}
	add(1)
	return func() { add(-1) }
}
