package httpd

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/internal/base/rawjson"
	"github.com/knack-dev/knack/internal/server/httpguard"
	"github.com/knack-dev/knack/mcpserver/internal/wire"
)

// slowCore answers each call once the channel is closed.
type slowCore struct {
	begun func()
	open  chan struct{}
}

func (c slowCore) NewSession(httpguard.Caller, Client) Session { return c }
func (slowCore) End()                                          {}
func (slowCore) Hear(*wire.Message, Session) *jsonrpc.Error    { return nil }

func (c slowCore) Take(*wire.Message, *wire.Params, *jsonrpc.Error, httpguard.Caller, Session, func([]byte)) (wire.Work, *jsonrpc.Error) {
	return c, nil
}

func (c slowCore) Answer(context.Context, wire.Claim) wire.Answer {
	c.begun()
	<-c.open
	return wire.Answer{ID: "1", Result: c}
}

func (slowCore) Close()                    {}
func (slowCore) Weight() int               { return 0 }
func (slowCore) Encode(e *rawjson.Encoder) { e.Raw("{}") }

// TestInitializesAreMadeAtOnce checks that a handshake that waits for a disk delays no other
// handshake, and that unfinished sessions count towards the bound.
func TestInitializesAreMadeAtOnce(t *testing.T) {
	const most = 3
	var begun sync.WaitGroup // the handshakes of all sessions that may be made
	begun.Add(most)
	refused := make(chan struct{})
	h, err := New(
		httpguard.Options{MaxSessions: most, MaxCalls: 10},
		httpguard.Server{Access: &access.Gate{}, Memory: limit.NewBudget(1<<20, time.Second)},
		slowCore{begun.Done, refused},
	)
	if err != nil {
		t.Fatal(err)
	}
	initialize := func() int {
		r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", strings.NewReader(
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`))
		r.RemoteAddr = "127.0.0.1:1" // this machine's own address may take all sessions, not only a share
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	var made sync.WaitGroup
	for range most {
		made.Go(func() {
			if code := initialize(); code != http.StatusOK {
				t.Errorf("status %d", code)
			}
		})
	}
	begun.Wait()
	if code := initialize(); code != http.StatusTooManyRequests {
		t.Errorf("one more than there is room for: status %d", code)
	}
	close(refused)
	made.Wait()
	if n, room := h.sessions.count(), h.sessions.room.Held(); n != most || room != most {
		t.Errorf("%d sessions with room for %d, want %d", n, room, most)
	}
}
