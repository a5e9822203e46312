package mcpserver_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestLargeBodiesTakeNoCalls: bodies that do not arrive, large ones and ones of unknown
// size included, keep no request waiting that has arrived.
func TestLargeBodiesTakeNoCalls(t *testing.T) {
	w := start(t, setting{})
	head := "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
	for i := range 300 {
		c := w.connect()
		defer c.Close()
		length := "Content-Length: 17000"
		if i%2 == 1 {
			length = "Transfer-Encoding: chunked"
		}
		_, err := io.WriteString(c, head+length+"\r\n\r\n")
		must(t, err)
	}
	for _, era := range []string{modern, legacy} {
		c := w.dial(era) // insists on an answer
		resp := c.post(c.body("tools/list", nil))
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", era, resp.Status)
		}
	}
}

// TestLengthIsEnough: a body that says that it is too large is not waited for.
func TestLengthIsEnough(t *testing.T) {
	w := start(t, setting{})
	c := w.connect()
	defer c.Close()
	_, err := io.WriteString(c, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9999999999\r\n\r\n")
	must(t, err)
	line := make([]byte, 12)
	_, err = io.ReadFull(c, line)
	must(t, err)
	if string(line) != "HTTP/1.1 413" {
		t.Errorf("%s", line)
	}
}

// TestSessionKeepsLittle: what a client says of itself is kept as long as its
// session, so that it is bounded.
func TestSessionKeepsLittle(t *testing.T) {
	w := start(t, setting{})
	c := &client{site: w, era: legacy}
	for size, want := range map[int]int{60_000: http.StatusOK, 66_000: http.StatusRequestEntityTooLarge} {
		resp := c.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":%q,"version":"1"}}}`, strings.Repeat("a", size)))
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%d bytes: %s %.200s", size, resp.Status, body)
		}
	}
}

// TestAsteriskIsGuarded: what asks for the server and not for a path is asked for its
// host as everything is.
func TestAsteriskIsGuarded(t *testing.T) {
	w := start(t, setting{})
	c := w.connect()
	defer c.Close()
	_, err := io.WriteString(c, "OPTIONS * HTTP/1.1\r\nHost: evil.example\r\nOrigin: https://evil.example\r\n\r\n")
	must(t, err)
	line := make([]byte, 12)
	_, err = io.ReadFull(c, line)
	must(t, err)
	if string(line) != "HTTP/1.1 403" {
		t.Errorf("%s", line)
	}
}
