package httpguard

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/knack-dev/knack/internal/base/limit"
)

// config is the configuration of a guard.
type config struct {
	Options
	Server
}

// Guard is an HTTP handler that checks each request before it passes the request on.
type Guard struct {
	o        config
	hosts    []string
	origins  []string
	mux      http.ServeMux
	patterns []string
	root     http.Handler
	metadata string // URL of the protected resource's metadata (RFC 9728), or ""

	small, large *limit.Budget // of arriving bodies, by their size
	calls        *limit.Budget // of requests in flight
	// signingIn counts the sign-in forms in flight separately. Their clients have no token yet, and
	// must not take places from calls that have one.
	signingIn *limit.Budget
	arriving  *arriving
	limits    atomic.Pointer[limits]
	logged    *limit.Clients // rate of audit lines about unknown clients
	ended     context.Context
	end       context.CancelFunc
}

// New returns a guard. The error names a malformed host, origin or issuer.
func New(options Options, server Server) (*Guard, error) {
	o := config{options.Complete(), server}
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

// Routes returns the mounted patterns, without the patterns inside Pages.
func (g *Guard) Routes() []string { return slices.Clone(g.patterns) }

// Ended returns a context that ends when the server begins to shut down.
func (g *Guard) Ended() context.Context { return g.ended }

// ServeHTTP answers one request.
func (g *Guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		// The deadline also applies to requests that are refused unread, since the server reads the
		// rest of a body before it reuses the connection.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(g.o.BodyTimeout))
	}
	g.trustProxy(r)
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

// readyz reports whether every root has been read once or is known to be out of reach.
func (g *Guard) readyz(w http.ResponseWriter, r *http.Request) {
	if waits := g.o.NotReady(); isRead(r) && waits != "" && g.ended.Err() == nil {
		if !g.allowsHost(r.Host) { // only clients of allowed hosts may see the names of roots
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

// isProbe reports whether a request is a health check. A load balancer sends the probed address as
// Host, and no Origin.
func isProbe(r *http.Request) bool { return r.URL.Path == "/healthz" || r.URL.Path == "/readyz" }

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n")
}

// recovered logs a panic without the query, headers and body of the request, and ends the
// connection.
func (g *Guard) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if p := recover(); p != nil {
				if p != http.ErrAbortHandler {
					g.o.Log.Error("panic while answering", "method", r.Method, "path", r.URL.Path, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				}
				panic(http.ErrAbortHandler)
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// Expire sets the function that ends the sign-ins and streams of expired tokens. It is called once
// per minute until the server ends.
func (g *Guard) Expire(f func()) {
	time.AfterFunc(time.Minute, func() {
		if g.ended.Err() != nil {
			return
		}
		if g.o.Access.Now().Verifier != nil {
			f()
		}
		g.Expire(f)
	})
}

// Close ends the streams and makes health checks fail.
func (g *Guard) Close() { g.end() }

// Recheck ends the sign-ins whose tokens are no longer known.
func (g *Guard) Recheck() {
	if pages, ok := g.o.Pages.(SignIn); ok {
		pages.Recheck(g.ended)
	}
}
