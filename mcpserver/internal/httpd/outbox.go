package httpd

import (
	"bytes"
	"context"
	"net/http"
	"sync"
)

// Bounds on the notifications kept for a client that may resume its stream. They are list changes
// of some 100 bytes each.
const (
	maxEvents     = 64
	maxEventBytes = 32 << 10
)

// outbox queues the notifications for a client until a stream has written them. It keeps the last
// ones longer, so that a client whose stream broke can resume.
type outbox struct {
	wake chan struct{} // capacity 1: there is a message to take

	mu    sync.Mutex
	left  [][]byte
	first int           // index of left[0]
	next  int           // index of the message to take next
	size  int           // bytes in left
	open  bool          // a stream takes the messages
	room  chan struct{} // closed when a message is taken; nil without a waiter
}

func newOutbox() *outbox { return &outbox{wake: make(chan struct{}, 1)} }

// Send queues a message, unless the queue already has the same one.
func (o *outbox) Send(message []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, waiting := range o.left[o.next-o.first:] {
		if bytes.Equal(waiting, message) {
			return
		}
	}
	o.left, o.size = append(o.left, message), o.size+len(message)
	o.trim()
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// trim drops the oldest messages beyond the bounds. While a stream is open, it drops only messages
// that were taken. The caller holds mu.
func (o *outbox) trim() {
	for (len(o.left) > maxEvents || o.size > maxEventBytes && len(o.left) > 1) && (o.first < o.next || !o.open) {
		o.size -= len(o.left[0])
		o.left[0] = nil
		o.left, o.first = o.left[1:], o.first+1
	}
	o.next = max(o.next, o.first)
}

// Ready waits until the queue is short or the client has no stream.
func (o *outbox) Ready(ctx context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.open && o.first+len(o.left)-o.next > maxEvents/2 {
		if o.room == nil {
			o.room = make(chan struct{})
		}
		room := o.room
		o.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
		}
		o.mu.Lock()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// take returns the next message and its index. ok is false if the queue is empty.
func (o *outbox) take() (message []byte, index int, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.next == o.first+len(o.left) {
		return nil, 0, false
	}
	index = o.next
	message = o.left[index-o.first]
	o.next++
	o.trim()
	o.makeRoom()
	return message, index, true
}

// makeRoom wakes the callers of Ready. The caller holds mu.
func (o *outbox) makeRoom() {
	if o.room != nil {
		close(o.room)
		o.room = nil
	}
}

// attach opens the stream. If resumes is set, the stream begins at the message with the index from.
// Otherwise attach forgets past messages and counts from 0. If it refuses, it returns the HTTP
// status and the reason.
func (o *outbox) attach(from int, resumes bool) (status int, refusal string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.open:
		return http.StatusConflict, "the stream is open already"
	case !resumes:
		o.left, o.first, o.next, o.size = nil, 0, 0, 0
	case from < o.first:
		return http.StatusBadRequest, purged
	default:
		o.next = min(from, o.first+len(o.left))
	}
	o.open = true
	return 0, ""
}

// detach closes the stream.
func (o *outbox) detach() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open = false
	o.trim()
	o.makeRoom()
}
