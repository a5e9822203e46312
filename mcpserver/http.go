package mcpserver

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/audit"
	"github.com/knack-dev/knack/limit"
	"github.com/knack-dev/knack/mcpserver/internal/httpd"
	"github.com/knack-dev/knack/mcpserver/internal/wire"
	"github.com/knack-dev/knack/skill"
)

// What the zero values of [HTTPOptions] mean.
const (
	DefaultMaxBody        = 4 << 20 // the SDK's own; no request of this server needs a hundredth
	DefaultMaxCalls       = 256     // as over stdio
	DefaultMaxStreams     = 1024
	DefaultMaxSessions    = 1024
	DefaultSessionTimeout = 30 * time.Minute
	// DefaultInitializeTimeout is what a client has between its initialize and
	// notifications/initialized: a round trip, and time to think.
	DefaultInitializeTimeout = 30 * time.Second
	DefaultBodyTimeout       = 15 * time.Second
	DefaultWriteTimeout      = 30 * time.Second
)

// DefaultLimit is how often each client may ask: far above what an agent does, and below
// what would keep a server from others. A client that takes in a whole library reads some
// thousand files.
var DefaultLimit = limit.Rate{PerSecond: 100, Burst: 2000}

// HTTPOptions of a server. The zero value serves loopback names. [Options.Access]
// decides on callers.
type HTTPOptions struct {
	// Hosts are the names under which clients reach the server, "name" for every
	// port or "name:port", besides those of the loopback.
	Hosts []string
	// Origins are the web pages, "scheme://host[:port]", that may call the server,
	// besides pages of the server itself.
	Origins []string
	// Issuers are the OAuth authorization servers, by their issuer URLs, whose tokens the
	// Verifier of [Options.Access] knows, and Resource is the URL of MCP as clients have
	// it. Clients are told of them (RFC 9728), or that tokens have no issuer.
	Issuers  []string
	Resource string
	// Pages, if set, answers at every path that is not one of this package's, behind the
	// same checks. In a request's context the catalogue shows what the request's subject
	// may see, and [access.SubjectOf] returns that subject. If Pages is a [Door] too,
	// people can sign in.
	Pages http.Handler

	MaxBody        int64         // bytes of a request
	MaxCalls       int           // calls that are worked on at once
	MaxStreams     int           // streams that wait for news
	MaxSessions    int           // of protocol versions before 2026-07-28, which has none
	SessionTimeout time.Duration // of a session without a request
	// InitializeTimeout is the same for a session whose client has not yet sent
	// notifications/initialized. If there are too many sessions, these go first.
	InitializeTimeout time.Duration
	BodyTimeout       time.Duration // for a request to arrive
	WriteTimeout      time.Duration // for a client to take the next 64 KiB
	DrainTimeout      time.Duration // for calls to end when the server does

	// Limit is how often each client may ask; the zero value is no limit. See
	// [HTTP.Limit].
	Limit limit.Rate

	Log *slog.Logger
}

func (o HTTPOptions) orDefault() httpd.Options {
	def(&o.MaxBody, DefaultMaxBody)
	def(&o.MaxCalls, DefaultMaxCalls)
	def(&o.MaxStreams, DefaultMaxStreams)
	def(&o.MaxSessions, DefaultMaxSessions)
	def(&o.SessionTimeout, DefaultSessionTimeout)
	def(&o.InitializeTimeout, DefaultInitializeTimeout)
	def(&o.BodyTimeout, DefaultBodyTimeout)
	def(&o.WriteTimeout, DefaultWriteTimeout)
	def(&o.DrainTimeout, DefaultDrainTimeout)
	o.Log = bounded(o.Log)
	return httpd.Options(o)
}

func def[T int | int64 | time.Duration](v *T, to T) {
	if *v <= 0 {
		*v = to
	}
}

// Door is a handler of pages that lets people in who have signed in with a token: its
// methods tell whose session a request's cookie is, and answer at the way in. At /mcp it is
// not asked: what a browser sends along by itself, such as a cookie, would let any page that
// it shows call tools.
type Door = httpd.Door

// Numbers are what an HTTP server counts since it was made: calls by method and outcome,
// refusals by status and reason, open sessions and streams.
type Numbers = httpd.Numbers

// CallCount is how often a method was called with one outcome.
type CallCount = httpd.CallCount

// RefusalCount is how often something was refused with a status for a reason.
type RefusalCount = httpd.RefusalCount

