package guard

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/limit"
)

// socket is a connection of an address that notes that it was closed.
type socket struct {
	net.Conn
	address string
	closed  chan struct{}
}

func (s *socket) RemoteAddr() net.Addr {
	a, _ := net.ResolveTCPAddr("tcp", s.address+":1")
	return a
}

func (s *socket) Close() error { close(s.closed); return nil }

// TestConnections checks that an address with too many connections loses the one that has had
// no request for longest, and none that is being answered, and that another address gets in.
func TestConnections(t *testing.T) {
	table := conns{room: limit.NewBudget(4, 0), share: func(address string) string { return address }}
	open := func(address string) (*socket, context.Context) {
		s := &socket{address: address, closed: make(chan struct{})}
		return s, table.add(t.Context(), s)
	}
	_, busy := open("192.0.2.1")
	done := table.work(busy)
	oldest, _ := open("192.0.2.1")
	second, at := open("192.0.2.1")
	_, _ = open("192.0.2.1")
	<-oldest.closed
	table.work(at)
	_, fifth := open("192.0.2.1")
	table.work(fifth)
	other, _ := open("192.0.2.2")
	refused, _ := open("192.0.2.1")
	<-refused.closed
	select {
	case <-second.closed:
		t.Error("a connection that is being answered is closed")
	case <-other.closed:
		t.Error("another address has no connection")
	default:
	}
	done()
	if table.changed(second, http.StateClosed); table.room.Held() != 3 || len(table.of) != 3 {
		t.Errorf("%d places are held by %d connections, want 3", table.room.Held(), len(table.of))
	}
}

// TestUnreadBodies checks how much an HTTP/2 client may send before a handler reads.
func TestUnreadBodies(t *testing.T) {
	g, err := New(Options{
		BodyTimeout: time.Minute, DrainTimeout: time.Minute, Memory: limit.NewBudget(1<<20, 0),
		Access: access.NewGate(access.State{}), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	like := httptest.NewUnstartedServer(nil)
	like.StartTLS()
	conf := like.TLS.Clone()
	like.Close()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- g.Serve(ctx, ln, conf) }()
	c, err := tls.Dial("tcp", ln.Addr().String(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00") // no settings
	head := make([]byte, 9)
	if _, err := io.ReadFull(c, head); err != nil || head[3] != 4 {
		t.Fatalf("%v, and %x is no SETTINGS frame", err, head)
	}
	frame := make([]byte, binary.BigEndian.Uint16(head[1:]))
	if _, err := io.ReadFull(c, frame); err != nil {
		t.Fatal(err)
	}
	for most := map[uint16]uint32{4: maxUnread, 5: 16 << 10}; len(frame) >= 6; frame = frame[6:] {
		setting, value := binary.BigEndian.Uint16(frame), binary.BigEndian.Uint32(frame[2:])
		if value > most[setting] && most[setting] > 0 {
			t.Errorf("setting %d (4: of a stream, 5: of a frame) is %d, want %d", setting, value, most[setting])
		}
	}
	c.Close()
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
