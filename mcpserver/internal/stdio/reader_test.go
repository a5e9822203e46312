package stdio

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync/atomic"
	"testing"
)

// lettingGo is an input that notes, at each read, whether the messages before were
// received.
type lettingGo struct {
	lines    int
	received *atomic.Int64
	brought  int64
	late     []int64 // the messages that were not
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

// A thread that waits in a read keeps its processor for up to 20 ms. So the goroutine that
// was handed a message runs before the reader waits for the next one. With one processor
// their order shows that.
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
	// The scheduler may take the processor away from a goroutine at any time.
	if len(in.late) > in.lines/100 {
		t.Errorf("of %d messages %d had not arrived when the reader went to wait for more: %v", in.lines, len(in.late), in.late)
	}
}
