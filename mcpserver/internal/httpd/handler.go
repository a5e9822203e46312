package httpd

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/audit"
	"github.com/knack-dev/knack/limit"
	"github.com/knack-dev/knack/mcpserver/internal/wire"
)

// Bounds of a connection and of what is kept.
const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 32 << 10
	// smallBody is above all but a few requests, and maxArriving of them at once take
	// at most 64 MiB.
	smallBody   = 16 << 10
	maxArriving = 4096
	// maxLoading is how many larger ones, or of unknown size, arrive at once, if there is
	// room for them.
	maxLoading = 64
	// bodyCopies is how often a large body is held at most: as bytes, and as the message.
	bodyCopies = 2
	// maxInitialize is for what a session keeps of its client; real ones send less than
	// a hundredth.
	maxInitialize = 64 << 10
)

// Options of a handler; the server's HTTPOptions say what each is. All must be set but
// those that name nothing.
type Options struct {
	Hosts             []string
	Origins           []string
	Issuers           []string
	Resource          string
	Pages             http.Handler
	MaxBody           int64
	MaxCalls          int
	MaxStreams        int
	MaxSessions       int
	SessionTimeout    time.Duration
	InitializeTimeout time.Duration
	BodyTimeout       time.Duration
	WriteTimeout      time.Duration
	DrainTimeout      time.Duration
	Limit             limit.Rate
	Log               *slog.Logger
}

// Core is the server behind a handler.
type Core struct {
	SDK    *mcp.Server
	Access *access.Gate
	Counts *Counts
	Take   Take
	// Room bounds the bytes that requests hold, and those of answers until they are written.
	Room *limit.Budget
	// Tell hears of each request of which no method tells; nil if there is no audit log.
	Tell func(who access.Subject, e audit.Event)
	// Missing says whether something that was not found is there for others.
	Missing func(who access.Principal, asked string, fault error) audit.Result
	// Waits says what the server is not ready for; empty if it is.
	Waits func() string
}

// Take makes the work of a call, or leaves it to the SDK. init is the handshake of the
// call's session, nil for a call of 2026-07-28.
type Take func(c wire.Call, p wire.Params, from Caller, init *mcp.InitializeParams) (work func(context.Context) wire.Answer, ok bool)

// Caller is the sender of a request.
type Caller struct {
	access.Principal
	Token   string // empty if none was needed
	Address string // empty over stdio
	// Share is the client that the request counts for, empty for one without a share.
	Share string
	// Remote: the request may come from another machine, or be of someone that is not to
	// know the folders of this one: it bears a token, rules hold, or a proxy passed it on.
	Remote bool
}

// Handler serves MCP at /mcp, /healthz and /readyz, and [Options.Pages] elsewhere.
type Handler struct {
	core           Core
	o              Options
	modern, legacy http.Handler // the SDK's
	root           http.Handler
	routes         []string
	guard          *guard
	metadata       string // the address of the protected resource's (RFC 9728), if there is any

	calls    *places
	arriving chan struct{} // of small bodies on their way
	loading  chan struct{} // of large ones
	entering chan struct{} // of requests at the way in, whose senders are not known yet
	sessions sessions
	streams  *places
	open     sync.Map // of *openStream
	limits   atomic.Pointer[limits]
	lines    *limit.Clients // what is written down of addresses whose sender is not known
	draining atomic.Bool
	ended    context.Context // ends with the server: streams depend on it
	end      context.CancelFunc
}

