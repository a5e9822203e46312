package mcpserver

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/internal/server/event"
	"github.com/knack-dev/knack/internal/server/httpguard"
	"github.com/knack-dev/knack/mcpserver/internal/wire"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skillsext"
	"github.com/knack-dev/knack/tool/profile"
)

// call is a parsed call: its method and params, and the client that sent it.
type call struct {
	method string
	does   *method
	params *wire.Params
	modern bool // protocol version 2026-07-28 or later
	client profile.Client
}

// exchange is a call and its answer, over one of the transports.
type exchange struct {
	call
	httpguard.Caller
	server  *Server
	id      string
	session *session // nil for a call of 2026-07-28 over HTTP
	// send sends a notification to the client while the call runs.
	send   func(message []byte)
	memory *limit.Account // nil for a plain method
	claim  wire.Claim     // see [wire.Work]; may be nil
	out    result
	event  Event // set when the answer is made
}

// method describes one method of the protocol: its handler, and the calls that it accepts.
type method struct {
	answer func(*Server, context.Context, *exchange) (reply, error)
	plain  bool // its answers use data already in memory
	era    era
	bare   bool // needs no params
	early  bool // may be called before the session has begun
	open   bool // stays open, and is answered when the request's context ends
}

// era is a range of protocol versions.
type era int

const (
	always      era = iota
	inSessions      // before 2026-07-28, the first version without sessions
	sessionless     // since 2026-07-28
)

// methods maps the name of each method that the server answers to its description.
var methods = map[string]*method{
	"initialize":                  {answer: (*Server).initialize, plain: true, era: inSessions, early: true},
	"ping":                        {answer: (*Server).ping, plain: true, era: inSessions, bare: true, early: true},
	"logging/setLevel":            {answer: (*Server).setLevel, plain: true, era: inSessions, early: true},
	"resources/subscribe":         {answer: (*Server).subscribe, plain: true, era: inSessions, early: true},
	"resources/unsubscribe":       {answer: (*Server).unsubscribe, plain: true, era: inSessions, early: true},
	"server/discover":             {answer: (*Server).discover, plain: true, era: sessionless, bare: true, early: true},
	"subscriptions/listen":        {answer: (*Server).listen, plain: true, era: sessionless, open: true},
	"tools/list":                  {answer: (*Server).listTools, plain: true, bare: true},
	"tools/call":                  {answer: (*Server).callTool},
	"resources/list":              {answer: (*Server).listResources, plain: true, bare: true},
	"resources/templates/list":    {answer: (*Server).listTemplates, plain: true, bare: true},
	"resources/read":              {answer: (*Server).readResource},
	skillsext.MethodReadDirectory: {answer: (*Server).readDirectory, bare: true},
	skillsext.MethodList:          {answer: (*Server).listSkills, bare: true},
	skillsext.MethodGet:           {answer: (*Server).getSkill, bare: true},
	"prompts/list":                {answer: (*Server).listPrompts, plain: true, bare: true},
	"prompts/get":                 {answer: (*Server).getPrompt},
	"completion/complete":         {answer: (*Server).complete},
}

// clientOf returns a client by the name and the version that it claims.
func (s *Server) clientOf(name, version string) profile.Client {
	return profile.Client{Name: name, Version: version, Entry: s.o.Entry}
}

// take accepts a call, or returns the error that refuses it. no is the error of its params, or nil.
func (s *Server) take(m *wire.Message, p *wire.Params, no *jsonrpc.Error, in *session) (*exchange, *jsonrpc.Error) {
	does := methods[m.Method]
	x := &exchange{server: s, id: m.ID, session: in, call: call{method: m.Method, does: does, params: p, modern: p.Meta.Version >= skillsext.Since}}
	name, version, misnamed := "", "", (*jsonrpc.Error)(nil)
	if x.modern || p.Meta.ClientInfo != nil {
		name, version, misnamed = p.Meta.Client()
	}
	p.Meta.ClientInfo, p.Meta.Capabilities = nil, nil // they are slices of the message, which a stream would otherwise keep in memory
	begun := false
	if x.modern {
		x.client = s.clientOf(name, version)
	} else if in != nil {
		if x.client, begun = in.begunBy(); name != "" {
			told := x.client.Told
			x.client = s.clientOf(name, version)
			x.client.Told = told
		}
	}
	switch {
	case x.modern && misnamed != nil:
		return nil, misnamed
	case x.modern && !slices.Contains(wire.Versions(), p.Meta.Version):
		return nil, wire.Unsupported(wire.Versions(), p.Meta.Version)
	case !x.modern && !begun && (does == nil || !does.early):
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "the session is not initialized: send initialize first"}
	case does == nil && notifications[m.Method]:
		return nil, wire.InvalidRequest("a notification has no id")
	case does == nil, does.era == inSessions && x.modern, does.era == sessionless && !x.modern:
		return nil, wire.MethodNotFound
	case p.Missing && !does.bare:
		return nil, wire.InvalidRequest("params are missing")
	case no != nil:
		return nil, no
	}
	if m.Method == "initialize" {
		x.client = s.clientOf(p.Handshake.Name, p.Handshake.ClientVersion)
	}
	return x, nil
}

