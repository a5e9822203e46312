package httpd

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// guard checks every request over HTTP before anything else. A web page that a user
// visits can make the browser send requests here, and can point a name of its own
// at this address (DNS rebinding): hence a list of Host values on every request,
// and a list of origins on every request that names one, whatever its method.
// ([http.CrossOriginProtection] lets rebound POSTs and cross-site GETs through.)
type guard struct {
	hosts   []string
	origins []string
	pages   http.Handler
}

// vary is the Vary header of every answer. It must not be changed.
var vary = []string{"Origin"}

func newGuard(o Options) (*guard, error) {
	g := &guard{pages: o.Pages}
	for _, h := range o.Hosts {
		name := strings.ToLower(strings.TrimSpace(h))
		if name == "" || strings.ContainsAny(name, "/*@ ") {
			return nil, fmt.Errorf("'%s' is no host: write a name or address, with :port for one port alone", h)
		}
		g.hosts = append(g.hosts, name)
	}
	for _, o := range o.Origins {
		u, err := url.Parse(strings.ToLower(strings.TrimSpace(o)))
		if err != nil || u.Scheme == "" || u.Host == "" || u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil || strings.Contains(u.Host, "*") {
			return nil, fmt.Errorf("'%s' is no origin: write scheme://host or scheme://host:port, without a path", o)
		}
		g.origins = append(g.origins, u.Scheme+"://"+u.Host)
	}
	return g, nil
}

func (g *guard) wrap(next http.Handler, refuse func(http.ResponseWriter, *http.Request, int, string)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.allowsHost(r.Host) && (!isProbe(r) || len(r.Header["Origin"]) > 0) {
			why(w, whyHost)
			refuse(w, r, http.StatusForbidden, "this Host is not served; the operator can allow it with --allow-host")
			return
		}
		origins := r.Header.Values("Origin")
		w.Header()["Vary"] = vary
		switch {
		case len(origins) > 1 || len(origins) == 1 && !g.allowsOrigin(origins[0], r.Host):
			why(w, whyOrigin)
			refuse(w, r, http.StatusForbidden, "this Origin is not served; the operator can allow it with --allow-origin")
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

// isProbe reports whether a request asks only whether the server runs. A balancer sends
// the address that it probes as the Host, and no Origin.
func isProbe(r *http.Request) bool { return r.URL.Path == "/healthz" || r.URL.Path == "/readyz" }

// allowsHost reports whether a Host is a name of the loopback, which no rebinding can make
// another's, or one of the list.
func (g *guard) allowsHost(host string) bool {
	host = strings.ToLower(host)
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	if name == "" {
		return false
	}
	if ip := net.ParseIP(name); name == "localhost" || ip != nil && ip.IsLoopback() {
		return true
	}
	return slices.ContainsFunc(g.hosts, func(allowed string) bool { return allowed == host || allowed == name || allowed == "["+name+"]" })
}

// allowsOrigin reports whether an origin is this server's, whose Host is allowed, or one of
// the list.
func (g *guard) allowsOrigin(origin, host string) bool {
	origin, host = strings.ToLower(origin), strings.ToLower(host)
	return origin == "http://"+host || origin == "https://"+host || slices.Contains(g.origins, origin)
}

// corsHeaders are the request headers that pages may send, besides Mcp-Param-*.
var corsHeaders = []string{
	"accept", "authorization", "content-type", "last-event-id", "mcp-method", "mcp-name", "mcp-protocol-version", "mcp-session-id",
}

func allowCORS(h http.Header, origin string) {
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", "Mcp-Session-Id, WWW-Authenticate, Retry-After")
}

// methods are those that are answered at a path.
func (g *guard) methods(path string) string {
	if path == "/mcp" {
		return "GET, POST, DELETE"
	}
	if p, ok := g.pages.(interface{ Methods(path string) string }); ok && path != "/healthz" && path != "/readyz" {
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

// authenticated asks for a token, if tokens are required, before anything else of the
// request is read. Its sender is looked up again when its body is here.
func (h *Handler) authenticated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, ok := h.know(r, tokenOf(r))
		if !ok {
			h.unknown(w, r)
			return
		}
		if h.admits(w, r, who) {
			next.ServeHTTP(w, r)
		}
	})
}

func (h *Handler) unknown(w http.ResponseWriter, r *http.Request) {
	h.challenge(w, r)
	h.refuse(w, r, http.StatusUnauthorized, "unauthorized: send a token in the header Authorization: Bearer")
}

// tokenOf is the token that a request bears, empty without one.
func tokenOf(r *http.Request) string {
	token, _ := bearer(r.Header.Values("Authorization"))
	return token
}

// bearer reads the one Authorization header.
func bearer(values []string) (token string, ok bool) {
	if len(values) != 1 {
		return "", false
	}
	fields := strings.Fields(values[0])
	if len(fields) != 2 || !strings.EqualFold(fields[0], "Bearer") {
		return "", false
	}
	return fields[1], true
}
