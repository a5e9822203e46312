package httpguard

import (
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/internal/server/event"
)

// Options configures an HTTP server. The zero value serves loopback names.
type Options struct {
	// Hosts are the names by which clients reach the server, besides the loopback names. "name"
	// allows every port, and "name:port" one port.
	Hosts []string
	// Origins are the web origins, "scheme://host[:port]", whose pages may call the server, besides
	// its own.
	Origins []string
	Proxies []netip.Prefix // proxies whose X-Forwarded-For, -Host and -Proto are trusted
	// Issuers are the issuer URLs of the OAuth authorization servers whose tokens the server
	// accepts. Resource is the URL of the MCP endpoint as clients know it (RFC 9728). Scopes are
	// the scopes that clients should request from an issuer.
	Issuers, Scopes []string
	Resource        string
	// Pages, if set, answers every path that this package does not serve, behind the same checks.
	// With the context of a request, the catalogue lists only the skills that the request's subject
	// may see. [access.SubjectOf] returns that subject. If Pages also implements [SignIn], people
	// can sign in.
	Pages http.Handler

	MaxBody        int64         // bytes of a request; default 4 MiB, as in the SDK
	MaxCalls       int           // calls in flight; default 256, as over stdio
	MaxStreams     int           // streams that wait for notifications; default 1024
	MaxSessions    int           // sessions of protocol versions before 2026-07-28, which still have sessions; default 1024
	SessionTimeout time.Duration // for a session without requests; default 30 minutes
	// InitializeTimeout is the SessionTimeout of a client that has not yet sent
	// notifications/initialized; default 30 s. These sessions end first if there are too many.
	InitializeTimeout time.Duration
	BodyTimeout       time.Duration // for a request to arrive; default 15 s
	WriteTimeout      time.Duration // for a client to take the next 64 KiB; default 30 s
	DrainTimeout      time.Duration // for running calls to end at shutdown; default 10 s

	// Limit is the request rate of each client; the zero value sets no limit. See [Guard.Limit].
	Limit limit.Rate

	// Waits, if set, returns the name of a source that the server expects but cannot serve yet, and
	// the reason. The name is "" if there is no such source. The server is not ready while there is
	// one.
	Waits func() (source, why string)

	Log *slog.Logger
}

// Complete returns the options with default values for the bounds that are not set.
func (o Options) Complete() Options {
	o.MaxBody = positive(o.MaxBody, 4<<20)
	o.MaxCalls = positive(o.MaxCalls, 256)
	o.MaxStreams = positive(o.MaxStreams, 1024)
	o.MaxSessions = positive(o.MaxSessions, 1024)
	o.SessionTimeout = positive(o.SessionTimeout, 30*time.Minute)
	o.InitializeTimeout = positive(o.InitializeTimeout, 30*time.Second)
	o.BodyTimeout = positive(o.BodyTimeout, 15*time.Second)
	o.WriteTimeout = positive(o.WriteTimeout, 30*time.Second)
	o.DrainTimeout = positive(o.DrainTimeout, 10*time.Second)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// positive returns v if it is positive, and otherwise the default.
func positive[T int | int64 | time.Duration](v, otherwise T) T {
	if v > 0 {
		return v
	}
	return otherwise
}

// Server is the server behind a guard.
type Server struct {
	Memory  *limit.Budget // bytes of requests and answers in memory
	Access  *access.Gate
	Catalog *catalog.Catalog // the catalog of which the pages show a part
	// Events receive the event of each request that its handler does not record itself. Audit is
	// set if one of them is an audit log.
	Events event.Sinks
	Audit  bool
	// NotReady returns the work that the server still waits for, or "" if it is ready.
	NotReady func() string
	// Without returns the parts that a ready server lacks, or "". It may be nil.
	Without func() string
	// Refuse answers a refused request, except one for a page.
	Refuse func(w http.ResponseWriter, status int, message string)
}
