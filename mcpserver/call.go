package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/internal/server/httpguard"
	"github.com/knack-dev/knack/mcpserver/internal/wire"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skillsext"
	"github.com/knack-dev/knack/tool/profile"
)

// A call arrives as bytes or through the SDK. This package decodes and answers bytes itself; the
// SDK handles the handshake, notifications and everything that this package declines. Both paths
// lead to [Server.answer] and from there to [Server.perform].

// request is one call, however it arrived.
type request struct {
	server *Server
	id     string // set only for a call that arrived as bytes
	method string
	params *wire.Params
	does   *method // nil if the SDK answers the method
	modern bool    // protocol version 2026-07-28 or later
	client profile.Client
	// session is nil if the call arrived as bytes over HTTP.
	session *mcp.ServerSession
	httpguard.Caller
	memory *limit.Account // nil for a plain method
	copies int64          // how often the answer is in memory before it is written
	claim  wire.Claim     // see [wire.Work]; may be nil
	out    result
}

// method describes how the calls of one method are answered.
type method struct {
	answer func(*Server, context.Context, *request) (reply, error)
	plain  bool // reads no file; its answers use data already in memory
}

// methods are the methods whose answers depend only on the caller's view and the parameters. The
// SDK answers all others.
var methods = map[string]*method{
	"tools/list":                  {(*Server).listTools, true},
	"tools/call":                  {(*Server).callTool, false},
	"resources/list":              {(*Server).listResources, true},
	"resources/templates/list":    {(*Server).listTemplates, true},
	"resources/read":              {(*Server).readResource, false},
	skillsext.MethodReadDirectory: {(*Server).readDirectory, false},
	skillsext.MethodList:          {(*Server).listSkills, false},
	skillsext.MethodGet:           {(*Server).getSkill, false},
	"prompts/list":                {(*Server).listPrompts, true},
	"prompts/get":                 {(*Server).getPrompt, false},
	"completion/complete":         {(*Server).complete, false},
}

// answer answers a call of one of [methods].
func (s *Server) answer(ctx context.Context, r *request) (*result, error) {
	res := &r.out
	var err error
	res.reply, err = s.perform(ctx, r, func(ctx context.Context) (reply, error) {
		if !r.does.plain {
			ctx = limit.WithAccount(profile.WithClient(ctx, &r.client), r.memory)
		}
		made, err := r.does.answer(s, ctx, r)
		if err == nil && !r.memory.Settle(ctx, r.copies*int64(made.weight)) || r.memory.Refused() {
			err = errNoMemory
		}
		if err == nil {
			err = ctx.Err() // a cancelled call gets no result
		}
		if r.claim != nil && !r.claim.Claim() {
			err = context.Canceled
		}
		return made, err
	})
	if err != nil {
		return nil, err
	}
	if r.modern {
		res.info = s.info
	}
	return res, nil
}

// Bounds on the memory of unwritten answers of all clients, in bytes, and on the wait for room. The
// process needs twice maxHeld, because of the garbage collector, plus the catalogue's memory.
const (
	maxHeld    = 96 << 20
	maxWait    = 10 * time.Second
	listMemory = 2 * skill.FolderMemory // for a list built from many files, some of them read at once
)

// errNoMemory refuses a call whose answer would need too much memory.
var errNoMemory = &jsonrpc.Error{Code: wire.CodeBusy, Message: "server busy: too much is being answered at once; try again"}

// perform runs work with the caller's view, counts it and reports it to the observer. A panic
// becomes an internal error, since one bad request must not end the session; its value is logged
// and never sent.
func (s *Server) perform(ctx context.Context, r *request, work func(context.Context) (reply, error)) (out reply, err error) {
	out.failed = true
	begun := time.Now()
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("panic while answering", "method", r.method, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			out.failed, err = true, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error"}
		}
		s.calls.Done(r.method, out.failed, time.Since(begun))
	}()
	s.roots.await(ctx, r)
	r.client.Remote = s.host.Remote || r.Remote
	// Only calls of Codex 0.169.0 in its code mode have such ids.
	r.client.Scripted = strings.HasPrefix(r.params.Meta.CallID, "exec-")
	ctx, observed := s.observed(r.Context(ctx), r)
	defer func() { observed(out.failed || out.absent) }()
	out, err = work(ctx)
	out.failed = out.failed || err != nil
	return out, err
}

// Answer answers a call that arrived as bytes.
func (r *request) Answer(ctx context.Context, claim wire.Claim) wire.Answer {
	r.copies, r.claim = 1, claim
	if !r.does.plain {
		r.memory = r.server.memory.Open(r.Share)
	}
	// Over stdio a read in this goroutine may hang: the transport still answers the call if it is
	// cancelled. An observer must be told of the call too, so with one, reads get their own
	// goroutines.
	if !r.does.plain && r.session != nil && r.server.observe == nil {
		ctx = catalog.InPlace(ctx)
	}
	res, err := r.server.answer(ctx, r)
	if err != nil {
		r.Close() // the error may wait for its client
		return wire.Answer{ID: r.id, Error: wire.ForClient(err), Busy: r.memory.Refused()}
	}
	return wire.Answer{ID: r.id, Result: res}
}

// Close releases the memory of the answer. It may be called again.
func (r *request) Close() { r.memory.Close() }

// read makes a request from a call's bytes. It returns nil for a call that only the SDK can judge.
func (s *Server) read(c wire.Call, p *wire.Params) *request {
	does := methods[c.Method]
	if does == nil || c.Params == nil && !strings.HasSuffix(c.Method, "/list") { // lists need no params
		return nil
	}
	r := &request{server: s, id: c.ID, method: c.Method, does: does, params: p}
	if p.Meta.ClientInfo != nil {
		var ok bool
		if r.client.Name, r.client.Version, ok = wire.ParseClient(p.Meta.ClientInfo); !ok {
			return nil
		}
	}
	if p.Meta.Version >= skillsext.Since {
		r.modern = true
		if p.Meta.Version != skillsext.Since || !plainCapabilities(p.Meta.Capabilities) {
			return nil
		}
	}
	return r
}

// plainCapabilities reports whether the SDK would accept a client's capabilities.
func plainCapabilities(raw []byte) bool {
	if string(raw) == "{}" {
		return true
	}
	var c *mcp.ClientCapabilities
	return len(raw) > 0 && json.Unmarshal(raw, &c) == nil && c != nil
}
