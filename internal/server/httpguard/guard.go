package httpguard

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/internal/server/audit"
)

// Options configure a guard. Every field must be set, except lists, Resource, Pages and Observe.
type Options struct {
	Hosts    []string       // names of the server for clients, besides the loopback's
	Origins  []string       // origins of web pages that may send requests, besides the server's own
	Proxies  []netip.Prefix // networks of proxies that are trusted to name their clients
	Scopes   []string       // scopes for clients to request from the issuers, published in the metadata
	Issuers  []string       // issuer URLs of the authorization servers of tokens
	Resource string         // the URL that tokens are issued for
	Pages    http.Handler   // answers the paths without another handler

	BodyTimeout  time.Duration // for a request to arrive
	WriteTimeout time.Duration // for a client to read the next 64 KiB
	DrainTimeout time.Duration // for calls to finish when the server ends

	MaxCalls int           // requests in flight
	Memory   *limit.Budget // bytes of requests and answers in memory
	Limit    limit.Rate    // of each client; zero means no limit

	Access  *access.Gate
	Catalog *catalog.Catalog // the catalog that the pages show a part of
	// Observe is called with the audit event of each request that its handler does not log
	// itself. It is nil without an audit log.
	Observe func(who access.Subject, e audit.Event)
	// NotReady returns the work that the server still waits for, or "" if it is ready.
	NotReady func() string
	// Without returns the parts that a ready server lacks, or "". It may be nil.
	Without func() string
	// Refuse answers a refused request to anything but a page.
	Refuse func(w http.ResponseWriter, status int, message string)
	Log    *slog.Logger
}

// Guard is an HTTP handler that checks each request before it forwards it.
type Guard struct {
	o        Options
	hosts    []string
	origins  []string
	mux      http.ServeMux
	patterns []string
	root     http.Handler
	metadata string // URL of the protected resource's metadata (RFC 9728), or empty

	small, large *limit.Budget // for arriving bodies of each size
	calls        *limit.Budget // for requests in flight
	// signingIn counts the sign-in forms in flight separately: their clients have no token yet,
	// and must not take places from calls that have one.
	signingIn *limit.Budget
	arriving  *arriving
	limits    atomic.Pointer[limits]
	logged    *limit.Clients // audit lines about unknown clients
	refusals  sync.Map       // *atomic.Uint64 by RefusalCount with a Count of 0
	expire    func()         // ends the sign-ins and streams of expired tokens
	ended     context.Context
	end       context.CancelFunc
}

// New returns a guard. The error names a malformed host, origin or issuer.
func New(o Options) (*Guard, error) {
	g := &Guard{
		o: o, logged: limit.New(loggedRate), small: limit.NewBudget(maxSmall, 0), large: limit.NewBudget(maxLarge, 0),
		calls: limit.NewBudget(int64(o.MaxCalls), 0), signingIn: limit.NewBudget(maxForms, 0), arriving: newArriving(maxArriving),
	}
	g.ended, g.end = context.WithCancel(context.Background())
	if err := g.allow(o.Hosts, o.Origins); err != nil {
		return nil, err
	}
	g.mount("/healthz", g.healthz)
	g.mount("/readyz", g.readyz)
	if err := g.describe(); err != nil {
		return nil, err
	}
	g.mount("/", g.pages())
	g.root = g.recovered(g.checkOrigin(&g.mux))
	g.Limit(o.Limit)
	return g, nil
}

// Handle mounts a handler for requests from known senders.
func (g *Guard) Handle(pattern string, h http.Handler) {
	g.mount(pattern, func(w http.ResponseWriter, r *http.Request) {
		// The token is checked before the body is read, and again with the body.
		who, ok := g.know(r, tokenOf(r))
		if !ok {
			g.Unauthorized(w, r)
			return
		}
		if g.admit(w, r, who) {
			h.ServeHTTP(w, r)
		}
	})
}

func (g *Guard) mount(pattern string, h http.HandlerFunc) {
	g.patterns = append(g.patterns, pattern)
	g.mux.Handle(pattern, h)
}

// Routes returns the mounted patterns, except the pages' own.
func (g *Guard) Routes() []string { return slices.Clone(g.patterns) }

// Ended returns the context that ends when the server begins to end.
func (g *Guard) Ended() context.Context { return g.ended }

// ServeHTTP answers one request.
func (g *Guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		// This also covers requests that are refused unread: the server reads the rest of a body
		// before it reuses the connection.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(g.o.BodyTimeout))
	}
	g.behind(r)
	g.record(w, r)
}

func (g *Guard) healthz(w http.ResponseWriter, r *http.Request) {
	if !isRead(r) {
		w.Header().Set("Allow", "GET, HEAD")
		g.o.Refuse(w, http.StatusMethodNotAllowed, "method not allowed")
		return
	}
	if g.ended.Err() != nil {
		say(w, http.StatusServiceUnavailable, "ending")
		return
	}
	say(w, http.StatusOK, "ok")
}

// readyz answers whether every root has been read once, or is known to be out of reach.
func (g *Guard) readyz(w http.ResponseWriter, r *http.Request) {
	if waits := g.o.NotReady(); isRead(r) && waits != "" && g.ended.Err() == nil {
		if !g.allowsHost(r.Host) { // only allowed hosts may see the names of roots
			waits = "the skills are being read"
		}
		say(w, http.StatusServiceUnavailable, waits)
		return
	}
	if g.o.Without != nil && isRead(r) && g.ended.Err() == nil && g.allowsHost(r.Host) {
		if lacks := g.o.Without(); lacks != "" {
			say(w, http.StatusOK, "ok; "+lacks)
			return
		}
	}
	g.healthz(w, r)
}

func isRead(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// isProbe reports whether a request is a health check. A load balancer sends the probed address
// as the Host, and no Origin.
func isProbe(r *http.Request) bool { return r.URL.Path == "/healthz" || r.URL.Path == "/readyz" }

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n")
}

// recovered keeps a panic from printing a request: handlers log the necessary parts.
func (g *Guard) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if p := recover(); p != nil {
				if p != http.ErrAbortHandler {
					g.o.Log.Error("panic while answering over HTTP")
				}
				panic(http.ErrAbortHandler)
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// Expire sets the function that ends the sign-ins and streams of expired tokens. [Guard.Serve]
// calls it once a minute.
func (g *Guard) Expire(f func()) { g.expire = f }

// Recheck ends the sign-ins of unknown tokens.
func (g *Guard) Recheck() {
	if pages, ok := g.o.Pages.(SignIn); ok {
		pages.Recheck(g.ended)
	}
}
