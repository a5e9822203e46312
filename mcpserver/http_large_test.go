package mcpserver_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/knack-dev/knack/mcpserver"
)

// TestLargeBodiesTakeNoCalls checks that bodies that do not arrive, even large ones and ones of
// unknown size, delay no request that has arrived.
func TestLargeBodiesTakeNoCalls(t *testing.T) {
	w := start(t, setting{})
	head := "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
	refused := make(chan bool, 300)
	for i := range 300 {
		c := w.connect()
		defer c.Close()
		go func() {
			status := make([]byte, len("HTTP/1.1 429"))
			_, err := io.ReadFull(c, status)
			refused <- err == nil && string(status) == "HTTP/1.1 429"
		}()
		length := "Content-Length: 17000"
		if i%2 == 1 {
			length = "Transfer-Encoding: chunked"
		}
		_, err := io.WriteString(c, head+length+"\r\n\r\n")
		must(t, err)
	}
	for i := range 300 - 64 { // 64 large bodies may arrive at the same time
		select {
		case refusal := <-refused:
			if !refusal {
				t.Fatal("a body that has not come is answered")
			}
		case <-time.After(10 * time.Second): // sooner than a body times out
			t.Fatalf("%d large bodies arrive at once, of 64", 300-i)
		}
	}
	for _, era := range []string{modern, legacy} {
		c := w.dial(era) // dial fails without an answer
		resp := c.post(c.body("tools/list", nil))
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", era, resp.Status)
		}
	}
}

// TestBodyIsBounded checks that a body without a Content-Length is read up to the limit.
func TestBodyIsBounded(t *testing.T) {
	w := start(t, setting{http: mcpserver.HTTPOptions{MaxBody: 100_000}})
	c := w.dial(modern)
	call := c.body("tools/list", nil)
	for size, want := range map[int]int{100_000: http.StatusOK, 100_001: http.StatusRequestEntityTooLarge} {
		r := c.request("POST", call)
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(call+strings.Repeat(" ", size-len(call)))), -1
		resp := do(t, r)
		if resp.Body.Close(); resp.StatusCode != want {
			t.Errorf("%d bytes: %s", size, resp.Status)
		}
	}
}

// TestHeadersAreEnough checks the requests that are refused before their body arrives. These are a
// request with a Content-Length over the limit, and one with a foreign host, even without a path.
func TestHeadersAreEnough(t *testing.T) {
	t.Parallel()
	w := start(t, setting{})
	for text, want := range map[string]string{
		"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9999999999\r\n\r\n": "HTTP/1.1 413",
		"OPTIONS * HTTP/1.1\r\nHost: evil.example\r\nOrigin: https://evil.example\r\n\r\n":                              "HTTP/1.1 403",
	} {
		c := w.connect()
		defer c.Close()
		_, err := io.WriteString(c, text)
		must(t, err)
		line := make([]byte, len(want))
		_, err = io.ReadFull(c, line)
		must(t, err)
		if string(line) != want {
			t.Errorf("%.20s: %s, want %s", text, line, want)
		}
	}
}
