package mcpserver

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/internal/server/httpguard"
	"github.com/knack-dev/knack/mcpserver/internal/httpd"
	"github.com/knack-dev/knack/mcpserver/internal/notify"
	"github.com/knack-dev/knack/mcpserver/internal/wire"
)

// DefaultLimit is the default request rate of each client. It is far above an agent's use and low
// enough to protect other clients: a client that loads a whole library reads some thousand files.
var DefaultLimit = limit.Rate{PerSecond: 100, Burst: 2000}

// HTTPOptions configures the HTTP side of a server. The zero value serves loopback names.
// [Options.Access] authorizes callers.
type HTTPOptions = httpguard.Options

// SignIn is a handler of pages on which people sign in with a token. MCP does not accept its
// cookie: browsers send cookies unasked, so any web page could call tools.
type SignIn = httpguard.SignIn

// HTTP serves MCP over Streamable HTTP: both protocol eras at /mcp, health checks at /healthz and
// /readyz, and [HTTPOptions.Pages] elsewhere.
type HTTP struct {
	server    *Server
	handler   *httpd.Handler
	begun     time.Time
	firstScan time.Duration // the constant firstScan; shorter in tests
	waits     func() (source, why string)
}

// firstScan bounds how long an unread root keeps a server from being ready. After that, the server
// is ready without the root, since a disk that never answers must not stop it.
const firstScan = time.Minute

// NewHTTP makes the HTTP side of a server; a server has only one. The error names the malformed
// host or origin.
func NewHTTP(s *Server, o HTTPOptions) (*HTTP, error) {
	h := &HTTP{server: s, begun: time.Now(), firstScan: firstScan, waits: o.Waits}
	o.Log = bounded(o.Log)
	var err error
	h.handler, err = httpd.New(o, httpguard.Server{
		Memory: s.memory, Catalog: s.o.Catalog, Access: s.o.Access, Events: s.events, Audit: s.o.Audit, NotReady: h.notReady, Without: h.without,
	}, web{s})
	if err != nil {
		return nil, err
	}
	recheck := h.handler.Recheck
	s.accessChanged.Store(&recheck)
	h.handler.Expire(recheck)
	return h, nil
}

// web is the core of the sessions over HTTP.
type web struct{ server *Server }

// NewSession implements [httpd.Core].
func (w web) NewSession(from httpguard.Caller, to httpd.Client) httpd.Session {
	in := &session{server: w.server}
	l := &in.listener
	l.Token, l.Share, l.Lists, l.Send, l.Ready = from.Token, from.Share, notify.AllLists, to.Send, to.Ready
	return in
}

// Take implements [httpd.Core].
func (w web) Take(m *wire.Message, p *wire.Params, no *jsonrpc.Error, from httpguard.Caller, in httpd.Session, send func([]byte)) (wire.Work, *jsonrpc.Error) {
	own, _ := in.(*session)
	x, no := w.server.take(m, p, no, own)
	if no != nil {
		return nil, no
	}
	x.Caller, x.send = from, send
	return x, nil
}

// Hear implements [httpd.Core].
func (w web) Hear(m *wire.Message, in httpd.Session) *jsonrpc.Error {
	own, _ := in.(*session)
	return w.server.hear(m, own)
}

// notReady returns why the server is not ready, or "" if it is. Anyone may request /readyz, so the
// reason names sources and roots only if everyone may see everything.
func (h *HTTP) notReady() string {
	v, ready := h.server.o.Catalog.Now(nil)
	state := h.server.o.Access.Now()
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

// without describes the skills that a ready server lacks. It is "" if none are missing. See
// [HTTP.notReady].
func (h *HTTP) without() string {
	v, _ := h.server.o.Catalog.Now(nil)
	lacks := v.Unreachable()
	if state := h.server.o.Access.Now(); lacks != "" && (state.Verifier != nil || state.Policy != nil) {
		return "skills of a source are missing; the server's log says why"
	}
	return lacks
}

// ServeHTTP answers one request.
func (h *HTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.handler.ServeHTTP(w, r) }

// Routes returns the [http.ServeMux] patterns that are served, without the routes of
// [HTTPOptions.Pages].
func (h *HTTP) Routes() []string { return h.handler.Routes() }

// Limit sets the request rate of each client from now on; the zero rate ends all limits.
//
// A client is a subject, or an address if tokens are not required or have no name. Without tokens,
// this machine's own address is not limited. An address may have a burst of 100 refused tokens, and
// then five a second. Requests that need no token are limited by address too: to a burst of 400,
// and then 20 a second. Counts continue if the rate does not change.
func (h *HTTP) Limit(rate limit.Rate) { h.handler.Limit(rate) }

// Open returns the numbers of open sessions, of protocol versions before 2026-07-28, and of open
// streams.
func (h *HTTP) Open() (sessions, streams int) { return h.handler.Open() }

// Close ends the streams and sessions, and closes the server. A program that serves the handler
// with its own [http.Server] calls Close before it shuts that server down, since Shutdown waits for
// streams.
func (h *HTTP) Close() {
	h.handler.Close()
	h.server.Close()
}

// Serve answers on a listener until the context ends, over TLS if conf is not nil. Then it accepts
// no new calls, ends the streams and waits up to DrainTimeout for running calls. It always closes
// the listener.
func (h *HTTP) Serve(ctx context.Context, ln net.Listener, conf *tls.Config) error {
	return h.handler.Serve(ctx, ln, conf)
}
