package mcpserver

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/rawjson"
	"github.com/knack-dev/knack/internal/server/event"
	"github.com/knack-dev/knack/mcpserver/internal/notify"
	"github.com/knack-dev/knack/mcpserver/internal/wire"
	"github.com/knack-dev/knack/tool"
	"github.com/knack-dev/knack/tool/profile"
)

// session is a session of a protocol version before 2026-07-28. Over stdio it also has the calls of
// later versions.
type session struct {
	server *Server
	// listener receives notifications once the session has begun.
	listener notify.Listener
	// ask sends a call to the client; it is nil over HTTP.
	ask func(ctx context.Context, method string) (json.RawMessage, error)

	mu     sync.Mutex
	begun  bool // initialize was answered
	client profile.Client
	roots  bool // the client offers roots
}

// isPipe reports whether the session is over stdio.
func (in *session) isPipe() bool { return in != nil && in.ask != nil }

// begunBy returns the client of a session that has begun.
func (in *session) begunBy() (client profile.Client, begun bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.client, in.begun
}

// begin begins the session, and reports whether it had not begun before.
func (in *session) begin(client profile.Client, roots bool) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.begun {
		return false
	}
	client.Name, client.Version = display.CutBytes(client.Name, maxKeptName), display.CutBytes(client.Version, maxKeptName)
	in.begun, in.client, in.roots = true, client, roots
	return true
}

// setTold records which part of the list of skills the session's instructions contain.
func (in *session) setTold(t profile.Told) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.client.Told = t
}

// offersRoots reports whether the client offers roots.
func (in *session) offersRoots() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.roots
}

// End ends the notifications.
func (in *session) End() { in.server.notifier.End(&in.listener) }

// notifications has the notifications of clients that the server knows. It ignores any other
// notification (JSON-RPC, Notification).
var notifications = map[string]bool{
	"notifications/cancelled": true, "notifications/initialized": true, "notifications/progress": true, "notifications/roots/list_changed": true,
}

// hear handles a notification, or returns the refusal of a call without an id. The transport
// itself handles cancellations. Without a session, in is nil.
func (s *Server) hear(m *wire.Message, in *session) *jsonrpc.Error {
	switch {
	case methods[m.Method] != nil:
		return wire.InvalidRequest("the id is missing")
	case !strings.HasPrefix(m.Method, "notifications/"):
		return wire.MethodNotFound
	case !notifications[m.Method]:
		return nil
	}
	begun := time.Now()
	if m.Method == "notifications/initialized" || m.Method == "notifications/roots/list_changed" {
		s.roots.offered(in)
	}
	if len(s.events) > 0 {
		s.events.Record(&Event{Surface: event.MCP, Method: m.Method, Route: m.Method, Took: time.Since(begun), Result: event.OK, Unlogged: true})
	}
	return nil
}

// initialize begins a session.
func (s *Server) initialize(ctx context.Context, x *exchange) (reply, error) {
	h := x.params.Handshake
	if !x.session.begin(s.clientOf(h.Name, h.ClientVersion), h.Roots) {
		return reply{}, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "the session is initialized already"}
	}
	s.addClient(x)
	instructions, told := s.instructions(ctx, x)
	x.session.setTold(told)
	s.notifier.Subscribe(&x.session.listener, x.Principal)
	return reply{members: func(e *rawjson.Encoder) {
		e.Raw(`"capabilities":`)
		e.Value(s.capabilities)
		writeInstructions(e, instructions)
		e.Raw(`,"protocolVersion":`)
		e.String(wire.Negotiate(h.Version))
		e.Raw(`,"serverInfo":`)
		e.RawBytes(s.info)
	}}, nil
}

// discover describes the server to a client of 2026-07-28. Its answer names the caller's skills, so
// clients must not cache it.
func (s *Server) discover(ctx context.Context, x *exchange) (reply, error) {
	instructions, _ := s.instructions(ctx, x)
	since := *s.capabilities
	//lint:ignore SA1019 not declared since it is no longer of the protocol
	since.Logging = nil
	return reply{hints: &uncached, members: func(e *rawjson.Encoder) {
		e.Raw(`"supportedVersions":`)
		e.Value(wire.Versions())
		e.Raw(`,"capabilities":`)
		e.Value(&since)
		writeInstructions(e, instructions)
	}}, nil
}

func writeInstructions(e *rawjson.Encoder, text string) {
	if text != "" {
		e.Raw(`,"instructions":`)
		e.String(text)
	}
}

// ping returns an empty result.
func (s *Server) ping(context.Context, *exchange) (reply, error) { return reply{}, nil }

// declared returns the capabilities of the versions with sessions.
func declared() *mcp.ServerCapabilities {
	return &mcp.ServerCapabilities{
		Tools:       &mcp.ToolCapabilities{ListChanged: true},
		Resources:   &mcp.ResourceCapabilities{ListChanged: true, Subscribe: true},
		Prompts:     &mcp.PromptCapabilities{ListChanged: true},
		Completions: &mcp.CompletionCapabilities{},
		//lint:ignore SA1019 deprecated by the specification, spoken by the clients in use
		Logging: &mcp.LoggingCapabilities{},
	}
}

// instructionsKey is the key under which a snapshot caches the instructions for a client.
type instructionsKey struct {
	server     *Server
	client     profile.Client
	offersMore bool // the client offers roots, which were not asked for yet
}

// written holds instructions, and records which part of the list of skills they contain.
type written struct {
	text string
	told profile.Told
}

// write returns the instructions. The snapshot caches them if the view is complete.
func (k instructionsKey) write(v catalog.View) written {
	define := func() written {
		var notes []string
		if k.offersMore {
			notes = append(notes, "More skills may come from the application's folders.")
		}
		return written{tool.Instructions(v, k.server.o.Tools, k.client, notes...), tool.Told(v, k.server.o.Tools, k.client)}
	}
	if v.Snapshot == nil || v.Incomplete() != nil || !isKept(k.client) {
		return define()
	}
	return catalog.Keep(v.Snapshot, k, define)
}

// instructions returns the instructions for a client, and the part of the list of skills that they
// contain.
func (s *Server) instructions(ctx context.Context, x *exchange) (string, profile.Told) {
	v, err := s.o.Catalog.CompleteView(ctx, s.grace)
	if err != nil {
		v = catalog.View{}
	}
	client := s.clientOf(x.client.Name, x.client.Version)
	w := instructionsKey{s, client, x.method == "initialize" && s.roots.offeredBy(x.session)}.write(v)
	return w.text, w.told
}
