package httpguard

import (
	"context"
	"net/http"
	"strings"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/server/audit"
)

// record collects the facts about one request for the limits, the audit log and the counts. It is
// also the writer of the answer.
type record struct {
	http.ResponseWriter
	g       *Guard
	r       *http.Request
	address string
	who     access.Principal
	known   bool           // the sender is known, or no token is required
	trace   *catalog.Trace // for the audit log, not at /mcp
	status  int
	call    bool   // the request calls an MCP method
	method  string // of a call
	handled bool   // the method writes the audit log itself
	denied  uint64 // how often in a row the client exceeded its rate
	mute    bool   // the answer was replaced
	reason  string // of a refusal
}

type recordKey struct{}

func recordOf(r *http.Request) *record { return r.Context().Value(recordKey{}).(*record) }

// IsCall records that a request calls an MCP method, whose name may be empty.
func IsCall(r *http.Request, method string) {
	x := recordOf(r)
	x.call, x.method = true, method
}

// IsLogged records whether a request's method writes the audit log itself.
func IsLogged(r *http.Request, itself bool) { recordOf(r).handled = itself }

// record answers a request and records it.
func (g *Guard) record(w http.ResponseWriter, r *http.Request) {
	x := &record{ResponseWriter: w, g: g, address: addressOf(r)}
	ctx := context.WithValue(r.Context(), recordKey{}, x)
	if g.o.Observe != nil {
		defer x.log()
		if surfaceOf(r) != audit.MCP {
			ctx, x.trace = catalog.WithTrace(ctx)
		}
	}
	x.r = r.WithContext(ctx)
	g.root.ServeHTTP(x, x.r)
}

// Unwrap lets [http.ResponseController] reach the connection.
func (x *record) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// WriteHeader counts refusals. An address whose tokens were refused too often must wait. A
// refused host or origin counts too, but its answer stays the same.
func (x *record) WriteHeader(status int) {
	if x.status != 0 {
		if !x.mute {
			x.ResponseWriter.WriteHeader(status)
		}
		return
	}
	x.status = status
	if l := x.g.limits.Load(); l != nil && (status == http.StatusUnauthorized || status == http.StatusForbidden) {
		if wait, _ := l.refused.Take(networkOf(x.address)); wait > 0 && status == http.StatusUnauthorized {
			x.status, x.mute = http.StatusTooManyRequests, true
			x.g.countRefusal(x.r, x.status, reasonRefused)
			x.g.tooOften(x.ResponseWriter, x.r, wait)
			return
		}
	}
	if status >= http.StatusBadRequest {
		x.g.countRefusal(x.r, status, x.reason)
	}
	x.ResponseWriter.WriteHeader(status)
}

func (x *record) Write(data []byte) (int, error) {
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

// log writes a request to the audit log. Methods at /mcp write their own lines, so there it
// writes only requests that reached no method. It leaves out health checks and public files.
func (x *record) log() {
	r := x.r
	e := audit.Event{
		Surface: surfaceOf(r), Subject: x.who.Subject.Name, Address: x.address, Method: display.RedactURI(r.Method), Asked: display.RedactURI(r.URL.Path), Status: x.status,
	}
	fine := x.status < 400
	switch {
	case isProbe(r), fine && r.Method == http.MethodOptions, fine && strings.HasPrefix(x.Header().Get("Cache-Control"), "public"):
		return
	case x.handled, e.Surface == audit.MCP && fine && !x.call:
		return
	}
	if !x.known {
		_, x.denied = x.g.logged.Take(networkOf(x.address))
	}
	switch {
	case x.denied&(x.denied-1) != 0: // a flood is not logged request by request
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
	e.Result, e.Reason = x.result(fine)
	if e.Result == audit.OK && x.trace != nil {
		e.Loaded = audit.Loaded(x.trace)
	}
	x.g.o.Observe(x.who.Subject, e)
}

// result returns the result of the request, and the reason if the operator's policy holds back
// the requested skill.
func (x *record) result(fine bool) (result audit.Result, why string) {
	switch {
	case x.status == 0, x.call && fine: // the client left, a handler gave up, or the call reached no method
		return audit.Failed, ""
	case fine:
		return audit.OK, ""
	case x.status == http.StatusUnauthorized:
		return audit.RefusedToken, ""
	case x.status == http.StatusForbidden:
		return audit.Refused, ""
	case x.status == http.StatusTooManyRequests:
		return audit.Limited, ""
	case x.status == http.StatusNotFound && x.trace != nil:
		return audit.Missing(x.g.o.Catalog, x.who, x.trace.Asked(), x.trace.Fault())
	}
	return audit.Failed, ""
}
