package mcpserver

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
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/limit"
	"github.com/knack-dev/knack/skill"
)

// How often somebody may ask. Both are far above what an agent or a person does,
// and below what would keep a server from others.
var (
	// DefaultLimit is for each client. Whoever takes in a whole library reads some
	// thousand files.
	DefaultLimit = limit.Rate{PerSecond: 100, Burst: 2000}
	// refusalRate is how often an address is told that it may not ask.
	refusalRate = limit.Rate{PerSecond: 5, Burst: 100}
	// unknownRate is for what an address may ask for without a token: the way in, and
	// the files that pages are made of, some ten for one person.
	unknownRate = limit.Rate{PerSecond: 20, Burst: 400}
	// lineRate is how much of that, and of refusals, is written down one by one. What
	// comes more often has a line at the second, the fourth, the eighth and so on: a
	// flood writes some lines in ten seconds, and takes weeks to fill the files.
	lineRate = limit.Rate{PerSecond: 0.1, Burst: 100}
)

// limits are those that hold now.
type limits struct {
	rate                      limit.Rate // of clients
	clients, refused, unknown *limit.Clients
}

// Limit sets how often each client may ask, from now on. A client is a subject, or,
// where there are no tokens or they have no name, an address; but where there are no
// tokens, this machine's own address is not limited. An address whose tokens are
// refused is told so a hundred times, and then five times a second; requests that
// are let in do not count there. What needs no token counts for the address too, 400
// at once and 20 a second. Counts go on where the rate is the one that holds. The
// zero rate ends all limits.
func (h *HTTP) Limit(rate limit.Rate) {
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
	h       *HTTP
	r       *http.Request
	address string
	subject access.Subject
	known   bool           // who asks has been let in: by a token, or where none is needed
	trace   *catalog.Trace // not at /mcp
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
// name another are not asked: anybody can write them.
func hostOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// watch answers a request.
func (h *HTTP) watch(w http.ResponseWriter, r *http.Request) {
	if !h.server.audit && h.limits.Load() == nil {
		h.root.ServeHTTP(&exchange{ResponseWriter: w, h: h, r: r}, r) // it counts refusals, and nobody asks for more
		return
	}
	x := &exchange{ResponseWriter: w, h: h, address: hostOf(r)}
	ctx := context.WithValue(r.Context(), exchangeKey{}, x)
	if h.server.audit {
		defer x.tell()
		if r.URL.Path != "/mcp" {
			ctx, x.trace = catalog.WithTrace(ctx)
		}
	}
	x.r = r.WithContext(ctx)
	h.root.ServeHTTP(x, x.r)
}

// limited lets a request pass whose subject does not ask too often.
func (h *HTTP) limited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h.admits(w, r, access.SubjectOf(r.Context())) {
			next.ServeHTTP(w, r)
		}
	})
}

// admits counts a request of a subject. Where it comes too often, it is answered so.
func (h *HTTP) admits(w http.ResponseWriter, r *http.Request, subject access.Subject) bool {
	x := exchangeOf(r)
	if x == nil {
		return true
	}
	x.subject, x.known = subject, true
	l := h.limits.Load()
	if l == nil || h.o.Verifier == nil && isLoopback(x.address) {
		return true
	}
	who := nameOf(subject, x.address)
	wait, denied := l.clients.Take(who)
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

// admitsUnknown is [HTTP.admits] for a request that may come without a token, and
// does.
func (h *HTTP) admitsUnknown(w http.ResponseWriter, r *http.Request) bool {
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

// networkOf is what one that nobody knows is told apart by: an address, or the 64
// bits that are given out to one customer, who has all addresses below them.
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
func (h *HTTP) tooOften(w http.ResponseWriter, r *http.Request, wait time.Duration) {
	seconds := strconv.Itoa(int(math.Ceil(wait.Seconds())))
	w.Header().Set("Retry-After", seconds)
	w.Header().Del("WWW-Authenticate")
	say := "Too many requests: wait " + seconds + " s before the next one."
	if surfaceOf(r) == audit.MCP {
		refuseRPC(w, http.StatusTooManyRequests, nil, &jsonrpc.Error{Code: codeBusy, Message: say})
		return
	}
	h.refuse(w, r, http.StatusTooManyRequests, say)
}

// Unwrap lets [http.ResponseController] reach the connection.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// WriteHeader counts refusals. Whose tokens were refused too often is told to wait;
// a host or an origin that is not served stays one, and costs as little.
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
			x.h.counts.refused(x.r, x.status, whyRefused)
			x.h.tooOften(x.ResponseWriter, x.r, wait)
			return
		}
	}
	if status >= http.StatusBadRequest {
		x.h.counts.refused(x.r, status, x.reason)
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

// tell has the answer noted in the audit log. At /mcp a method tells of itself, and
// what came as far as none is noted here where it was refused. Probes for health are
// none of anybody's decisions, nor is what everybody is given alike.
func (x *exchange) tell() {
	r := x.r
	e := audit.Event{
		Surface: surfaceOf(r), Subject: x.subject.Name, Address: x.address, Method: skill.RedactURI(r.Method), Asked: skill.RedactURI(r.URL.Path), Status: x.status,
	}
	fine := x.status < 400
	switch {
	case r.URL.Path == "/healthz", r.URL.Path == "/readyz", fine && r.Method == http.MethodOptions, fine && strings.HasPrefix(x.Header().Get("Cache-Control"), "public"):
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
			e.Asked = skill.RedactURI(asked)
		}
	}
	if x.method != "" {
		e.Method = skill.RedactURI(x.method)
	}
	switch {
	case x.status == 0, x.method != "" && fine: // the client left, or a handler gave up; a call that came to no method
		e.Result = audit.Failed
	case fine:
		e.Result = audit.OK
		if x.trace != nil {
			e.Loaded = loadsOf(x.trace)
		}
	case x.status == http.StatusUnauthorized:
		e.Result = audit.RefusedToken
	case x.status == http.StatusForbidden:
		e.Result = audit.Refused
	case x.status == http.StatusTooManyRequests:
		e.Result = audit.Limited
	case x.status == http.StatusNotFound && x.trace != nil:
		e.Result = x.missing()
	default:
		e.Result = audit.Failed
	}
	x.h.server.observe(Use{Method: e.Method, Subject: x.subject, Event: e})
}

// missing tells what is out of the subject's sight from what is not there.
func (x *exchange) missing() audit.Result {
	asked := x.trace.Asked()
	if asked == "" {
		return audit.NotFound
	}
	q := question{name: asked}
	if strings.HasPrefix(asked, skill.Scheme) {
		q = question{uri: asked}
	}
	ctx := x.h.seeing(x.r.WithContext(access.WithSubject(x.r.Context(), x.subject))).Context()
	view, err := x.h.server.catalog.View(ctx)
	if err != nil {
		return audit.NotFound
	}
	if find(view, q) == nil {
		whole, err := x.h.server.catalog.View(catalog.WithSight(ctx, nil))
		if err == nil && find(whole, q) != nil {
			return audit.Denied
		}
		return audit.NotFound
	}
	return faultOf(x.trace.Fault(), true)
}
