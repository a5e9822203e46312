package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/internal/server/event"
	"github.com/knack-dev/knack/mcpserver/internal/notify"
	"github.com/knack-dev/knack/mcpserver/internal/wire"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skillsext"
	"github.com/knack-dev/knack/tool"
	"github.com/knack-dev/knack/tool/lookup"
)

// serverName is the server's own name in the protocol.
const serverName = "knack"

// Times that the first answers wait.
const (
	// completeGrace bounds how long the first answers wait until all skills are read. A session
	// gets its instructions once, and many clients never ask for a list again. Clients wait 10 to
	// 60 s for initialize; 15,648 real skills took 7 s on a busy machine, and 0.3 s on an idle one.
	completeGrace = 5 * time.Second
	// rootsGrace bounds how long the first call of a session waits for the names of the client's
	// roots. The first list should contain the project's skills.
	rootsGrace = 500 * time.Millisecond
)

// Options configures a server.
type Options struct {
	Catalog *catalog.Catalog
	Tools   []*tool.Tool
	Version string
	// Remote is set if clients are on other machines. Answers then name folders by URI. Over HTTP,
	// folders are also named by URI for a request that a proxy forwarded, that has a token, or that
	// arrives while a policy is in force. The sender of such a request may not be this machine's
	// user.
	Remote bool
	// Private keeps answers out of shared caches. It is for servers that require tokens, and for
	// servers whose skills belong to one person, as over stdio.
	Private bool
	// Access authorizes HTTP callers and limits their views; nil lets everyone see everything.
	// [Server.SetAccess] replaces its state.
	Access *access.Gate
	// Roots, if set, is called with the folders that a client names as its roots. It returns when
	// the catalogue has added them. All sessions share the catalogue, so the server requests roots
	// only from the first session over stdio that offers them.
	Roots func(ctx context.Context, folders []string)
	// Engage, if set, returns the text of skill://engage/SKILL.md. It is called if no skill has
	// that URI; see [tool.Host].
	Engage func() string
	// Entry is the server's name in the settings of the client that starts it, or empty if unknown.
	Entry string
	// Events are the sinks for the event of each request. They are called in the request's
	// goroutine, after its answer was made and before it is written, so the answer waits for them.
	Events []Sink
	// Audit makes events list the served files, with their digests.
	Audit bool
	Log   *slog.Logger
}

// Event is one request to a server.
type Event = event.Event

// Sink takes events.
type Sink = event.Sink

// bounded returns a logger that limits the rate of its lines. For a nil log, it returns a logger
// that discards them.
func bounded(log *slog.Logger) *slog.Logger {
	if log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return limit.Log(log)
}

// Server is an MCP server for any number of sessions.
type Server struct {
	o            Options // Access and Log are never nil
	host         *tool.Host
	capabilities *mcp.ServerCapabilities // of the versions with sessions
	info         []byte                  // the server's name and version as JSON
	roots        *clientRoots
	events       event.Sinks
	grace        time.Duration // completeGrace; shorter in tests

	endDiffs func() // ends the subscription to the catalogue's changes

	memory   *limit.Budget // for unwritten answers
	notifier *notify.Notifier
	// accessChanged is called after another access state was put in force.
	accessChanged atomic.Pointer[func()]
	logged        sync.Map     // the logged reasons why skills are not published
	withoutPrompt atomic.Int64 // number of skills without a prompt that was last logged
}

// New returns a server. It is ready for sessions.
func New(o Options) *Server {
	o.Log = bounded(o.Log)
	if o.Access == nil {
		o.Access = &access.Gate{}
	}
	s := &Server{
		o: o, roots: newClientRoots(o), events: o.Events, grace: completeGrace, memory: limit.NewBudget(maxHeld, maxWait),
		host: &tool.Host{Finder: lookup.Finder{Catalog: o.Catalog, Remote: o.Remote, Engage: o.Engage}},
	}
	s.capabilities = declared()
	skillsext.Declare(s.capabilities, true)
	s.info, _ = json.Marshal(&mcp.Implementation{Name: serverName, Title: "knack skills", Version: o.Version}) // strings always marshal
	s.notifier = &notify.Notifier{Catalog: o.Catalog, Access: o.Access, Files: notify.New(s.subscriptionOptions())}
	s.endDiffs = o.Catalog.Subscribe(s.announce)
	return s
}

// Close ends the notifications of changes, so that the catalogue no longer refers to the server.
// Open sessions continue without them.
func (s *Server) Close() { s.endDiffs() }

// SetAccess puts another access state in force, for requests from now on and for all notifications.
// It notifies sessions whose view changes of the changed lists.
func (s *Server) SetAccess(state access.State) {
	s.notifier.SetAccess(state)
	if f := s.accessChanged.Load(); f != nil {
		(*f)()
	}
}

// view returns the caller's view, and waits for the first snapshot.
func (s *Server) view(ctx context.Context) (catalog.View, error) {
	v, err := s.o.Catalog.View(ctx)
	if err != nil {
		return v, &jsonrpc.Error{Code: wire.CodeBusy, Message: "the skills are still being read; try again"}
	}
	return v, nil
}

// completeView is like view, but waits up to [completeGrace] until all skills are read.
func (s *Server) completeView(ctx context.Context) (catalog.View, error) {
	if v, err := s.o.Catalog.CompleteView(ctx, s.grace); err == nil {
		return v, nil
	}
	return s.view(ctx)
}

// markIncomplete marks a list as incomplete if its view is.
func markIncomplete(v catalog.View, list reply, empty bool) (reply, error) {
	if lacks := v.Incomplete(); lacks != nil {
		return markLacking(list, empty, lacks)
	}
	return list, nil
}

// markLacking marks a list as incomplete, so that clients do not cache it. An empty list becomes an
// error, because a client may not request the list again until it is notified of a change.
func markLacking(list reply, empty bool, why error) (reply, error) {
	if empty {
		return reply{}, unsure(why)
	}
	if list.hints != nil {
		list.hints = &uncached
	}
	list.meta = map[string]any{tool.MetaIncomplete: why.Error()}
	return list, nil
}

// unsure returns the error for something that may exist but cannot be looked up now.
func unsure(err error) error { return &jsonrpc.Error{Code: wire.CodeBusy, Message: err.Error()} }

// internal returns an internal error whose message is what, and logs the text of err. It keeps the
// error of a cancelled call and of a lack of memory, and a busy disk stays a busy error.
func (s *Server) internal(what string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, skill.ErrNoRoom) {
		return err
	}
	if errors.Is(err, skill.ErrBusy) {
		return unsure(errors.New(what))
	}
	s.o.Log.Error(what, "error", err.Error())
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: what}
}