// answer answers an accepted call.
func (s *Server) answer(ctx context.Context, x *exchange) (*result, error) {
	res := &x.out
	var err error
	res.reply, err = s.perform(ctx, x, func(ctx context.Context) (reply, error) {
		if !x.does.plain {
			ctx = limit.WithAccount(profile.WithClient(ctx, &x.client), x.memory)
		}
		made, err := x.does.answer(s, ctx, x)
		if err == nil && !x.memory.Settle(ctx, int64(made.weight)) || x.memory.Refused() {
			err = errNoMemory
		}
		if err == nil && !x.does.open {
			err = ctx.Err() // a cancelled call gets no result
		}
		if x.claim != nil && !x.claim.Claim() {
			err = context.Canceled
		}
		return made, err
	})
	if err != nil {
		return nil, err
	}
	if x.modern {
		res.info = s.info
	}
	return res, nil
}

// Bounds on the memory of unwritten answers of all clients, in bytes, and on the wait for room. The
// process needs twice maxHeld, because of the garbage collector, plus the catalogue's memory.
const (
	maxHeld    = 96 << 20
	maxWait    = 10 * time.Second
	listMemory = 2 * skill.FolderMemory // for a list built from many files, some of which are read at the same time
)

// errNoMemory refuses a call whose answer would need too much memory.
var errNoMemory = &jsonrpc.Error{Code: wire.CodeBusy, Message: "server busy: too much is being answered at once; try again"}

// perform runs work with the caller's view, and records the call. A panic becomes an internal
// error, since one bad request must not end the session; its value is logged and never sent.
func (s *Server) perform(ctx context.Context, x *exchange, work func(context.Context) (reply, error)) (out reply, err error) {
	out.failed = true
	begun := time.Now()
	var trace *catalog.Trace
	defer func() {
		if p := recover(); p != nil {
			s.o.Log.Error("panic while answering", "method", x.method, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			out.failed, err = true, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error"}
		}
		s.record(ctx, x, trace, begun, out.failed || out.absent)
	}()
	s.roots.await(ctx, x)
	if x.modern {
		s.addClient(x)
	}
	x.client.Remote = s.host.Remote || x.Remote
	// Only calls of Codex 0.169.0 in its code mode have such ids.
	x.client.Scripted = strings.HasPrefix(x.params.Meta.CallID, "exec-")
	ctx = x.Context(ctx)
	if s.o.Audit {
		ctx, trace = catalog.WithTrace(ctx)
	}
	out, err = work(ctx)
	out.failed = out.failed || err != nil
	return out, err
}

// record passes the event of a call to the sinks. trace lists the files that were read for the
// call. It is nil without an audit log.
func (s *Server) record(ctx context.Context, x *exchange, trace *catalog.Trace, begun time.Time, failed bool) {
	if len(s.events) == 0 {
		return
	}
	e, p := &x.event, x.params
	*e = Event{
		Surface: event.MCP, Subject: x.Subject.Name, Client: x.client.Name, Address: x.Address,
		Method: x.method, Route: x.method, Took: time.Since(begun), Result: event.OK, Unlogged: x.method == "ping",
	}
	e.Call(s.tool(p.Name), p.Name, p.URI, p.Arguments)
	if failed || event.UsesSkills(x.method) {
		e.View, _ = s.o.Catalog.Now(x.Filter)
	}
	fault := trace.Fault()
	if failed && x.memory.Refused() {
		fault, e.Refusal = skill.ErrBusy, event.TooBusy
	}
	switch {
	case !failed:
		e.Loaded = trace.Loads() // a failed call has none, even if files were read for it
	case e.Asked == "", ctx.Err() != nil:
		e.Result = event.Failed
	default:
		e.Explain(s.o.Catalog, fault)
	}
	s.events.Record(e)
}

// addClient removes from lists the skills that a client over stdio shows itself. It does nothing
// for a client over HTTP, because that client may have the folders of another machine.
func (s *Server) addClient(x *exchange) {
	if x.session.isPipe() {
		s.host.Catalog.AddClient(x.client.Agent())
	}
}

// Answer implements [wire.Work].
func (x *exchange) Answer(ctx context.Context, claim wire.Claim) wire.Answer {
	x.claim = claim
	if !x.does.plain {
		x.memory = x.server.memory.Open(x.Share)
	}
	// Over stdio, a read may run in this goroutine even if it hangs, since the transport answers
	// the call if it is cancelled. A sink would not get the event of a cancelled call. With sinks,
	// a read therefore gets its own goroutine.
	if !x.does.plain && x.session.isPipe() && len(x.server.events) == 0 {
		ctx = catalog.InPlace(ctx)
	}
	res, err := x.server.answer(ctx, x)
	if err != nil {
		x.Close() // the answer needs no memory, and the client may be slow to read it
		return wire.Answer{ID: x.id, Error: wire.ForClient(err), Busy: x.memory.Refused()}
	}
	return wire.Answer{ID: x.id, Result: res}
}

// Close releases the memory of the answer. It may be called again.
func (x *exchange) Close() { x.memory.Close() }
