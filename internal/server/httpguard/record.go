package httpguard

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/server/event"
)

// record contains the event of one request, the facts that the limits need, and the writer of the
// answer.
type record struct {
	http.ResponseWriter
	event.Event
	g       *Guard
	r       *http.Request
	begun   time.Time
	who     access.Principal
	known   bool           // the sender is known, or no token is required
	trace   *catalog.Trace // for the audit log; nil at /mcp
	call    string         // the MCP method that the request calls, or ""
	isCall  bool
	handled bool // the method records the event itself
	mute    bool // the answer was replaced
}

type recordKey struct{}

func recordOf(r *http.Request) *record { return r.Context().Value(recordKey{}).(*record) }

// EventOf returns the event of a request, which is recorded after the answer. A handler may set its
// Asked and its Route.
func EventOf(r *http.Request) *event.Event {
	if x, ok := r.Context().Value(recordKey{}).(*record); ok {
		return &x.Event
	}
	return new(event.Event)
}

// IsCall notes that a request calls an MCP method. The method may be "".
func IsCall(r *http.Request, method string) {
	x := recordOf(r)
	x.isCall, x.call = true, method
}

// IsRecorded notes that the method of a request records the request's event itself.
func IsRecorded(r *http.Request) { recordOf(r).handled = true }

// record answers a request and records its event.
func (g *Guard) record(w http.ResponseWriter, r *http.Request) {
	x := &record{ResponseWriter: w, g: g, begun: time.Now()}
	x.Address, x.Surface = addressOf(r), surfaceOf(r)
	ctx := context.WithValue(r.Context(), recordKey{}, x)
	if g.o.Audit && x.Surface != event.MCP {
		ctx, x.trace = catalog.WithTrace(ctx)
	}
	if len(g.o.Events) > 0 {
		defer x.emit()
	}
	x.r = r.WithContext(ctx)
	g.root.ServeHTTP(x, x.r)
}

// Unwrap lets [http.ResponseController] reach the connection.
func (x *record) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// WriteHeader records why a request is refused. After too many refusals, an address with a refused
// token gets 429. A refused host or origin also counts, but its answer is still 403.
func (x *record) WriteHeader(status int) {
	if x.Status != 0 {
		if !x.mute {
			x.ResponseWriter.WriteHeader(status)
		}
		return
	}
	x.Status = status
	if l := x.g.limits.Load(); l != nil && (status == http.StatusUnauthorized || status == http.StatusForbidden) {
		if wait, _ := l.refused.Take(networkOf(x.Address)); wait > 0 && status == http.StatusUnauthorized {
			x.Status, x.Refusal, x.mute = http.StatusTooManyRequests, event.OverRefused, true
			x.g.tooOften(x.ResponseWriter, x.r, wait)
			return
		}
	}
	switch status {
	case http.StatusUnauthorized:
		x.Refusal = event.UnknownToken
		if len(x.r.Header["Authorization"]) == 0 && len(x.r.Header["Cookie"]) == 0 {
			x.Refusal = event.NoToken
		}
	case http.StatusForbidden:
		x.Refusal = cmp.Or(x.Refusal, event.Forbidden)
	case http.StatusTooManyRequests:
		x.Refusal = cmp.Or(x.Refusal, event.TooBusy)
	}
	x.ResponseWriter.WriteHeader(status)
}

func (x *record) Write(data []byte) (int, error) {
	if x.mute {
		return len(data), nil
	}
	if x.Status == 0 {
		x.Status = http.StatusOK
	}
	return x.ResponseWriter.Write(data)
}

func surfaceOf(r *http.Request) string {
	switch path := r.URL.Path; {
	case path == "/mcp":
		return event.MCP
	case strings.HasPrefix(path, "/api/"):
		return event.API
	case strings.HasPrefix(path, "/.well-known/"):
		return event.WellKnown
	}
	return event.Web
}

// emit passes the event of a request to the sinks. MCP methods record their own events, so at /mcp
// it records only requests that reached no method. The audit log has no health checks and no public
// files.
func (x *record) emit() {
	r := x.r
	fine := x.Status < 400
	if x.handled || fine && (r.Method == http.MethodOptions || x.Surface == event.MCP && !x.isCall) {
		return
	}
	x.Subject, x.Took = x.who.Subject.Name, time.Since(x.begun)
	x.Method = r.Method
	if x.call != "" {
		x.Method = x.call
	}
	x.Unlogged = isProbe(r) || fine && strings.HasPrefix(x.Header().Get("Cache-Control"), "public")
	if x.g.o.Audit && !x.Unlogged {
		x.Method = display.RedactURI(x.Method)
		if !x.known {
			_, x.Times = x.g.logged.Take(networkOf(x.Address))
		}
		if x.Times == 1 {
			x.Times = 0
		}
		x.Unlogged = x.Times&(x.Times-1) != 0 // a flood is not logged request by request
	}
	x.setResult(fine)
	x.Asked = cmp.Or(x.Asked, r.URL.Path)
	x.g.o.Events.Record(&x.Event)
}

// setResult sets the result of the request.
func (x *record) setResult(fine bool) {
	switch {
	case x.Status == 0, x.isCall && fine: // the client left, a handler gave up, or the call reached no method
		x.Result = event.Failed
	case fine:
		x.Result, x.Loaded = event.OK, x.trace.Loads()
	case x.Status == http.StatusUnauthorized:
		x.Result = event.RefusedToken
	case x.Status == http.StatusForbidden:
		x.Result = event.Refused
	case x.Status == http.StatusTooManyRequests:
		x.Result = event.Limited
	case x.Status == http.StatusNotFound && x.trace != nil && x.Asked == "":
		x.Result = event.NotFound
	case x.Status == http.StatusNotFound && x.trace != nil:
		x.View, _ = x.g.o.Catalog.Now(x.who.Filter)
		x.Explain(x.g.o.Catalog, x.trace.Fault())
	default:
		x.Result = event.Failed
	}
}
