package httpguard

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
	"github.com/knack-dev/knack/internal/base/limit"
)

// socket is a connection that reports when it is closed.
type socket struct {
	net.Conn
	closed chan struct{}
}

func (s *socket) Close() error { close(s.closed); return nil }

// TestArriving checks that too many connections without a request close only the oldest of them,
// and never one that has had a request.
func TestArriving(t *testing.T) {
	a := newArriving(2)
	open := func() *socket {
		s := &socket{closed: make(chan struct{})}
		a.changed(s, http.StateNew)
		return s
	}
	first, second, third := open(), open(), (*socket)(nil)
	a.changed(first, http.StateActive)
	a.changed(first, http.StateIdle)
	third = open()
	fourth := open()
	<-second.closed
	a.changed(second, http.StateClosed)
	for n, s := range []*socket{first, third, fourth} {
		select {
		case <-s.closed:
			t.Errorf("connection %d is closed", n)
		default:
		}
	}
	if a.changed(third, http.StateClosed); a.queue.Len() != 1 || len(a.elements) != 1 {
		t.Errorf("%d connections are in the queue, %d in the table, want 1", a.queue.Len(), len(a.elements))
	}
}

// TestUnreadBodies checks how many bytes an HTTP/2 client may send before a handler reads them.
func TestUnreadBodies(t *testing.T) {
	g, err := New(Options{
		BodyTimeout: time.Minute, DrainTimeout: time.Minute, Log: slog.New(slog.DiscardHandler),
	}, Server{
		Memory: limit.NewBudget(1<<20, 0),
		Access: access.NewGate(access.State{}),
	})
	must(t, err)
	like := httptest.NewUnstartedServer(nil)
	like.StartTLS()
	conf := like.TLS.Clone()
	like.Close()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- g.Serve(ctx, ln, conf) }()
	c, err := tls.Dial("tcp", ln.Addr().String(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	must(t, err)
	_, _ = io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00") // a SETTINGS frame without settings
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