// New makes a handler. The error says which host or origin cannot be one.
func New(core Core, o Options) (*Handler, error) {
	h := &Handler{
		core: core, o: o, lines: limit.New(lineRate),
		calls: newPlaces("calls", o.MaxCalls), entering: make(chan struct{}, o.MaxCalls),
		arriving: make(chan struct{}, maxArriving), loading: make(chan struct{}, maxLoading),
		sessions: sessions{idle: o.SessionTimeout, begun: o.InitializeTimeout, of: map[string]*session{}, making: map[string]int{}},
		streams:  newPlaces("streams", o.MaxStreams),
	}
	h.ended, h.end = context.WithCancel(context.Background())
	get := func(*http.Request) *mcp.Server { return core.SDK }
	h.modern = mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, PropagateRequestCancellation: true,
		Logger: o.Log, MaxRequestBodyBytes: o.MaxBody, DisableLocalhostProtection: true, // the guard has its own list
	})
	h.legacy = mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{ // no timeout: the table of sessions has it
		JSONResponse: true, EventStore: &events{of: map[string]*news{}},
		Logger: o.Log, MaxRequestBodyBytes: o.MaxBody, DisableLocalhostProtection: true,
	})
	mux := &routes{}
	mux.Handle("/mcp", h.authenticated(http.HandlerFunc(h.serveMCP)))
	mux.Handle("/healthz", http.HandlerFunc(h.healthz))
	mux.Handle("/readyz", http.HandlerFunc(h.readyz))
	if err := h.describe(mux); err != nil {
		return nil, err
	}
	mux.Handle("/", h.pages())
	g, err := newGuard(o)
	if err != nil {
		return nil, err
	}
	h.guard = g
	h.root, h.routes = h.recovered(g.wrap(mux, h.refuse)), mux.patterns
	h.Limit(o.Limit)
	return h, nil
}

// routes is a mux that can say what it has.
type routes struct {
	http.ServeMux
	patterns []string
}

func (m *routes) Handle(pattern string, h http.Handler) {
	m.patterns = append(m.patterns, pattern)
	m.ServeMux.Handle(pattern, h)
}

// Routes are the patterns of [http.ServeMux] for which there are answers, without those of
// [Options.Pages].
func (h *Handler) Routes() []string { return slices.Clone(h.routes) }

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		// Also for those that are refused unread: the server reads the rest of a body
		// before it lets the connection go.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(h.o.BodyTimeout))
	}
	h.watch(w, r)
}

func (h *Handler) healthz(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		refuse(w, http.StatusMethodNotAllowed, "method not allowed")
		return
	}
	if h.draining.Load() {
		say(w, http.StatusServiceUnavailable, "ending")
		return
	}
	say(w, http.StatusOK, "ok")
}

// readyz says whether the skills have been read once, of every root.
func (h *Handler) readyz(w http.ResponseWriter, r *http.Request) {
	asks := r.Method == http.MethodGet || r.Method == http.MethodHead
	if waits := h.core.Waits(); asks && waits != "" && !h.draining.Load() {
		if !h.guard.allowsHost(r.Host) { // roots are named to no other client
			waits = "the skills are being read"
		}
		say(w, http.StatusServiceUnavailable, waits)
		return
	}
	h.healthz(w, r)
}

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n")
}

// recovered keeps a panic from printing a request: the handlers log what they need.
func (h *Handler) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if p := recover(); p != nil {
				if p != http.ErrAbortHandler {
					h.o.Log.Error("panic while answering over HTTP")
				}
				panic(http.ErrAbortHandler)
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// take takes a place, if there is one.
func take(places chan struct{}) bool {
	select {
	case places <- struct{}{}:
		return true
	default:
		return false
	}
}

// know returns the principal of a token by the state of access in force.
func (h *Handler) know(r *http.Request, token string) (access.Principal, bool) {
	return h.core.Access.Now().Authenticate(r.Context(), token)
}

// caller returns the sender of a request whose body is here, and what they see: the one
// place that decides so.
func (h *Handler) caller(r *http.Request) (c Caller, ok bool) {
	state := h.core.Access.Now()
	c.Address = hostOf(r)
	if state.Verifier != nil {
		c.Token = tokenOf(r)
	}
	c.Principal, ok = state.Authenticate(r.Context(), c.Token)
	c.Share = h.sharer(c.Principal, c.Address)
	c.Remote = c.Token != "" || state.Policy != nil || forwarded(r.Header)
	return c, ok
}

// forwarded reports whether a proxy says that a request is another's.
func forwarded(h http.Header) bool {
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip", "Via"} {
		if len(h[name]) > 0 {
			return true
		}
	}
	return false
}

// Recheck ends what a [Door] has given out for tokens that are not known any more, and the
// streams that were opened with them.
func (h *Handler) Recheck() {
	if door, ok := h.o.Pages.(Door); ok {
		door.Recheck(h.ended)
	}
	state := h.core.Access.Now()
	h.open.Range(func(key, _ any) bool {
		open := key.(*openStream)
		if _, ok := state.Authenticate(h.ended, open.token); !ok {
			open.end()
		}
		return true
	})
}
