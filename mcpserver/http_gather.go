package mcpserver

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// net/http writes an answer of more than 4 KiB in two pieces or more: the first is its
// buffer, with the header in it. Each costs a tenth of the whole request, and the
// first wakes a client that then waits for the second. So the first piece of an
// answer that is given again is held back, and goes out with what follows.

// wholePiece is net/http's buffer. As long as that is what it writes of a longer answer
// at first.
const wholePiece = 4 << 10

// gathering is a listener whose connections can hold a piece back.
type gathering struct{ net.Listener }

func (l gathering) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &gatherer{Conn: c}, nil
}

// gatherer is a connection that does. It belongs to who answers.
type gatherer struct {
	net.Conn
	wanted bool              // the next piece is to be held
	held   *[wholePiece]byte // nil: none
	pieces [2][]byte         // of one write to the system
	all    net.Buffers
}

var pieces = sync.Pool{New: func() any { return new([wholePiece]byte) }}

func (g *gatherer) Write(p []byte) (int, error) {
	wanted := g.wanted && len(p) == wholePiece
	g.wanted = false
	switch {
	case g.held != nil:
	case wanted:
		g.held = pieces.Get().(*[wholePiece]byte)
		return copy(g.held[:], p), nil
	default:
		return g.Conn.Write(p)
	}
	g.pieces = [2][]byte{g.held[:], p}
	g.all = g.pieces[:]
	n, err := g.all.WriteTo(g.Conn)
	pieces.Put(g.held)
	g.held, g.pieces = nil, [2][]byte{}
	return max(int(n)-wholePiece, 0), err
}

// CloseWrite is what net/http does so that a client still reads why it is refused.
func (g *gatherer) CloseWrite() error {
	if c, ok := g.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return nil
}

type gathererKey struct{}

// gathered lets handlers find their connection.
func gathered(ctx context.Context, c net.Conn) context.Context {
	if g, ok := c.(*gatherer); ok {
		return context.WithValue(ctx, gathererKey{}, g)
	}
	return ctx
}

// gather has the first piece of an answer held until the next, where its body alone
// is so long that with its header there is one.
func gather(r *http.Request, body int) {
	if g, ok := r.Context().Value(gathererKey{}).(*gatherer); ok && body >= wholePiece {
		g.wanted = true
	}
}
