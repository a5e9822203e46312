package mcpserver

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/knack-dev/knack/catalog"
)

// lines returns a log, and a function that returns its lines so far, without times.
func lines(level slog.Level) (*slog.Logger, func() []string) {
	var mu sync.Mutex
	var b bytes.Buffer
	h := slog.NewTextHandler(lockedBuffer{&mu, &b}, &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})
	return slog.New(h), func() []string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	}
}

type lockedBuffer struct {
	mu *sync.Mutex
	b  *bytes.Buffer
}

func (l lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// TestClientFaultsAreNoErrors checks that a client's fault is not logged, however often it occurs.
func TestClientFaultsAreNoErrors(t *testing.T) {
	log, got := lines(slog.LevelWarn)
	c := catalog.New(nil, catalog.Options{})
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := New(Options{Catalog: c, Version: "test", Log: log})
	h, err := NewHTTP(s, HTTPOptions{Log: log})
	if err != nil {
		t.Fatal(err)
	}
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	post := func(session, version, body string) *http.Response {
		r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Mcp-Protocol-Version", version)
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
		}
		if version >= "2026-07-28" {
			r.Header.Set("Mcp-Method", "ping")
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Result()
	}
	session := post("", "2025-11-25", hello).Header.Get("Mcp-Session-Id")
	for range 3 {
		for _, body := range []string{
			`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, hello, "{", "[]",
			`{"jsonrpc":"2.0","id":1,"method":"nothing"}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":5}`,
			`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"x"}}`,
		} {
			post("nobody", "2025-11-25", body)
			post(session, "2025-11-25", body)
			if body != hello {
				post("", "2025-11-25", body)
			}
		}
		post("", "2026-07-28", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`)
		post(session, "2025-11-25", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`)
	}
	var out bytes.Buffer
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}` + "\noops\n" + hello + "\n" + hello + "\n")
	if err := s.Run(t.Context(), &StdioTransport{In: in, Out: lockedBuffer{new(sync.Mutex), &out}, Logger: log}); err != nil && err != io.EOF {
		t.Fatal(err)
	}
	if all := got(); len(all) != 1 || all[0] != "" {
		t.Errorf("%q", all)
	}
}
