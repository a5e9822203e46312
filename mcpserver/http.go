package mcpserver

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/internal/server/callstats"
	"github.com/knack-dev/knack/internal/server/httpguard"
	"github.com/knack-dev/knack/mcpserver/internal/httpd"
	"github.com/knack-dev/knack/mcpserver/internal/wire"
)

// DefaultLimit is how often each client may ask: far above what an agent does, and below
// what would keep a server from others. A client that takes in a whole library reads some
// thousand files.
var DefaultLimit = limit.Rate{PerSecond: 100, Burst: 2000}

// HTTPOptions of a server. The zero value serves loopback names. [Options.Access] decides on
// callers.
type HTTPOptions struct {
	// Hosts are the names under which clients reach the server, "name" for every
	// port or "name:port", besides those of the loopback.
	Hosts []string
	// Origins are the web pages, "scheme://host[:port]", that may call the server,
	// besides pages of the server itself.
	Origins []string
	Proxies []netip.Prefix // of proxies whose X-Forwarded-For, -Host and -Proto are believed
	// Issuers are the OAuth authorization servers, by their issuer URLs, whose tokens the
	// Verifier of [Options.Access] knows; Resource is the URL of MCP as clients have it (RFC 9728),
	// and Scopes are what clients should ask an issuer for.
	Issuers, Scopes []string
	Resource        string
	// Pages, if set, answers at every path that is not one of this package's, behind the
	// same checks. In a request's context the catalogue shows what the request's subject
	// may see, and [access.SubjectOf] returns that subject. If Pages is a [SignIn] too,
	// people can sign in.
	Pages http.Handler

	MaxBody        int64         // bytes of a request; default 4 MiB, the SDK's own
	MaxCalls       int           // calls in flight; default 256, as over stdio
	MaxStreams     int           // streams that wait for notifications; default 1024
	MaxSessions    int           // of protocol versions before 2026-07-28, which has none; default 1024
	SessionTimeout time.Duration // of a session without a request; default 30 minutes
	// InitializeTimeout is the same for a session whose client has not yet sent
	// notifications/initialized; default 30 s. If there are too many sessions, these end
	// first.
	InitializeTimeout time.Duration
	BodyTimeout       time.Duration // for a request to arrive; default 15 s
	WriteTimeout      time.Duration // for a client to take the next 64 KiB; default 30 s
	DrainTimeout      time.Duration // for calls to end when the server does; default 10 s

	// Limit is how often each client may ask; the zero value is no limit. See
	// [HTTP.Limit].
	Limit limit.Rate

	// Waits names a source of which nothing is served yet, and says why, if there is one that the
	// server is about to have. Such a server is not ready. It may be nil.
	Waits func() (source, why string)

	Log *slog.Logger
}

// SignIn is a handler of pages at which people can sign in with a token. It is not asked at
// /mcp: a cookie there would let any page that a browser shows call tools, because the browser
// sends it by itself.
type SignIn = httpguard.SignIn

// Numbers are the counts of an HTTP server since it was made. They name no skill and no
// client.
type Numbers struct {
	Calls    []CallCount // in the order of method and outcome
	Times    []CallTime  // in the order of method
	Refusals []RefusalCount
	Sessions int // open now, of protocol versions before 2026-07-28
	Streams  int // open now
}

// CallCount is how often a method was called with one outcome.
type CallCount = callstats.Count

// CallTime is how long the calls of a method took.
type CallTime = callstats.Time

// RefusalCount is how often a request was refused with a status for a reason.
type RefusalCount = httpguard.RefusalCount

// HTTP serves MCP over Streamable HTTP: at /mcp, both protocol eras on the one
// URL; /healthz and /readyz; and [HTTPOptions.Pages] elsewhere.
type HTTP struct {
	server    *Server
	handler   *httpd.Handler
	begun     time.Time
	firstScan time.Duration // the constant; tests wait for less
	waits     func() (source, why string)
}

// firstScan bounds how long a server is not ready because a root was never read. After it
// the other roots are served: a disk that never answers must not stop the server.
const firstScan = time.Minute

// NewHTTP makes the HTTP side of a server, of which a server has one. The error says which
// host or origin cannot be one.
func NewHTTP(s *Server, o HTTPOptions) (*HTTP, error) {
	return newHTTP(s, o, s.take)
}

