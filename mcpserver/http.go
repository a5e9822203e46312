package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/limit"
	"github.com/knack-dev/knack/skillsext"
)

// What the zero values of [HTTPOptions] stand for, and the bounds of a connection.
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

	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 32 << 10
	// smallBody is above all but a few requests, and maxArriving of them at once take
	// at most 64 MiB.
	smallBody   = 16 << 10
	maxArriving = 4096
	// maxLoading is how many larger ones, or such as do not say how large they are,
	// arrive at once: at most 256 MiB.
	maxLoading = 64
	// maxInitialize is for what a session keeps of its client; real ones send less than
	// a hundredth.
	maxInitialize = 64 << 10
	// maxEvents bounds what is kept, of all sessions together, for clients that
	// resume a stream; the oldest goes first.
	maxEvents = 32 << 20
)

// HTTPOptions of a server. The zero value serves loopback names to everyone.
type HTTPOptions struct {
	// Hosts are the names under which clients reach the server, "name" for every
	// port or "name:port", besides those of the loopback.
	Hosts []string
	// Origins are the web pages, "scheme://host[:port]", that may call the server,
	// besides pages of the server itself.
	Origins []string
	// Verifier, if set, must know the token of every request but for /healthz and
	// /readyz.
	Verifier access.Verifier
	// Issuers are the OAuth authorization servers, by their issuer URLs, whose tokens
	// the Verifier knows, and Resource is the URL of MCP as clients have it. Where they
	// are set, clients are told so (RFC 9728), and where they are not, that there are
	// none.
	Issuers  []string
	Resource string
	// Pages, if set, answers at every path that is none of this package's, behind
	// the same checks. What it reads of the catalogue in a request's context is what
	// the request's subject may see, and [access.SubjectOf] that context is who. Where
	// it is a [Door] too, people can sign in.
	Pages http.Handler

	MaxBody        int64         // bytes of a request
	MaxCalls       int           // calls that are worked on at once
	MaxStreams     int           // streams that wait for news
	MaxSessions    int           // of protocol versions before 2026-07-28, which has none
	SessionTimeout time.Duration // of a session without a request
	// InitializeTimeout is the same for a session whose client has not yet sent
	// notifications/initialized. Where there are too many sessions, these go first.
	InitializeTimeout time.Duration
	BodyTimeout       time.Duration // for a request to arrive
	WriteTimeout      time.Duration // for a client to take the next 64 KiB
	DrainTimeout      time.Duration // for calls to end when the server does

	// Limit is how often each client may ask; the zero value is no limit. See
	// [HTTP.Limit].
	Limit limit.Rate

	Log *slog.Logger
}

func (o HTTPOptions) orDefault() HTTPOptions {
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
	return o
}

func def[T int | int64 | time.Duration](v *T, to T) {
	if *v <= 0 {
		*v = to
	}
}

// HTTP serves MCP over Streamable HTTP: at /mcp, both protocol eras on the one
// URL; /healthz and /readyz; and [HTTPOptions.Pages] elsewhere.
//
// The SDK serves one era or the other: a stateful handler refuses 2026-07-28, a
// stateless one has no sessions. Requests are told apart by their
// Mcp-Protocol-Version header and go to two handlers over one server.
type HTTP struct {
	server         *Server
	o              HTTPOptions
	modern, legacy http.Handler
	root           http.Handler
	routes         []string
	metadata       string // the address of the protected resource's (RFC 9728), if there is any

	calls, streams chan struct{}
	arriving       chan struct{}     // small bodies on their way
	loading        chan struct{}     // large ones
	entering       chan struct{}     // requests at the way in, of whom nobody is known yet
	creating       sync.Mutex        // held while a session may be made, so that the cap holds
	owners         map[string]string // of sessions, by id: the client; under creating
	streaming      sync.Mutex
	streamsOf      map[string]int // by client; under streaming
	handshakes     handshakes
	limits         atomic.Pointer[limits]
	counts         counts
	lines          *limit.Clients // what is written down of addresses of which nobody is known
	draining       atomic.Bool
	begun          time.Time
	firstLook      time.Duration   // the constant; tests wait for less
	open           sync.Map        // of *openStream
	ended          context.Context // ends with the server: streams hang on it
	end            context.CancelFunc
}

// NewHTTP makes the HTTP side of a server. The error says which host or origin
// cannot be one.
func NewHTTP(s *Server, o HTTPOptions) (*HTTP, error) {
	o = o.orDefault()
	h := &HTTP{server: s, o: o, calls: make(chan struct{}, o.MaxCalls), streams: make(chan struct{}, o.MaxStreams), arriving: make(chan struct{}, maxArriving), loading: make(chan struct{}, maxLoading), entering: make(chan struct{}, o.MaxCalls), lines: limit.New(lineRate), owners: map[string]string{}, streamsOf: map[string]int{}, begun: time.Now(), firstLook: firstLook}
	s.mcp.AddReceivingMiddleware(h.counted)
	h.ended, h.end = context.WithCancel(context.Background())
	h.handshakes.timeout = o.InitializeTimeout
	get := func(*http.Request) *mcp.Server { return s.mcp }
	h.modern = mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, PropagateRequestCancellation: true,
		Logger: o.Log, MaxRequestBodyBytes: o.MaxBody, DisableLocalhostProtection: true, // the guard's Host list stands in
	})
	h.legacy = mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
		EventStore: newEvents(maxEvents), SessionTimeout: o.SessionTimeout,
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

