package stdio

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The core's calls are taken back here: the SDK hears of those that it has.
func TestStdioCancellationsGoWhereTheCallIs(t *testing.T) {
	server := newStdioTools()
	server.core = true
	s := startStdio(t, server, &Options{})
	var heard atomic.Int64
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "notifications/cancelled" {
				heard.Add(1)
			}
			return next(ctx, method, req)
		}
	})
	s.initialize()
	s.send(stdioCall("1", "gate"), stdioCall(`"\u0032"`, "gate")) // the core declines an escape
	server.await(t, 2)
	s.send(stdioCancel("7"), stdioCancel("1"))
	s.want("1", -32603)
	s.send(stdioCancel(`"2"`))
	s.want(`"2"`, -32603)
	s.silent()
	if n := heard.Load(); n != 1 {
		t.Errorf("the SDK heard of %d cancellations, want 1", n)
	}
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
}

// A call whose work hangs, as that of a disk does, is answered once it is taken back, and only
// then. Its place and its id are free again.
func TestStdioStuckCallIsTakenBack(t *testing.T) {
	server := newStdioTools()
	server.core = true
	s := startStdio(t, server, &Options{MaxInFlight: 1})
	s.initialize()
	s.send(stdioCall("1", "stuck"))
	server.await(t, 1)
	s.send(stdioPing("2"))
	s.want("2", -32000) // busy
	s.send(stdioCancel("1"), stdioCancel("1"))
	s.want("1", -32603)
	s.send(stdioCall("1", "echo"))
	s.want("1", 0)
	close(server.open)
	s.silent()
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
	if extra := len(s.out.messages); extra != 0 {
		t.Errorf("%d answers too many", extra)
	}
}
