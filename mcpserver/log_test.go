package mcpserver_test

import (
	"bytes"
	"log/slog"
	"sync"
	"testing"

	"github.com/knack-dev/knack/mcpserver"
)

// TestClientFaultsAreNoErrors checks that a client's fault is not logged, however often it occurs.
func TestClientFaultsAreNoErrors(t *testing.T) {
	var mu sync.Mutex
	var logged bytes.Buffer
	log := slog.New(slog.NewTextHandler(locked{&mu, &logged}, &slog.HandlerOptions{Level: slog.LevelWarn}))
	s := serve(t, scanned(t), func(o *mcpserver.Options) { o.Log = log })
	h, err := mcpserver.NewHTTP(s, mcpserver.HTTPOptions{Log: log})
	must(t, err)
	session := begin(t, h, "192.0.2.1:1")
	alone := map[string]string{"Mcp-Protocol-Version": legacy}
	nobody := map[string]string{"Mcp-Protocol-Version": legacy, "Mcp-Session-Id": "nobody"}
	hello := initialize("1", legacy)
	for range 3 {
		for _, body := range []string{
			`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, initialized, hello, "{", "[]",
			`{"jsonrpc":"2.0","id":1,"method":"nothing"}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":5}`,
			`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"x"}}`,
		} {
			post(t, h, body, nobody)
			post(t, h, body, session)
			if body != hello {
				post(t, h, body, alone)
			}
		}
		ping := callText("1", "ping", withMeta("{}", doorMeta))
		post(t, h, ping, modernHeaders(ping))
		post(t, h, ping, session)
	}
	talk(t, s, "").end(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "oops", hello, hello)
	mu.Lock()
	defer mu.Unlock()
	if logged.Len() > 0 {
		t.Error(logged.String())
	}
}
