package mcpserver

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A call holds one of the server's places until its request is over and its
// handler has ended. In protocol versions that have sessions a client may leave and
// come back for the answer, so that the handler goes on without a request; were the
// place free by then, clients that leave at once could have any number of calls
// worked on.

// placeHeader tells the middleware which place a call has. It goes no further than
// this process: the SDK hands a request's headers on, and nothing else of it.
const placeHeader = "Knack-Place"

// placeGrace is how long a handler may take to begin after its client has left.
const placeGrace = 10 * time.Second

// places are those that calls hold.
type places struct {
	grace time.Duration // placeGrace; tests show that handlers do not live by it
	mu    sync.Mutex
	last  uint64
	of    map[string]*place
}

type place struct {
	in      *places
	key     string
	holders int // the request, the handler, and between them the grace
	entered bool
	grace   *time.Timer // set while the request is over and the handler has not begun
	free    func()
	address string // from which the call came
}

type placeKey struct{}

// addressOf is where the call came from that is handled in a context; "" over stdio.
func addressOf(ctx context.Context) string {
	if held, ok := ctx.Value(placeKey{}).(*place); ok {
		return held.address
	}
	return ""
}

// begun reports whether the call's handler has begun: what comes of it, the handler
// tells.
func (p *place) begun() bool {
	p.in.mu.Lock()
	defer p.in.mu.Unlock()
	return p.entered
}

// take notes a place that is held by a call from an address; free is called once,
// when nobody holds it.
func (p *places) take(address string, free func()) *place {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil {
		p.of = map[string]*place{}
	}
	p.last++
	taken := &place{in: p, key: strconv.FormatUint(p.last, 10), holders: 1, free: free, address: address}
	p.of[taken.key] = taken
	return taken
}

// leave gives up one hold.
func (p *place) leave() {
	p.in.mu.Lock()
	defer p.in.mu.Unlock()
	if p.holders--; p.holders == 0 {
		delete(p.in.of, p.key)
		p.free()
	}
}

// await keeps the place for a handler that has not begun: whoever sends a call and
// leaves at once is gone before it does.
func (p *place) await() {
	p.in.mu.Lock()
	defer p.in.mu.Unlock()
	if !p.entered {
		p.holders++
		p.grace = time.AfterFunc(p.in.grace, p.leave)
	}
}

// enter notes that a call's handler begins; nil where nobody holds its place.
func (p *places) enter(key string) *place {
	p.mu.Lock()
	defer p.mu.Unlock()
	held := p.of[key]
	if held == nil {
		return nil
	}
	held.entered = true
	if held.grace == nil || !held.grace.Stop() {
		held.holders++ // else it takes over the grace's
	}
	return held
}

// hold is the middleware that has a call's place held until its handler ends.
func (p *places) hold(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if extra := req.GetExtra(); extra != nil {
			if key := extra.Header.Get(placeHeader); key != "" {
				if held := p.enter(key); held != nil {
					defer held.leave()
					ctx = context.WithValue(ctx, placeKey{}, held)
				}
			}
		}
		return next(ctx, method, req)
	}
}
