package httpd

import (
	"context"
	"math"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/audit"
	"github.com/knack-dev/knack/internal/display"
	"github.com/knack-dev/knack/limit"
	"github.com/knack-dev/knack/mcpserver/internal/wire"
	"github.com/knack-dev/knack/reads"
)

// How often an unknown client may ask: far above what a person does, and below what would
// keep a server from others.
var (
	// refusalRate is how often an address is told that it may not ask.
	refusalRate = limit.Rate{PerSecond: 5, Burst: 100}
	// unknownRate is for what an address may ask for without a token: the way in, and
	// the files that pages are made of, some ten for one person.
	unknownRate = limit.Rate{PerSecond: 20, Burst: 400}
	// lineRate is how much of that, and of refusals, is written down one by one.
	// Beyond it the second, the fourth, the eighth and so on has a line: a
	// flood writes some lines in ten seconds, and takes weeks to fill the files.
	lineRate = limit.Rate{PerSecond: 0.1, Burst: 100}
)

// limits are those that hold now.
type limits struct {
	rate                      limit.Rate // of clients
	clients, refused, unknown *limit.Clients
}

// Limit sets how often each client may ask, from now on. The server's method of that name
// says who counts as one client.
func (h *Handler) Limit(rate limit.Rate) {
	if rate.PerSecond <= 0 {
		h.limits.Store(nil)
		return
	}
	if l := h.limits.Load(); l != nil && l.rate == rate {
		return
	}
	h.limits.Store(&limits{rate, limit.New(rate), limit.New(refusalRate), limit.New(unknownRate)})
}

// exchange is one request and its answer, as they are watched for the limits, the
// audit log and the numbers.
type exchange struct {
	http.ResponseWriter
	h       *Handler
	r       *http.Request
	address string
	who     access.Principal
	known   bool         // the sender was let in, by a token or because none is needed
	trace   *reads.Trace // not at /mcp
	status  int
	method  string // of MCP, of a call
	handled bool   // by that method, which tells of itself
	denied  uint64 // it is one of so many that came too often
	mute    bool   // the answer was replaced
	reason  string // why it is refused
}

type exchangeKey struct{}

func exchangeOf(r *http.Request) *exchange {
	x, _ := r.Context().Value(exchangeKey{}).(*exchange)
	return x
}

// hostOf is the address of a request's connection, without the port. Headers that
// name another are not trusted: any client can write them.
func hostOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// watch answers a request.
func (h *Handler) watch(w http.ResponseWriter, r *http.Request) {
	if h.core.Tell == nil && h.limits.Load() == nil {
		h.root.ServeHTTP(&exchange{ResponseWriter: w, h: h, r: r}, r) // it counts refusals
		return
	}
	x := &exchange{ResponseWriter: w, h: h, address: hostOf(r)}
	ctx := context.WithValue(r.Context(), exchangeKey{}, x)
	if h.core.Tell != nil {
		defer x.tell()
		if r.URL.Path != "/mcp" {
			ctx, x.trace = reads.WithTrace(ctx)
		}
	}
	x.r = r.WithContext(ctx)
	h.root.ServeHTTP(x, x.r)
}

// admits counts a request of a subject. If it comes too often, it is answered so.
func (h *Handler) admits(w http.ResponseWriter, r *http.Request, who access.Principal) bool {
	x := exchangeOf(r)
	if x == nil {
		return true
	}
	x.who, x.known = who, true
	l := h.limits.Load()
	if l == nil || h.core.Access.Now().Verifier == nil && isLoopback(x.address) {
		return true
	}
	wait, denied := l.clients.Take(nameOf(who.Subject, x.address))
	if wait > 0 {
		x.denied, x.reason = denied, whyRate
		h.tooOften(w, r, wait)
	}
	return wait == 0
}

// nameOf is what one client is told from another by.
func nameOf(subject access.Subject, address string) string {
	who := "subject " + subject.Name
	if subject.Name == "" {
		who = "address " + networkOf(address)
	}
	return who
}

// admitsUnknown is [Handler.admits] for a request that may come without a token, and
// does.
func (h *Handler) admitsUnknown(w http.ResponseWriter, r *http.Request) bool {
	x, l := exchangeOf(r), h.limits.Load()
	if x == nil || l == nil {
		return true
	}
	wait, _ := l.unknown.Take(networkOf(x.address))
	if wait > 0 {
		x.reason = whyUnknown
		h.tooOften(w, r, wait)
	}
	return wait == 0
}

// networkOf is what tells unknown clients apart: an address, or for IPv6 its first 64 bits,
// below which one customer has all addresses.
func networkOf(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil || a.Unmap().Is4() {
		return address
	}
	p, _ := a.WithZone("").Prefix(64)
	return p.String()
}