func newHTTP(s *Server, o HTTPOptions, take httpd.Take) (*HTTP, error) {
	h := &HTTP{server: s, begun: time.Now(), firstScan: firstScan, waits: o.Waits}
	log := bounded(o.Log)
	var err error
	h.handler, err = httpd.New(httpd.Options{
		Guard: httpguard.Options{
			Hosts: o.Hosts, Origins: o.Origins, Proxies: o.Proxies, Issuers: o.Issuers, Scopes: o.Scopes, Resource: o.Resource, Pages: o.Pages,
			BodyTimeout:  positive(o.BodyTimeout, 15*time.Second),
			WriteTimeout: positive(o.WriteTimeout, 30*time.Second),
			DrainTimeout: positive(o.DrainTimeout, defaultDrainTimeout),
			MaxCalls:     positive(o.MaxCalls, 256),
			Memory:       s.memory, Catalog: s.catalog, Limit: o.Limit, Access: s.access,
			Observe: s.observeRequest(), NotReady: h.notReady, Without: h.without, Log: log,
		},
		MaxBody:           positive(o.MaxBody, 4<<20),
		MaxStreams:        positive(o.MaxStreams, 1024),
		MaxSessions:       positive(o.MaxSessions, 1024),
		SessionTimeout:    positive(o.SessionTimeout, 30*time.Minute),
		InitializeTimeout: positive(o.InitializeTimeout, 30*time.Second),
		SDK:               s.mcp, Take: take,
	})
	if err != nil {
		return nil, err
	}
	recheck := h.handler.Recheck
	s.accessChanged.Store(&recheck)
	h.handler.Expire(recheck)
	return h, nil
}

// positive is v, or the default of an option that is not set.
func positive[T int | int64 | time.Duration](v, otherwise T) T {
	if v > 0 {
		return v
	}
	return otherwise
}

// take takes a call over HTTP, or leaves it to the SDK.
func (s *Server) take(c wire.Call, p *wire.Params, from httpguard.Caller, init *mcp.InitializeParams) (wire.Work, bool) {
	r := s.read(c, p)
	if r == nil || !r.withHandshake(init) {
		return nil, false
	}
	r.Caller = from
	return r, true
}

// notReady names the roots that were never read, empty without one. Anyone may ask, so that it
// names them only if everyone sees everything.
func (h *HTTP) notReady() string {
	v, ready := h.server.catalog.Now(nil)
	state := h.server.access.Now()
	secret := state.Verifier != nil || state.Policy != nil
	if h.waits != nil {
		if source, why := h.waits(); source != "" && secret {
			return "nothing of a source is served yet; the server's log says why"
		} else if source != "" {
			return "nothing of the source '" + source + "' is served yet: " + why
		}
	}
	switch {
	case !ready:
		return "the skills are being read"
	case time.Since(h.begun) >= h.firstScan:
		return ""
	}
	var names []string
	for _, root := range v.Roots {
		if root.State() == catalog.RootReading {
			names = append(names, root.Label)
		}
	}
	switch {
	case len(names) == 0:
		return ""
	case secret:
		return "a root of the skills is still being read; the server's log says which"
	case len(names) == 1:
		return "the root " + names[0] + " is still being read"
	}
	return "the roots " + strings.Join(names, ", ") + " are still being read"
}

// without says what a server that is ready lacks, empty if it lacks nothing. See [HTTP.notReady].
func (h *HTTP) without() string {
	v, _ := h.server.catalog.Now(nil)
	lacks := v.Unreachable()
	if state := h.server.access.Now(); lacks != "" && (state.Verifier != nil || state.Policy != nil) {
		return "skills of a source are missing; the server's log says why"
	}
	return lacks
}

// ServeHTTP answers one request.
func (h *HTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.handler.ServeHTTP(w, r) }

// Routes are the patterns of [http.ServeMux] for which there are answers, without those of
// [HTTPOptions.Pages].
func (h *HTTP) Routes() []string { return h.handler.Routes() }

// Limit sets how often each client may ask, from now on; the zero rate ends all limits.
//
// A client is a subject, or an address if tokens are not required or have no name. Without
// tokens, this machine's own address is not limited. An address gets 100 refusals of tokens at
// once, and then five a second. Requests that need no token count for it too: 400 at once, and
// 20 a second. Counts continue if the rate is the one in force.
func (h *HTTP) Limit(rate limit.Rate) { h.handler.Limit(rate) }

// Numbers returns the counts so far.
func (h *HTTP) Numbers() Numbers {
	n := Numbers{Refusals: h.handler.Refusals()}
	n.Sessions, n.Streams = h.handler.Open()
	n.Calls, n.Times = h.server.calls.Now()
	return n
}

// Serve answers on a listener until the context ends, over TLS if there is a
// configuration for it. At the end it takes no new calls, ends the streams, and
// lets the calls that are being worked on end, for DrainTimeout. The listener is
// closed in any case.
func (h *HTTP) Serve(ctx context.Context, ln net.Listener, conf *tls.Config) error {
	return h.handler.Serve(ctx, ln, conf)
}
