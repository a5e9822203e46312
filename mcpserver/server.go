package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skillsext"
	"github.com/knack-dev/knack/tool"
)

// Name is what the server calls itself.
const Name = "knack"

// Timing of the first answers.
const (
	// wholeGrace is how long the first answers wait until all skills were read, as long
	// as the reading goes on: a session is shown its instructions once, and many clients
	// ask for no list again. Clients wait 10 to 60 s for initialize; 15,648 real skills
	// took 7 s on a busy machine, and 0.3 s on a quiet one.
	wholeGrace = 5 * time.Second
	// rootsGrace is how long a session that offers roots waits, once, for them to
	// be named: its project's skills should be in the first list that it sees.
	rootsGrace = 500 * time.Millisecond
	// endGrace is what handlers have to end once nobody waits for them any more.
	endGrace = time.Second
)

// Options of a server.
type Options struct {
	Catalog *catalog.Catalog
	Tools   []*tool.Tool
	Version string
	// Remote: clients are on other machines, so that folders are named by URI. Over HTTP
	// they also are for a request that a proxy has passed on, that bears a token, or that
	// comes while a policy holds: then others than this machine's user may ask.
	Remote bool
	// Private: not everyone who can reach the server may ask, or what it serves is
	// one person's own (over stdio), so that no shared cache may keep its answers.
	Private bool
	// Roots, if set, is called with the folders that a client names as its roots.
	// It returns when the catalogue has taken them in. The catalogue is one for all
	// sessions, so that this is for a server of one client, over stdio: only the
	// first session that offers roots is asked, and never one over HTTP.
	Roots func(ctx context.Context, folders []string)
	// Engage, if set, is what skill://engage/SKILL.md answers where no skill has
	// it; see [tool.Host].
	Engage func() string
	// Entry is the server's name in the settings of the client that starts it; empty if
	// it is unknown.
	Entry string
	// Observe, if set, hears of everything that a client did with skills, after it
	// was answered, from the goroutine of the call. It must not wait: the answer waits
	// for it.
	Observe func(Use)
	// Audit: Observe hears of what was refused or failed too, and of every method,
	// and each use has its event for the audit log, with what was loaded.
	Audit bool
	Log   *slog.Logger
}

// Server is an MCP server for any number of sessions.
type Server struct {
	catalog *catalog.Catalog
	tools   []*tool.Tool
	host    *tool.Host
	log     *slog.Logger
	mcp     *mcp.Server
	roots   *clientRoots
	observe func(Use)
	audit   bool
	grace   time.Duration // wholeGrace; tests have less

	entry         string
	private       bool
	manifests     *catalog.Manifests
	subscriptions *subscriptions
	places        places // of the calls over HTTP
	audience      audience
	told          sync.Map // what was logged of skills that are not published
	nudged        struct { // what was added and not removed, to announce a change
		sync.Mutex
		templates, prompts bool
	}
	unprompted atomic.Int64 // how many skills the log last said to have no prompt
}

// New makes a server. Everything is registered before the first session.
func New(o Options) *Server {
	o.Log = bounded(o.Log)
	s := &Server{
		catalog: o.Catalog, tools: o.Tools, log: o.Log, roots: newClientRoots(o),
		host:    &tool.Host{Catalog: o.Catalog, Remote: o.Remote, Engage: o.Engage},
		observe: o.Observe, audit: o.Audit && o.Observe != nil, grace: wholeGrace, private: o.Private, manifests: catalog.NewManifests(o.Catalog),
	}
	s.entry, s.subscriptions = o.Entry, newSubscriptions(s)
	s.places.grace = placeGrace
	capabilities := &mcp.ServerCapabilities{
		Tools:       &mcp.ToolCapabilities{ListChanged: true},
		Resources:   &mcp.ResourceCapabilities{ListChanged: true, Subscribe: true},
		Prompts:     &mcp.PromptCapabilities{ListChanged: true},
		Completions: &mcp.CompletionCapabilities{},
		//lint:ignore SA1019 deprecated by the specification, spoken by the clients in use
		Logging: &mcp.LoggingCapabilities{},
	}
	skillsext.Declare(capabilities, true)
	s.mcp = mcp.NewServer(&mcp.Implementation{Name: Name, Title: "knack skills", Version: o.Version}, &mcp.ServerOptions{
		Logger:             o.Log,
		InitializedHandler: s.roots.initialized,
		//lint:ignore SA1019 deprecated by the specification, spoken by the clients in use
		RootsListChangedHandler: s.roots.changed,
		CompletionHandler:       s.complete,
		SubscribeHandler:        s.subscriptions.subscribe,
		UnsubscribeHandler:      s.subscriptions.unsubscribe,
		Capabilities:            capabilities,
	})
	if err := s.addSkills(); err != nil {
		panic(err) // a method's name is a standard one: the SDK has its own package by now
	}
	for _, t := range o.Tools {
		s.mcp.AddTool(bareTool(t), s.handler(t))
	}
	s.mcp.AddReceivingMiddleware(s.places.hold, s.guard, s.see, s.observed, s.answer) // the first is the outermost
	s.mcp.AddSendingMiddleware(s.tell)
	o.Catalog.Subscribe(s.announce)
	return s
}

