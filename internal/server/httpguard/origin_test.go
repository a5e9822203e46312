package httpguard

import (
	"crypto/tls"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/base/limit"
)

// named returns a guard with three host names that requires tokens and allows each client one
// request.
func named(t *testing.T, notReady string) *Guard {
	t.Helper()
	g, err := New(Options{
		Hosts: []string{"skills.example", "192.0.2.7", "dev.localhost"}, BodyTimeout: time.Minute, WriteTimeout: time.Minute, MaxCalls: 1, Limit: limit.Rate{PerSecond: 1e-6, Burst: 1}, Log: slog.New(slog.DiscardHandler),
	}, Server{
		Memory:   limit.NewBudget(1<<20, 0),
		Access:   access.NewGate(access.State{Verifier: &tokens{}}),
		NotReady: func() string { return notReady },
		Refuse:   func(w http.ResponseWriter, status int, message string) { http.Error(w, message, status) },
	})
	must(t, err)
	g.Handle("/mcp", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	return g
}

// TestStrictTransport checks which host names get the header: those served with this server's own
// TLS, unless other programs of the machine share the name.
func TestStrictTransport(t *testing.T) {
	g := named(t, "")
	for host, want := range map[string][]string{
		"skills.example": strictTransport, "Skills.Example:8443": strictTransport,
		"localhost": nil, "LOCALHOST:8443": nil, "dev.localhost:8443": nil, "127.0.0.1:8443": nil, "[::1]:8443": nil, "192.0.2.7": nil,
		"evil.example": nil,
	} {
		for _, path := range []string{"/mcp", "/healthz", "/nothing"} {
			for _, state := range []*tls.ConnectionState{{}, nil} {
				r := httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil)
				r.Host, r.TLS = host, state
				r.Header.Set("X-Forwarded-Proto", "https") // a proxy has its own TLS, and sets its own header
				w := httptest.NewRecorder()
				g.ServeHTTP(w, r)
				if got := w.Header()["Strict-Transport-Security"]; state == nil && got != nil || state != nil && !slices.Equal(got, want) {
					t.Errorf("%s%s, TLS %v: %q", host, path, state != nil, got)
				}
			}
		}
	}
}

// TestProbes checks that any request for the path of a probe is answered, and that the answer
// contains only the state.
func TestProbes(t *testing.T) {
	const unread = "the root payroll is still being read"
	for _, g := range []*Guard{named(t, ""), named(t, unread)} {
		for n := range 500 { // beyond every limit of an address
			method := []string{http.MethodGet, http.MethodHead}[n%2]
			host := []string{"localhost", "skills.example", "10.0.0.7:8080", "evil.example", "", "[::ffff:10.0.0.7]"}[n%6]
			for _, path := range []string{"/healthz", "/readyz"} {
				status, body := http.StatusOK, "ok\n"
				if path == "/readyz" && g.o.NotReady() != "" {
					status, body = http.StatusServiceUnavailable, "the skills are being read\n"
					if g.allowsHost(host) {
						body = unread + "\n"
					}
				}
				r := httptest.NewRequest(method, "http://localhost"+path+"?token=x", nil)
				r.Host, r.RemoteAddr = host, "198.51.100.9:1"
				r.Header.Set("Authorization", "Bearer unknown")
				r.Header.Set("Cookie", "knack=unknown")
				w := httptest.NewRecorder()
				g.ServeHTTP(w, r)
				if w.Code != status || w.Body.String() != body {
					t.Fatalf("%s %s of %q: %d %q", method, path, host, w.Code, w.Body)
				}
				for name := range w.Header() {
					if !slices.Contains([]string{"Content-Type", "Cache-Control", "Vary"}, name) {
						t.Errorf("%s %s of %q has the header %s", method, path, host, name)
					}
				}
			}
		}
	}
}
