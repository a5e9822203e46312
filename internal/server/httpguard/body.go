package httpguard

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/knack-dev/knack/internal/base/rawjson"
)

// The bounds of bodies that are arriving. Small and large bodies have separate bounds, so that
// large ones never delay small ones.
const (
	// smallBody is a size that few requests exceed. maxSmall such bodies take at most 16 MiB.
	smallBody = 16 << 10
	maxSmall  = 1024
	// maxLarge bounds the bodies of a larger or unknown size that arrive concurrently. They also
	// need memory.
	maxLarge = 64
	// bodyCopies is the maximum number of copies of a large body in memory: the bytes, and the
	// decoded message.
	bodyCopies = 2
	// fewValues is a number of JSON values that few requests exceed. For other requests, each value
	// counts as valueBytes of memory. The costliest decoded value, an object in an object, takes
	// 335 bytes.
	fewValues  = 64
	valueBytes = 340
)

// Body reads a request's body within [Options.BodyTimeout]; most bounds its size in bytes. The
// request must have passed [Guard.Handle]. ok is false if Body has refused the request. The caller
// calls free when it no longer needs the decoded body.
func (g *Guard) Body(w http.ResponseWriter, r *http.Request, most int64) (body []byte, free func(), ok bool) {
	size := r.ContentLength
	if size > most {
		w.Header().Set("Connection", "close") // the body is not read
		g.tooLarge(w, most)
		return nil, func() {}, false
	}
	x := recordOf(r)
	share := shareOf(g.o.Access.Now(), x.who, x.Address)
	memory, arriving := g.o.Memory.Open(share), g.small.Open(share)
	if size < 0 {
		size = most // the size is not announced
	}
	room := true
	if size > smallBody {
		arriving, room = g.large.Open(share), memory.Try(bodyCopies*size)
	}
	defer arriving.Close()
	if !room || !arriving.Try(1) {
		g.noRoom(w)
		return nil, memory.Close, false
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	if err == nil { // after an error the connection ends, so its deadline stays
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	}
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		g.tooLarge(w, most)
		return nil, memory.Close, false
	case err != nil:
		w.Header().Set("Connection", "close")
		g.o.Refuse(w, http.StatusRequestTimeout, "the request did not arrive whole")
		return nil, memory.Close, false
	}
	// Refuse a body with too many values before it is decoded.
	if rawjson.HasMore(body, fewValues) {
		if n := rawjson.Values(body); n <= rawjson.MaxValues && !memory.Try(int64(n)*valueBytes) {
			g.noRoom(w)
			return nil, memory.Close, false
		}
	}
	return body, memory.Close, true
}

func (g *Guard) noRoom(w http.ResponseWriter) {
	w.Header().Set("Connection", "close") // otherwise the server waits for the rest
	w.Header().Set("Retry-After", "1")
	g.o.Refuse(w, http.StatusTooManyRequests, TooManyCalls)
}

func (g *Guard) tooLarge(w http.ResponseWriter, most int64) {
	g.o.Refuse(w, http.StatusRequestEntityTooLarge, "the request is over "+strconv.FormatInt(most, 10)+" bytes")
}