// MCP is the SDK's server, to connect transports to.
func (s *Server) MCP() *mcp.Server { return s.mcp }

// Run serves one session over a transport until the client ends it. Over a
// [StdioTransport] it returns soon after the session's end even where a handler
// hangs: the SDK would wait for it.
func (s *Server) Run(ctx context.Context, t mcp.Transport) error {
	pipes, ok := t.(*StdioTransport)
	ended := make(chan error, 1)
	go func() { ended <- s.mcp.Run(ctx, t) }()
	if !ok {
		return <-ended
	}
	select {
	case err := <-ended:
		return err
	case <-pipes.over():
	case <-ctx.Done():
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(endGrace):
		s.log.Warn("the session has ended, and a call has not")
		return ErrUnanswered
	}
}

// guard turns a panic in a handler into an internal error: one bad request must
// not end the session. The value is logged, never sent.
func (s *Server) guard(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
		defer func() {
			if p := recover(); p != nil {
				s.log.Error("panic while answering", "method", method, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				res, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error"}
			}
		}()
		return next(ctx, method, req)
	}
}

// answer serves what the snapshot knows and passes the rest to the SDK.
func (s *Server) answer(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch method {
		case "initialize", "server/discover":
			res, err := next(ctx, method, req)
			if err == nil {
				s.instruct(ctx, res, req)
			}
			return res, err
		}
		s.roots.await(ctx, method, req)
		client := s.callerOf(req)
		ctx = tool.WithClient(ctx, client)
		switch method {
		case "tools/list":
			return s.listTools(ctx, req.(*mcp.ListToolsRequest).Params, client)
		case "resources/list":
			return s.listResources(ctx, req.(*mcp.ListResourcesRequest).Params)
		case "resources/templates/list":
			return s.listTemplates(req.(*mcp.ListResourceTemplatesRequest).Params)
		case "resources/read":
			return s.readResource(ctx, req.(*mcp.ReadResourceRequest).Params)
		case "prompts/list":
			return s.listPrompts(ctx, req.(*mcp.ListPromptsRequest).Params, client)
		case "prompts/get":
			return s.getPrompt(ctx, req.(*mcp.GetPromptRequest).Params)
		case "tools/call":
			res, err := next(ctx, method, req)
			if err != nil {
				return res, s.toolError(req, err)
			}
			return s.explicitly(res, nil)
		case "subscriptions/listen":
			s.subscriptions.keepKnown(ctx, req.(*mcp.SubscriptionsListenRequest).Params)
		case "logging/setLevel":
			return s.setLevel(ctx, next, req)
		}
		return next(ctx, method, req)
	}
}

// clientOf names who asks: by the request's own metadata since 2026-07-28, by
// the session's handshake before.
func clientOf(req mcp.Request) tool.Client {
	if p, ok := req.GetParams().(*mcp.InitializeParams); ok && p != nil && p.ClientInfo != nil {
		return tool.Client{Name: p.ClientInfo.Name, Version: p.ClientInfo.Version}
	}
	if from, ok := req.(interface{ ClientInfo() *mcp.Implementation }); ok {
		if info := from.ClientInfo(); info != nil {
			return tool.Client{Name: info.Name, Version: info.Version}
		}
	}
	return tool.Client{}
}

