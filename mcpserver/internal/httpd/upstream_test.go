package httpd

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestUpstreamKeepsEveryStream: the SDK's store has an entry for every stream of a session
// that goes on.
func TestUpstreamKeepsEveryStream(t *testing.T) {
	ctx := context.Background()
	s := mcp.NewMemoryEventStore(nil)
	s.SetMaxBytes(1000)
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // what has a finalizer goes with the second
		runtime.ReadMemStats(&m)
		return int64(m.HeapObjects)
	}
	before := heap()
	for i := range 20_000 {
		_ = s.Open(ctx, "a", fmt.Sprint(i))
		_ = s.Append(ctx, "a", fmt.Sprint(i), []byte("some bytes"))
	}
	if more := heap() - before; more < 20_000 {
		t.Errorf("upstream forgets streams, %d objects are left of 20,000: events may go", more)
	}
	runtime.KeepAlive(s)
}
