package mcpserver

import (
	"bytes"
	"io"
	"net"
	"testing"
)

// A connection holds back the piece that it was told of, and no other, and sends it
// before what follows.
func TestGatherer(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	client, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	conn, err := gathering{ln}.Accept()
	if err != nil {
		t.Fatal(err)
	}
	g := conn.(*gatherer)
	var want []byte
	write := func(c byte, size int, held bool) {
		t.Helper()
		p := bytes.Repeat([]byte{c}, size)
		want = append(want, p...)
		if n, err := g.Write(p); n != size || err != nil {
			t.Fatal(n, err)
		}
		if (g.held != nil) != held || g.wanted {
			t.Errorf("after %d bytes of %c: held %t, wanted %t", size, c, g.held != nil, g.wanted)
		}
		clear(p) // who writes has its buffer back
	}
	write('a', wholePiece, false) // nobody asked
	g.wanted = true
	write('b', wholePiece, true)
	write('c', 9000, false)
	g.wanted = true
	write('d', 100, false) // it is the whole answer
	write('e', wholePiece, false)
	g.wanted = true
	write('f', wholePiece, true)
	write('g', wholePiece, false)
	if err := g.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(client)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes came, of %d, %v", len(got), len(want), err)
	}
	g.Close()
}
