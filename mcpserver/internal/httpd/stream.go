package httpd

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/knack-dev/knack/internal/server/httpguard"
	"github.com/knack-dev/knack/mcpserver/internal/wire"
)

// openStream is a request waiting for notifications.
type openStream struct {
	token string
	end   context.CancelFunc
}

// stream opens a stream for a request. The stream lasts until ctx ends, and the caller calls closed
// at its end. If there are too many streams, stream answers the request, and ok is false.
func (h *Handler) stream(w http.ResponseWriter, r *http.Request, id []byte, c httpguard.Caller) (ctx context.Context, closed func(), ok bool) {
	place := h.streams.Open(c.Share)
	if !place.Try(1) {
		place.Close()
		refuseBusy(w, http.StatusTooManyRequests, id, httpguard.Full(h.streams, c.Share, "streams"))
		return nil, nil, false
	}
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(h.Ended(), cancel)
	open := &openStream{c.Token, cancel}
	h.open.Store(open, nil)
	if _, ok := h.access.Now().Authenticate(ctx, c.Token); !ok {
		cancel() // the token was revoked after it was checked
	}
	return ctx, sync.OnceFunc(func() {
		h.open.Delete(open)
		stop()
		cancel()
		place.Close()
	}), true
}

// serveGet serves the stream of a session's notifications. A client whose stream broke resumes it
// after the last event that it got.
func (h *Handler) serveGet(w http.ResponseWriter, r *http.Request, c httpguard.Caller) {
	if _, events := accepts(r.Header["Accept"]); !events {
		invalid(w, http.StatusBadRequest, refusedAccept)
		return
	}
	in := h.sessionOf(w, r, c)
	if in == nil {
		return
	}
	ctx, closed, ok := h.stream(w, r, nil, c)
	if !ok {
		return
	}
	defer closed()
	stream, index, resumes := strings.Cut(r.Header.Get("Last-Event-Id"), "_")
	from, err := 0, error(nil)
	if resumes {
		from, err = strconv.Atoi(index)
		from++
	}
	if err != nil || stream != "" {
		invalid(w, http.StatusBadRequest, purged)
		return
	}
	if status, no := in.out.attach(from, resumes); status != 0 {
		invalid(w, status, no)
		return
	}
	defer in.out.detach()
	defer context.AfterFunc(in.ended, closed)()
	to := newEvents(w, h.o.WriteTimeout)
	to.comment("ok") // proxies forward a stream only once it has data
	for to.err == nil {
		if message, index, ok := in.out.take(); ok {
			to.event(fmt.Sprintf("_%d", index), message)
			continue
		}
		select {
		case <-in.out.wake:
		case <-ctx.Done():
			return
		}
	}
}

const purged = "these events are no longer kept; ask again"

// listen answers subscriptions/listen with a stream.
func (x *exchange) listen() {
	out := newOutbox()
	out.open = true
	work, no := x.h.core.Take(x.m, x.p, x.fault, x.caller, nil, out.Send)
	if no != nil {
		x.refuse(no)
		return
	}
	ctx, closed, ok := x.h.stream(x.w, x.r, []byte(x.m.ID), x.caller)
	if !ok {
		return
	}
	defer closed()
	defer work.Close()
	httpguard.IsRecorded(x.r)
	// A request that waits for notifications does no work, and needs its body no longer.
	x.place.Close()
	x.m.Params = nil
	x.free()
	answered := make(chan struct{})
	var a wire.Answer
	go func() {
		defer close(answered)
		a = work.Answer(ctx, nil)
	}()
	var to *events
	for over := false; ; {
		if message, _, ok := out.take(); ok {
			if to == nil {
				to = newEvents(x.w, x.h.o.WriteTimeout)
			}
			if to.event("", message); to.err != nil {
				closed()
			}
			continue
		}
		if over {
			break
		}
		select {
		case <-out.wake:
		case <-answered:
			over = true // the answer follows the messages that are still queued
		}
	}
	switch {
	case to == nil:
		x.write(a)
	case a.Error == nil && x.r.Context().Err() == nil:
		var b bytes.Buffer
		_ = a.Write(&b, "", func(int64) error { return nil }) // a buffer takes anything
		to.event("", b.Bytes())
	}
}

// events writes server-sent events.
type events struct {
	to  httpguard.PacedWriter
	err error
}

func newEvents(w http.ResponseWriter, timeout time.Duration) *events {
	header := w.Header()
	header["Cache-Control"] = noCache
	header.Set("Content-Type", "text/event-stream")
	header.Set("Connection", "keep-alive")
	header.Set("X-Accel-Buffering", "no") // a proxy passes each event on (Streamable HTTP, Receiving Messages)
	w.WriteHeader(http.StatusOK)
	return &events{to: httpguard.NewPacedWriter(w, timeout)}
}

func (e *events) comment(text string) { e.write(": " + text + "\n\n") }

func (e *events) event(id string, data []byte) {
	if id != "" {
		id = "id: " + id + "\n"
	}
	e.write("event: message\n" + id + "data: " + string(data) + "\n\n")
}

func (e *events) write(text string) {
	if e.err == nil {
		if _, e.err = io.WriteString(&e.to, text); e.err == nil {
			e.err = e.to.FlushError()
		}
	}
}
