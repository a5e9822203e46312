package httpguard

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/base/hosts"
	"github.com/knack-dev/knack/internal/server/event"
)

// vary is the Vary header of every answer. It must not be modified.
var vary = []string{"Origin"}

// allow parses the hosts and origins that are served besides the loopback names.
func (g *Guard) allow(names, origins []string) error {
	for _, h := range names {
		name, ok := hosts.Host(h)
		if !ok {
			return fmt.Errorf("'%s' is no host: %s", h, hosts.WriteHost)
		}
		g.hosts = append(g.hosts, name)
	}
	for _, o := range origins {
		parsed, ok := hosts.Parse(o)
		if !ok {
			return fmt.Errorf("'%s' is no origin: %s", o, hosts.WriteOrigin)
		}
		g.origins = append(g.origins, parsed)
	}
	return nil
}

// checkOrigin checks the Host and the Origin of every request before any other check. A web page
// can make its visitor's browser send requests here, and can point its own name at this address
// (DNS rebinding). So every request, with any method, must have an allowed host and, if it has an
// origin, an allowed one. ([http.CrossOriginProtection] lets rebound POSTs and cross-site GETs
// through.)
func (g *Guard) checkOrigin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		allowed := g.allowsHost(r.Host)
		if !allowed && (!isProbe(r) || len(r.Header["Origin"]) > 0) {
			recordOf(r).Refusal = event.OtherHost
			g.refuse(w, r, http.StatusForbidden, "this Host is not served; the operator can allow it with http.hosts or --allow-host")
			return
		}
		origins := r.Header.Values("Origin")
		w.Header()["Vary"] = vary
		if allowed && r.TLS != nil && isRemembered(r.Host) {
			w.Header()["Strict-Transport-Security"] = strictTransport
		}
		switch {
		case len(origins) > 1 || len(origins) == 1 && !g.allowsOrigin(origins[0], r.Host):
			recordOf(r).Refusal = event.OtherOrigin
			g.refuse(w, r, http.StatusForbidden, "this Origin is not served; the operator can allow it with http.origins or --allow-origin")
			return
		case len(origins) == 1:
			allowCORS(w.Header(), origins[0])
		}
		if r.Method == http.MethodOptions {
			preflight(w, r, g.methods(r.URL.Path))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// strictTransport makes browsers use TLS for a name for a year after each answer. It does not apply
// to subdomains, which may not be this server's. It must not be modified.
var strictTransport = []string{"max-age=31536000"}

// isRemembered reports whether a browser may remember that a Host has TLS. Browsers apply this to
// all ports of a name, so on localhost it would affect the user's other programs. They ignore the
// header for IP addresses.
func isRemembered(host string) bool {
	name := nameOf(strings.ToLower(host))
	return !hosts.IsLocal(name) && net.ParseIP(name) == nil
}

// nameOf returns a Host without its port.
func nameOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

// allowsHost reports whether a Host is allowed or is a loopback name, which DNS rebinding cannot
// use.
func (g *Guard) allowsHost(host string) bool {
	host = strings.ToLower(host)
	name := nameOf(host)
	if name == "" {
		return false
	}
	if hosts.IsLoopback(name) {
		return true
	}
	return slices.ContainsFunc(g.hosts, func(allowed string) bool { return allowed == host || allowed == name || allowed == "["+name+"]" })
}

// allowsOrigin reports whether an origin is allowed or is the server's own. The caller has already
// checked the Host.
func (g *Guard) allowsOrigin(origin, host string) bool {
	origin, host = strings.ToLower(origin), strings.ToLower(host)
	return origin == "http://"+host || origin == "https://"+host || slices.Contains(g.origins, origin)
}

// corsHeaders lists the request headers that pages of other origins may send, besides Mcp-Param-*.
var corsHeaders = []string{
	"accept", "authorization", "content-type", "if-none-match", "last-event-id", "mcp-method", "mcp-name", "mcp-protocol-version", "mcp-session-id",
}

func allowCORS(h http.Header, origin string) {
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", "Mcp-Session-Id, WWW-Authenticate, Retry-After, ETag")
}

// methods returns the HTTP methods that a path supports.
func (g *Guard) methods(path string) string {
	if path == "/mcp" {
		return "GET, POST, DELETE"
	}
	if p, ok := g.o.Pages.(interface{ Methods(path string) string }); ok && path != "/healthz" && path != "/readyz" {
		return p.Methods(path)
	}
	return "GET, HEAD"
}

func preflight(w http.ResponseWriter, r *http.Request, methods string) {
	h := w.Header()
	h.Set("Allow", methods+", OPTIONS")
	if r.Header.Get("Origin") != "" && r.Header.Get("Access-Control-Request-Method") != "" {
		allowed := slices.Clone(corsHeaders)
		for name := range strings.SplitSeq(strings.ToLower(r.Header.Get("Access-Control-Request-Headers")), ",") {
			if name = strings.TrimSpace(name); strings.HasPrefix(name, "mcp-param-") && len(name) <= 64 && isToken(name) {
				allowed = append(allowed, name)
			}
		}
		h.Add("Vary", "Access-Control-Request-Headers")
		h.Set("Access-Control-Allow-Methods", methods)
		h.Set("Access-Control-Allow-Headers", strings.Join(allowed, ", "))
		h.Set("Access-Control-Max-Age", "600")
	}
	w.WriteHeader(http.StatusNoContent)
}

func isToken(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r != '-' && (r < 'a' || r > 'z') && (r < '0' || r > '9') }) < 0
}
