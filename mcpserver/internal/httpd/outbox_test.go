package httpd

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// rest takes all messages, and returns them with their indexes.
func (o *outbox) rest() (got []string) {
	for {
		message, index, ok := o.take()
		if !ok {
			return got
		}
		got = append(got, fmt.Sprintf("%d:%s", index, message))
	}
}

func (o *outbox) sendMany(from, to int) {
	for i := from; i < to; i++ {
		o.Send(fmt.Append(nil, i))
	}
}

// TestResume checks that a resumed stream has the events after the last one that the client names,
// with the same numbers, as long as the outbox has them. A new stream has no past events, and
// counts from 0.
func TestResume(t *testing.T) {
	o := newOutbox()
	anew := func() {
		t.Helper()
		if status, no := o.attach(0, false); status != 0 {
			t.Fatal(no)
		}
	}
	o.sendMany(0, 3) // before any stream
	anew()
	o.sendMany(0, 5)
	if got := fmt.Sprint(o.rest()); got != "[0:0 1:1 2:2 3:3 4:4]" {
		t.Error(got)
	}
	if status, _ := o.attach(0, false); status != http.StatusConflict {
		t.Errorf("a second stream: %d", status)
	}
	o.detach()
	o.sendMany(5, 7)
	for from, want := range map[int]string{3: "[3:3 4:4 5:5 6:6]", 5: "[5:5 6:6]", 7: "[]", 99: "[]"} {
		if status, no := o.attach(from, true); status != 0 {
			t.Fatal(no)
		}
		if got := fmt.Sprint(o.rest()); got != want {
			t.Errorf("from %d: %s, want %s", from, got, want)
		}
		o.detach()
	}
	anew()
	o.sendMany(0, 1)
	if got := fmt.Sprint(o.rest()); got != "[0:0]" {
		t.Error(got)
	}
}

// TestOutboxIsBounded checks that without a stream, the outbox keeps only the last messages,
// bounded by number and size. A stream gets all messages, and a message that is sent again while it
// waits only once.
func TestOutboxIsBounded(t *testing.T) {
	o := newOutbox()
	o.sendMany(0, 1000)
	if status, _ := o.attach(1000-maxEvents-1, true); status != http.StatusBadRequest {
		t.Errorf("a message that is gone: %d", status)
	}
	if status, _ := o.attach(1000-maxEvents, true); status != 0 || len(o.rest()) != maxEvents {
		t.Errorf("the kept ones: %d", status)
	}
	o.sendMany(0, 500)
	o.sendMany(0, 500) // these messages are waiting already
	if n := len(o.rest()); n != 500 {
		t.Errorf("a stream gets %d", n)
	}
	o.detach()
	for i := range 10 {
		o.Send(append(make([]byte, maxEventBytes/3), byte(i)))
	}
	if len(o.left) != 2 {
		t.Errorf("%d large ones are kept", len(o.left))
	}
}

// TestReady checks that Ready waits for a slow reader with many pending messages, until the context
// ends.
func TestReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutbox()
		o.sendMany(0, maxEvents)
		if err := o.Ready(t.Context()); err != nil {
			t.Errorf("without a stream: %v", err)
		}
		_, _ = o.attach(0, true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := o.Ready(ctx); err == nil {
			t.Error("it does not wait")
		}
		go o.rest()
		if err := o.Ready(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