// Routes are the patterns of [http.ServeMux] for which there are answers, those of
// [HTTPOptions.Pages] left aside.
func (h *HTTP) Routes() []string { return slices.Clone(h.routes) }

// ServeHTTP answers one request.
func (h *HTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		// Also for those that are refused unread: the server reads the rest of a body
		// before it lets the connection go.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(h.o.BodyTimeout))
	}
	h.watch(w, r)
}

func (h *HTTP) healthz(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		refuse(w, http.StatusMethodNotAllowed, "method not allowed")
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	if h.draining.Load() {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "ending\n")
		return
	}
	_, _ = io.WriteString(w, "ok\n")
}

// recovered keeps a panic from printing a request: the SDK's handlers and ours log
// what they need.
func (h *HTTP) recovered(next http.Handler) http.Handler {
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

var (
	reVersion = later(`^[0-9A-Za-z.-]{1,32}$`) // an unknown one must be repeated (2026-07-28, -32022)
	reSession = later(`^[!-~]{1,128}$`)
	reEvent   = later(`^[0-9A-Za-z]{0,64}_[0-9]{1,18}$`)
)

// later compiles an expression when it is first asked for: over stdio nobody asks.
func later(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

const malformed = "a header of the protocol is malformed or given twice"

// wellFormed refuses headers that the SDK would repeat in its answer.
func wellFormed(h http.Header) bool {
	for name, re := range map[string]func() *regexp.Regexp{
		"Mcp-Protocol-Version": reVersion, "Mcp-Session-Id": reSession, "Last-Event-Id": reEvent,
	} {
		if v := h.Values(name); len(v) > 1 || len(v) == 1 && !re().MatchString(v[0]) {
			return false
		}
	}
	return true
}

func (h *HTTP) serveMCP(w http.ResponseWriter, r *http.Request) {
	switch {
	case h.draining.Load():
		refuseBusy(w, http.StatusServiceUnavailable, nil, "the server is ending")
		return
	case r.Method != http.MethodPost && !wellFormed(r.Header):
		refuse(w, http.StatusBadRequest, malformed)
		return
	}
	modern := r.Header.Get("Mcp-Protocol-Version") >= skillsext.Since
	switch r.Method {
	case http.MethodPost:
		h.servePost(w, r, modern)
	case http.MethodGet, http.MethodDelete:
		if modern {
			w.Header().Set("Allow", "POST")
			refuse(w, http.StatusMethodNotAllowed, "method not allowed: protocol version 2026-07-28 has no sessions")
			return
		}
		if r.Method == http.MethodDelete {
			h.pass(w, r, h.legacy, sent{})
			return
		}
		h.stream(w, r, h.legacy, sent{})
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		refuse(w, http.StatusMethodNotAllowed, "method not allowed")
	}
}

// sent is what must be known of a request before the SDK sees it.
type sent struct {
	id      json.RawMessage // of a call, else nil
	method  string
	version string // the protocol version in a call's _meta, "" where there is none
}

func (h *HTTP) servePost(w http.ResponseWriter, r *http.Request, modern bool) {
	if kind := r.Header.Get("Content-Type"); kind != "application/json" {
		if t, _, err := mime.ParseMediaType(kind); err != nil || t != "application/json" {
			refuse(w, http.StatusUnsupportedMediaType, "Content-Type must be application/json")
			return
		}
	}
	// A body that comes slowly must not take a place from a call that could be worked
	// on: it has to be here first.
	body, ok := h.body(w, r)
	if !ok {
		return
	}
	if !take(h.calls) {
		refuseBusy(w, http.StatusTooManyRequests, nil, tooManyCalls)
		return
	}
	place := h.server.places.take(hostOf(r), func() { <-h.calls })
	leave := sync.OnceFunc(place.leave)
	defer leave()
	defer func() {
		if x := exchangeOf(r); x != nil && place.begun() {
			x.handled = true
		}
	}()
	r.Header.Del(placeHeader)
	s, ok := peek(w, body)
	if !ok {
		return
	}
	if x := exchangeOf(r); x != nil && s.id != nil {
		x.method = s.method
	}
	if !wellFormed(r.Header) {
		refuseRPC(w, http.StatusBadRequest, s.id, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: malformed})
		return
	}
	if no := agreed(r.Header.Get("Mcp-Protocol-Version"), s); no != nil {
		refuseRPC(w, http.StatusBadRequest, s.id, no)
		return
	}
	if no := decodeName(r.Header); modern && no != nil {
		refuseRPC(w, http.StatusBadRequest, s.id, no)
		return
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	if modern && s.method == "subscriptions/listen" {
		leave() // it waits, and does not work
		h.stream(w, r, h.modern, s)
		return
	}
	if s.id != nil {
		r.Header.Set(placeHeader, place.key)
	}
	if modern {
		h.pass(w, r, h.modern, s)
	} else {
		h.serveSession(w, r, s)
	}
	if s.id != nil && r.Context().Err() != nil {
		place.await() // the client has left, and the call may go on
	}
}

func take(slots chan struct{}) bool {
	select {
	case slots <- struct{}{}:
		return true
	default:
		return false
	}
}

const tooManyCalls = "too many calls at once; try again"

// body reads a request's body, which must arrive within BodyTimeout. Small bodies and
// others have separate bounds on how many arrive at once, so that large ones keep no
// small one waiting.
func (h *HTTP) body(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	if r.ContentLength > h.o.MaxBody {
		w.Header().Set("Connection", "close") // what comes is not read
		h.tooLarge(w)
		return nil, false
	}
	arriving := h.loading
	if r.ContentLength > 0 && r.ContentLength <= smallBody {
		arriving = h.arriving
	}
	if !take(arriving) {
		refuseBusy(w, http.StatusTooManyRequests, nil, tooManyCalls)
		return nil, false
	}
	defer func() { <-arriving }()
	return h.read(w, r)
}

func (h *HTTP) tooLarge(w http.ResponseWriter) {
	refuse(w, http.StatusRequestEntityTooLarge, "the request is over "+strconv.FormatInt(h.o.MaxBody, 10)+" bytes")
}

func notWhole(w http.ResponseWriter) {
	w.Header().Set("Connection", "close")
	refuse(w, http.StatusRequestTimeout, "the request did not arrive whole")
}

// read takes in a body of bounded size that must arrive in bounded time.
func (h *HTTP) read(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	rc := http.NewResponseController(w)
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.o.MaxBody))
	if err == nil { // else the connection is to end, and must not be waited for
		_ = rc.SetReadDeadline(time.Time{})
	}
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		h.tooLarge(w)
		return nil, false
	case err != nil:
		notWhole(w)
		return nil, false
	}
	return body, true
}