// callerOf is clientOf with what else is known of the one who asks.
func (s *Server) callerOf(req mcp.Request) tool.Client {
	if withoutParams(req) {
		return tool.Client{Remote: s.isRemote(req)}
	}
	c := clientOf(req)
	c.Remote = s.isRemote(req)
	if call, ok := req.(*mcp.CallToolRequest); ok && call.Params != nil {
		// The calls of Codex 0.169.0 in its code mode, and no others, have such ids.
		id, _ := call.Params.Meta["callId"].(string)
		c.Scripted = strings.HasPrefix(id, "exec-")
	}
	return c
}

// forwarding are the headers with which proxies say that a request is another's.
var forwarding = []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip", "Via"}

// isRemote reports whether a request may come from another machine, or from somebody
// who is not to know the folders of this one; see [Options.Remote].
func (s *Server) isRemote(req mcp.Request) bool {
	extra := req.GetExtra()
	switch {
	case s.host.Remote:
		return true
	case extra == nil:
		return false
	case extra.TokenInfo != nil || s.audience.policy.Load() != nil:
		return true
	}
	return slices.ContainsFunc(forwarding, func(h string) bool { return extra.Header.Get(h) != "" })
}

// view waits for the first snapshot.
func (s *Server) view(ctx context.Context) (catalog.View, error) {
	v, err := s.catalog.View(ctx)
	if err != nil {
		return v, &jsonrpc.Error{Code: codeBusy, Message: "the skills are still being read; try again"}
	}
	return v, nil
}

// whole is view, and waits until all skills were read, for at most [wholeGrace].
func (s *Server) whole(ctx context.Context) (catalog.View, error) {
	if v, err := s.catalog.Whole(ctx, s.grace); err == nil {
		return v, nil
	}
	return s.view(ctx)
}

// instruct writes the instructions into the SDK's result, which is this
// request's own.
func (s *Server) instruct(ctx context.Context, res mcp.Result, req mcp.Request) {
	v, err := s.catalog.Whole(ctx, s.grace)
	if err != nil {
		v = catalog.View{}
	}
	var notes []string
	if s.roots.offeredWith(req) {
		notes = append(notes, "More skills may come from the application's folders.")
	}
	c := clientOf(req)
	c.Entry = s.entry
	text := tool.Instructions(v, s.tools, c, notes...)
	switch r := res.(type) {
	case *mcp.InitializeResult:
		r.Instructions = text
	case *mcp.DiscoverResult:
		r.Instructions, r.CacheScope = text, "private" // they name this user's skills
		if r.Capabilities != nil {
			capabilities := *r.Capabilities
			//lint:ignore SA1019 not declared where it is no longer of the protocol
			capabilities.Logging = nil
			r.Capabilities = &capabilities
		}
	}
}

// announce tells every session of a change.
func (s *Server) announce(d catalog.Diff) {
	s.subscriptions.poke()
	s.logSkipped(d)
	// A skipped skill is in no list.
	s.nudge(d.Listing, d.Invocable >= 0 && d.Invocable < maxPrompts, d.Listing || d.Served())
}

// nudge has every session told that lists have changed. The SDK has no public call for
// it: replacing a tool, and adding or removing a template or prompt, make it notify, once
// each. What is added shows nowhere, since the lists are our own. (go-sdk#1238 brings one for its own skills package.)
func (s *Server) nudge(tools, prompts, resources bool) {
	s.nudged.Lock()
	defer s.nudged.Unlock()
	if tools && len(s.tools) > 0 {
		t := s.tools[0]
		s.mcp.AddTool(bareTool(t), s.handler(t))
	}
	if prompts {
		if s.nudged.prompts = !s.nudged.prompts; s.nudged.prompts {
			s.mcp.AddPrompt(&mcp.Prompt{Name: "changed"}, nil)
		} else {
			s.mcp.RemovePrompts("changed")
		}
	}
	if !resources {
		return
	}
	if s.nudged.templates = !s.nudged.templates; s.nudged.templates {
		s.mcp.AddResourceTemplate(&mcp.ResourceTemplate{Name: "changed", URITemplate: "knack-changed:{x}"}, nil)
	} else {
		s.mcp.RemoveResourceTemplates("knack-changed:{x}")
	}
}

// internal hides what an error says behind a code; the log has it.
func (s *Server) internal(what string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	s.log.Error(what, "error", err.Error())
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: what}
}
