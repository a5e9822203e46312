package guard

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"
)

// Bounds of the bodies that are on their way. Small bodies and others have separate bounds, so
// that large ones keep no small one waiting.
const (
	// smallBody is above all but a few requests, and maxSmall of them take at most 64 MiB.
	smallBody = 16 << 10
	maxSmall  = 4096
	// maxLarge is how many larger bodies, or of unknown size, arrive at once if there is
	// memory for them.
	maxLarge = 64
	// bodyCopies is how often a large body is held at most: as bytes, and as the message.
	bodyCopies = 2
)

// Body reads a request's body of at most the given number of bytes, which must arrive within
// [Options.BodyTimeout]. It reports false if it has refused the request. The caller calls free
// when it no longer needs the body.
func (g *Guard) Body(w http.ResponseWriter, r *http.Request, most int64) (body []byte, free func(), ok bool) {
	size, free := r.ContentLength, func() {}
	switch {
	case size > most:
		w.Header().Set("Connection", "close") // the body is not read
		g.tooLarge(w, most)
		return nil, free, false
	case size < 0:
		size = most // it is not announced
	}
	arriving, room := g.small, true
	if size > smallBody {
		c, _ := g.Caller(r)
		memory := g.o.Memory.Open(c.Share)
		arriving, room, free = g.large, memory.Try(bodyCopies*size), memory.Close
	}
	select {
	case arriving <- struct{}{}:
		defer func() { <-arriving }()
	default:
		room = false
	}
	if !room {
		w.Header().Set("Connection", "close") // or the rest is waited for
		w.Header().Set("Retry-After", "1")
		g.o.Refuse(w, http.StatusTooManyRequests, TooManyCalls)
		return nil, free, false
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	if err == nil { // or the connection is to end, and must not be waited for
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	}
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		g.tooLarge(w, most)
		return nil, free, false
	case err != nil:
		w.Header().Set("Connection", "close")
		g.o.Refuse(w, http.StatusRequestTimeout, "the request did not arrive whole")
		return nil, free, false
	}
	return body, free, true
}

func (g *Guard) tooLarge(w http.ResponseWriter, most int64) {
	g.o.Refuse(w, http.StatusRequestEntityTooLarge, "the request is over "+strconv.FormatInt(most, 10)+" bytes")
}