// peek looks into a message as far as a refusal needs it.
func peek(w http.ResponseWriter, body []byte) (sent, bool) {
	trimmed := bytes.TrimSpace(body)
	if len(trimmed) > 0 && trimmed[0] == '[' && json.Valid(trimmed) {
		refuseRPC(w, http.StatusBadRequest, nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "batches are not supported"})
		return sent{}, false
	}
	if len(trimmed) == 0 || trimmed[0] != '{' || !json.Valid(trimmed) {
		refuseRPC(w, http.StatusBadRequest, nil, &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "the body is not one valid JSON-RPC message"})
		return sent{}, false
	}
	// The same check as over stdio: the SDK would take a message without a method
	// for nothing to answer, and round an id.
	m, no := parseLine(trimmed)
	if no != nil {
		refuseRPC(w, http.StatusBadRequest, no.id, &jsonrpc.Error{Code: no.code, Message: no.message})
		return sent{}, false
	}
	var s sent
	if req, ok := m.(*jsonrpc.Request); ok {
		s.method = req.Method
		if req.IsCall() {
			s.id, s.version = encodeID(req.ID), metaVersion(req.Params)
		}
	}
	return s, true
}

// stream serves what waits for news until the client or the server ends.
func (h *HTTP) stream(w http.ResponseWriter, r *http.Request, next http.Handler, s sent) {
	client := h.sharer(r)
	if no := h.takeStream(client); no != "" {
		refuseBusy(w, http.StatusTooManyRequests, s.id, no)
		return
	}
	defer h.leaveStream(client)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(h.ended, cancel)()
	open := &openStream{holderIn(auth.TokenInfoFromContext(r.Context())), cancel}
	h.open.Store(open, nil)
	defer h.open.Delete(open)
	if !open.holder.holds(ctx) {
		cancel() // the token was asked for before, and Recheck may have been in between
	}
	h.pass(w, r.WithContext(ctx), next, s)
}

// openStream is one that waits for news.
type openStream struct {
	holder *holder
	end    context.CancelFunc
}

// Recheck ends what a [Door] has given out for tokens that the verifier does not know
// any more, and the streams for those that it does not know as the same subject's.
// From now on sessions hear of what the subject sees that their token is of now.
// Requests are asked for their token each time.
func (h *HTTP) Recheck() {
	if h.o.Verifier == nil {
		return
	}
	if door, ok := h.o.Pages.(Door); ok {
		door.Recheck(h.ended)
	}
	h.server.renew(h.ended)
	h.open.Range(func(key, _ any) bool {
		open := key.(*openStream)
		if !open.holder.holds(h.ended) {
			open.end()
		}
		return true
	})
}

// pass reports whether the SDK took the request.
func (h *HTTP) pass(w http.ResponseWriter, r *http.Request, next http.Handler, s sent) bool {
	a := newAnswer(w, h.o.WriteTimeout, s)
	next.ServeHTTP(a, r)
	a.finish()
	return a.refused == 0
}