func isLoopback(address string) bool {
	a, err := netip.ParseAddr(address)
	return err == nil && a.Unmap().IsLoopback()
}

// tooOften says when to come again.
func (h *Handler) tooOften(w http.ResponseWriter, r *http.Request, wait time.Duration) {
	seconds := strconv.Itoa(int(math.Ceil(wait.Seconds())))
	w.Header().Set("Retry-After", seconds)
	w.Header().Del("WWW-Authenticate")
	say := "Too many requests: wait " + seconds + " s before the next one."
	if surfaceOf(r) == audit.MCP {
		refuseRPC(w, http.StatusTooManyRequests, nil, &jsonrpc.Error{Code: wire.CodeBusy, Message: say})
		return
	}
	h.refuse(w, r, http.StatusTooManyRequests, say)
}

// Unwrap lets [http.ResponseController] reach the connection.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// WriteHeader counts refusals. A client whose tokens were refused too often is told to
// wait; a host or an origin that is not served stays one, and costs as little.
func (x *exchange) WriteHeader(status int) {
	if x.status != 0 {
		if !x.mute {
			x.ResponseWriter.WriteHeader(status)
		}
		return
	}
	x.status = status
	if l := x.h.limits.Load(); l != nil && (status == http.StatusUnauthorized || status == http.StatusForbidden) {
		if wait, _ := l.refused.Take(networkOf(x.address)); wait > 0 && status == http.StatusUnauthorized {
			x.status, x.mute = http.StatusTooManyRequests, true
			x.h.core.Counts.refused(x.r, x.status, whyRefused)
			x.h.tooOften(x.ResponseWriter, x.r, wait)
			return
		}
	}
	if status >= http.StatusBadRequest {
		x.h.core.Counts.refused(x.r, status, x.reason)
	}
	x.ResponseWriter.WriteHeader(status)
}

func (x *exchange) Write(data []byte) (int, error) {
	if x.mute {
		return len(data), nil
	}
	if x.status == 0 {
		x.status = http.StatusOK
	}
	return x.ResponseWriter.Write(data)
}

func surfaceOf(r *http.Request) string {
	switch path := r.URL.Path; {
	case path == "/mcp":
		return audit.MCP
	case strings.HasPrefix(path, "/api/"):
		return audit.API
	case strings.HasPrefix(path, "/.well-known/"):
		return audit.WellKnown
	}
	return audit.Web
}

// tell writes the answer to the audit log. At /mcp a method does that itself, so that only
// refused requests without one are written here. Probes for health, and what everyone is
// given alike, are left out.
func (x *exchange) tell() {
	r := x.r
	e := audit.Event{
		Surface: surfaceOf(r), Subject: x.who.Subject.Name, Address: x.address, Method: display.RedactURI(r.Method), Asked: display.RedactURI(r.URL.Path), Status: x.status,
	}
	fine := x.status < 400
	switch {
	case isProbe(r), fine && r.Method == http.MethodOptions, fine && strings.HasPrefix(x.Header().Get("Cache-Control"), "public"):
		return
	case x.handled, e.Surface == audit.MCP && fine && x.method == "":
		return
	}
	if !x.known {
		_, x.denied = x.h.lines.Take(networkOf(x.address))
	}
	switch {
	case x.denied&(x.denied-1) != 0: // a flood is not written down one by one
		return
	case x.denied > 1:
		e.Times = x.denied
	}
	if x.trace != nil {
		if asked := x.trace.Asked(); asked != "" {
			e.Asked = display.RedactURI(asked)
		}
	}
	if x.method != "" {
		e.Method = display.RedactURI(x.method)
	}
	switch {
	case x.status == 0, x.method != "" && fine: // the client left, or a handler gave up; a call that came to no method
		e.Result = audit.Failed
	case fine:
		e.Result = audit.OK
		if x.trace != nil {
			e.Loaded = LoadsOf(x.trace)
		}
	case x.status == http.StatusUnauthorized:
		e.Result = audit.RefusedToken
	case x.status == http.StatusForbidden:
		e.Result = audit.Refused
	case x.status == http.StatusTooManyRequests:
		e.Result = audit.Limited
	case x.status == http.StatusNotFound && x.trace != nil:
		e.Result = x.h.core.Missing(x.who, x.trace.Asked(), x.trace.Fault())
	default:
		e.Result = audit.Failed
	}
	x.h.core.Tell(x.who.Subject, e)
}

// LoadsOf is what a request was given, for the audit log.
func LoadsOf(trace *reads.Trace) (out []audit.Load) {
	for _, l := range trace.Loads() {
		out = append(out, audit.Load{URI: l.URI, Digest: l.Digest.String(), Size: l.Size})
	}
	return out
}
