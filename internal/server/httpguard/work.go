package httpguard

import (
	"fmt"
	"net/http"
	"time"

	"github.com/knack-dev/knack/internal/base/limit"
)

// Work is the resources of one request in flight: its place among the calls, and its memory.
type Work struct {
	Memory *limit.Account
	call   *limit.Account
}

// Begin takes a place among the calls in flight. If none is free, refusal is the message for the
// client.
func (g *Guard) Begin(share string) (work *Work, refusal string) {
	call := g.calls.Open(share)
	if !call.Try(1) {
		return nil, Full(g.calls, share, "calls")
	}
	return &Work{Memory: g.o.Memory.Open(share), call: call}, ""
}

// Close releases the place and the memory.
func (w *Work) Close() {
	w.call.Close()
	w.Memory.Close()
}

// TooManyCalls is the message for a request that is refused for lack of a place or of memory.
const TooManyCalls = "too many calls at once; try again"

// Full returns the message for a client that gets no more of a budget. what names the units of the
// budget.
func Full(b *limit.Budget, client, what string) string {
	if own, over := b.Share(client); over {
		return fmt.Sprintf("you have %d of the %d open %s, and the remaining places are for other clients; end one, or try again later", own, b.Held(), what)
	}
	return "too many " + what + "; end one, or try again later"
}

// writeChunk is the number of bytes written under one deadline.
const writeChunk = 64 << 10

// leastSpeed is the minimum speed at which a client must read an answer after the first chunk, in
// bytes per second. An answer takes memory until it is written.
const leastSpeed = 32 << 10

// PacedWriter is a response writer that fails if the client reads too slowly or not at all.
type PacedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
	left    time.Duration // the time left for writing; the pauses of a stream do not count
}

// NewPacedWriter returns a writer that allows a client the timeout for each chunk.
func NewPacedWriter(w http.ResponseWriter, timeout time.Duration) PacedWriter {
	return PacedWriter{w, http.NewResponseController(w), timeout, timeout}
}

// Unwrap lets [http.ResponseController] reach the connection.
func (p *PacedWriter) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// Write writes in chunks, each with its own deadline.
func (p *PacedWriter) Write(data []byte) (n int, err error) {
	for n < len(data) && err == nil {
		begun := time.Now()
		_ = p.control.SetWriteDeadline(begun.Add(min(p.timeout, p.left)))
		var m int
		m, err = p.ResponseWriter.Write(data[n:min(n+writeChunk, len(data))])
		n += m
		p.left += time.Duration(m)*time.Second/leastSpeed - time.Since(begun)
	}
	return n, err
}

// FlushError sends buffered data within the timeout.
func (p *PacedWriter) FlushError() error {
	_ = p.control.SetWriteDeadline(time.Now().Add(p.timeout))
	return p.control.Flush()
}