// HTTP serves MCP over Streamable HTTP: at /mcp, both protocol eras on the one
// URL; /healthz and /readyz; and [HTTPOptions.Pages] elsewhere.
type HTTP struct {
	server    *Server
	handler   *httpd.Handler
	begun     time.Time
	firstLook time.Duration // the constant; tests wait for less
}

// firstLook bounds how long a server is not ready for roots that were never read. After it
// the other roots are served: a disk that never answers keeps no server from its clients.
const firstLook = time.Minute

// NewHTTP makes the HTTP side of a server, of which a server has one. The error says which
// host or origin cannot be one.
func NewHTTP(s *Server, o HTTPOptions) (*HTTP, error) {
	return newHTTP(s, o, s.take)
}

func newHTTP(s *Server, o HTTPOptions, take httpd.Take) (*HTTP, error) {
	h := &HTTP{server: s, begun: time.Now(), firstLook: firstLook}
	core := httpd.Core{SDK: s.mcp, Access: s.access, Counts: &s.counts, Take: take, Room: s.room, Missing: s.missing, Waits: h.waits}
	if s.audit {
		core.Tell = func(who access.Subject, e audit.Event) { s.observe(Use{Method: e.Method, Subject: who, Event: e}) }
	}
	var err error
	if h.handler, err = httpd.New(core, o.orDefault()); err != nil {
		return nil, err
	}
	recheck := h.handler.Recheck
	s.accessChanged.Store(&recheck)
	return h, nil
}

// take makes the work of a call over HTTP, or leaves it to the SDK.
func (s *Server) take(c wire.Call, p wire.Params, from httpd.Caller, init *mcp.InitializeParams) (func(context.Context) wire.Answer, bool) {
	r, ok := s.read(c, p)
	if !ok || !r.in(init) {
		return nil, false
	}
	r.Caller = from
	return func(ctx context.Context) wire.Answer { return s.reply(ctx, c.ID, r) }, true
}

// missing tells what is out of sight from what is not there.
func (s *Server) missing(who access.Principal, asked string, fault error) audit.Result {
	if asked == "" {
		return audit.NotFound
	}
	q := &question{name: asked}
	if strings.HasPrefix(asked, skill.Scheme) {
		q = &question{uri: asked}
	}
	if view, ready := s.catalog.Now(who.Filter); ready && find(view, q) != nil {
		return faultOf(fault, true)
	}
	whole, ready := s.catalog.Now(nil)
	switch {
	case ready && find(whole, q) != nil:
		return audit.Denied
	case !ready || whole.Unsure() != nil: // it may be there
		return audit.Failed
	}
	return audit.NotFound
}

// waits says for which roots the server waits, or nothing. Anyone may ask, so that it names
// them only if everyone sees everything.
func (h *HTTP) waits() string {
	v, ready := h.server.catalog.Now(nil)
	switch {
	case !ready:
		return "the skills are being read"
	case time.Since(h.begun) >= h.firstLook:
		return ""
	}
	var names []string
	for _, root := range v.Roots {
		if root.Unread() {
			names = append(names, root.Label)
		}
	}
	state := h.server.access.Now()
	switch {
	case len(names) == 0:
		return ""
	case state.Verifier != nil || state.Policy != nil:
		return "a root of the skills is still being read; the server's log says which"
	case len(names) == 1:
		return "the root " + names[0] + " is still being read"
	}
	return "the roots " + strings.Join(names, ", ") + " are still being read"
}

// ServeHTTP answers one request.
func (h *HTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.handler.ServeHTTP(w, r) }

// Routes are the patterns of [http.ServeMux] for which there are answers, without those of
// [HTTPOptions.Pages].
func (h *HTTP) Routes() []string { return h.handler.Routes() }

// Limit sets how often each client may ask, from now on. A client is a subject, or,
// if there are no tokens or they have no name, an address; but if there are no tokens, this
// machine's own address is not limited. An address whose tokens are refused is told so a
// hundred times, and then five times a second; requests that are let in do not count there.
// What needs no token counts for the address too, 400 at once and 20 a second. Counts go on
// if the rate is the one in force. The zero rate ends all limits.
func (h *HTTP) Limit(rate limit.Rate) { h.handler.Limit(rate) }

// Numbers are those of now.
func (h *HTTP) Numbers() Numbers { return h.handler.Numbers() }

// Serve answers on a listener until the context ends, over TLS if there is a
// configuration for it. At the end it takes no new calls, ends the streams, and
// lets the calls that are being worked on end, for DrainTimeout. The listener is
// closed in any case.
func (h *HTTP) Serve(ctx context.Context, ln net.Listener, conf *tls.Config) error {
	return h.handler.Serve(ctx, ln, conf)
}
