package stdio

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// lettingGo is an input that looks, whenever more is read, whether what it brought before
// has reached whom it is for.
type lettingGo struct {
	lines    int
	received *atomic.Int64
	brought  int64
	late     []int64 // what had not
}

func (l *lettingGo) Read(p []byte) (int, error) {
	if got := l.received.Load(); got < l.brought {
		l.late = append(l.late, l.brought)
	}
	if l.brought == int64(l.lines) {
		return 0, io.EOF
	}
	l.brought++
	return copy(p, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d,"progress":1}}`+"\n", l.brought)), nil
}

// A thread that waits in a read keeps its processor for up to 20 ms, and what is to
// run on that waits as long where the others are busy. So the reader waits for nothing
// before those run to whom it has handed something. With one processor that is seen
// from their order.
func TestStdioReaderLetsGo(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var received atomic.Int64
	in := &lettingGo{lines: 1000, received: &received}
	c, err := New(Options{In: in, Out: io.Discard}.defaults()).Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for {
		if _, err := c.Read(t.Context()); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		received.Add(1)
	}
	if got := received.Load(); got != int64(in.lines) {
		t.Errorf("%d messages of %d were received", got, in.lines)
	}
	// The scheduler may take the processor away from anybody at any time.
	if len(in.late) > in.lines/100 {
		t.Errorf("of %d messages %d had not arrived when the reader went to wait for more: %v", in.lines, len(in.late), in.late)
	}
}

// readings is an input that brings each text when it is sent, and tells of each read.
type readings struct {
	texts chan string
	begun chan struct{}
}

func (r readings) Read(p []byte) (int, error) {
	r.begun <- struct{}{}
	text, ok := <-r.texts
	if !ok {
		return 0, io.EOF
	}
	return copy(p, text), nil
}

// While a client has one call under way the reader waits without a processor, for a
// while; with several, or once that is over, it reads on, so that a call can be taken back.
func TestStdioReaderWaitsForTheOnlyCall(t *testing.T) {
	call := func(id int64) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/list","params":{}}`+"\n", id)
	}
	for _, test := range []struct {
		name  string
		most  time.Duration
		calls int
		waits bool
	}{
		{"one call", time.Hour, 1, true},
		{"one call for long", time.Millisecond, 1, false},
		{"two calls", time.Hour, 2, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := readings{make(chan string), make(chan struct{})}
			c := New(Options{In: in, Out: io.Discard}.defaults()).conn()
			c.settle = test.most
			go c.receive()
			go c.print()
			defer c.Close()
			defer close(in.texts)
			<-in.begun
			text := ""
			for id := range test.calls {
				text += call(int64(id))
			}
			in.texts <- text
			for range test.calls {
				if _, err := c.Read(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if !test.waits {
				<-in.begun // or the test never ends
				return
			}
			select {
			case <-in.begun:
				t.Fatal("the reader went to wait for more while the only call was being worked on")
			case <-time.After(50 * time.Millisecond):
			}
			id, err := jsonrpc.MakeID(float64(0))
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Write(t.Context(), &jsonrpc.Response{ID: id, Result: []byte("{}")}); err != nil {
				t.Fatal(err)
			}
			<-in.begun
		})
	}
}
