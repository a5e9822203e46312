package mcpserver

import (
	"net/http"
	"time"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
)

// pages serves what else there is at this address behind the same checks as MCP:
// host, origin and token, and the bound on calls at once.
func (h *HTTP) pages() http.Handler {
	if h.o.Pages == nil {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			refuse(w, http.StatusNotFound, "there is nothing here; MCP is at /mcp")
		})
	}
	return h.authenticated(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !take(h.calls) {
			refuseBusy(w, http.StatusTooManyRequests, nil, "too many calls at once; try again")
			return
		}
		defer func() { <-h.calls }()
		p := newPaced(w, h.o.WriteTimeout)
		h.o.Pages.ServeHTTP(&p, h.seeing(r))
	}))
}

// seeing is a request in whose context the catalogue shows what the subject of its
// token may see, as [Server.Restrict] has it.
func (h *HTTP) seeing(r *http.Request) *http.Request {
	p := h.server.audience.policy.Load()
	if p == nil {
		return r
	}
	subject, _ := r.Context().Value(verified{}).(access.Subject)
	return r.WithContext(catalog.WithSight(r.Context(), p.Sight(subject)))
}

// readyz says whether the skills have been read once.
func (h *HTTP) readyz(w http.ResponseWriter, r *http.Request) {
	select {
	case <-h.server.catalog.Ready():
		h.healthz(w, r)
	default:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte("the skills are being read\n"))
	}
}

// paced gives up on a client that does not read.
type paced struct {
	http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
}

func newPaced(w http.ResponseWriter, timeout time.Duration) paced {
	return paced{w, http.NewResponseController(w), timeout}
}

// Unwrap lets [http.ResponseController] reach the connection.
func (p *paced) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// Write writes in pieces, each with its own deadline.
func (p *paced) Write(data []byte) (n int, err error) {
	for n < len(data) && err == nil {
		_ = p.control.SetWriteDeadline(time.Now().Add(p.timeout))
		var m int
		m, err = p.ResponseWriter.Write(data[n:min(n+writeChunk, len(data))])
		n += m
	}
	return n, err
}
