package httpguard

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/internal/server/event"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// TestProxies checks that forwarding headers count only from a trusted proxy, and only back to the
// first untrusted address.
func TestProxies(t *testing.T) {
	const own, other = "skills.example.com", "evil.example"
	for name, row := range map[string]struct {
		peer, host     string
		header         http.Header
		address, known string // the client's address; the Host that is served, or "" if it is refused
	}{
		"no header":                       {"10.0.0.1:1", own, nil, "10.0.0.1", own},
		"a client of a proxy":             {"10.0.0.1:1", own, http.Header{"X-Forwarded-For": {"192.0.2.7"}}, "192.0.2.7", own},
		"with a port":                     {"10.0.0.1:1", own, http.Header{"X-Forwarded-For": {"192.0.2.7:4711"}}, "192.0.2.7", own},
		"of the sixth version":            {"[fd00::1]:1", own, http.Header{"X-Forwarded-For": {"[2001:db8::7]:4711"}}, "2001:db8::7", own},
		"mapped":                          {"[::ffff:10.0.0.1]:1", own, http.Header{"X-Forwarded-For": {"::ffff:192.0.2.7"}}, "192.0.2.7", own},
		"two proxies":                     {"10.0.0.1:1", own, http.Header{"X-Forwarded-For": {"192.0.2.7, 10.9.9.9"}}, "192.0.2.7", own},
		"two headers":                     {"10.0.0.1:1", own, http.Header{"X-Forwarded-For": {"192.0.2.7", "10.9.9.9"}}, "192.0.2.7", own},
		"a client that claims an address": {"10.0.0.1:1", own, http.Header{"X-Forwarded-For": {"198.51.100.1, 192.0.2.7"}}, "192.0.2.7", own},
		"that claims to be a proxy":       {"10.0.0.1:1", own, http.Header{"X-Forwarded-For": {"198.51.100.1, 10.0.0.2, 192.0.2.7"}}, "192.0.2.7", own},
		"that claims to be the loopback":  {"10.0.0.1:1", own, http.Header{"X-Forwarded-For": {"127.0.0.1"}}, "10.0.0.1", own},
		"that claims to be no address":    {"10.0.0.1:1", own, http.Header{"X-Forwarded-For": {"unknown, 10.0.0.2"}}, "10.0.0.2", own},
		"all are proxies":                 {"10.0.0.1:1", own, http.Header{"X-Forwarded-For": {"10.0.0.3, 10.0.0.2"}}, "10.0.0.3", own},
		"not a proxy":                     {"192.0.2.9:1", own, http.Header{"X-Forwarded-For": {"10.0.0.1"}, "X-Forwarded-Host": {own}}, "192.0.2.9", own},
		"not a proxy, another host":       {"192.0.2.9:1", other, http.Header{"X-Forwarded-Host": {own}}, "192.0.2.9", ""},
		"not a proxy, a served host":      {"192.0.2.9:1", "localhost:8080", http.Header{"X-Forwarded-Host": {own}}, "192.0.2.9", "localhost:8080"},
		"a proxy with a name of its own":  {"10.0.0.1:1", "localhost:8080", http.Header{"X-Forwarded-Host": {own}}, "10.0.0.1", own},
		"a proxy with another host":       {"10.0.0.1:1", "localhost:8080", http.Header{"X-Forwarded-Host": {other}}, "10.0.0.1", ""},
		"rebinding behind a proxy":        {"10.0.0.1:1", other, http.Header{"X-Forwarded-Host": {own}}, "10.0.0.1", ""},
		"another header":                  {"10.0.0.1:1", own, http.Header{"Forwarded": {"for=192.0.2.7"}, "X-Real-Ip": {"192.0.2.7"}}, "10.0.0.1", own},
	} {
		var seen *http.Request
		var logged latest
		g, err := New(Options{
			Hosts: []string{own}, Proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}, Pages: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r }), BodyTimeout: time.Minute, WriteTimeout: time.Minute, MaxCalls: 1, Log: slog.New(slog.DiscardHandler),
		}, Server{
			Memory:   limit.NewBudget(1<<20, 0),
			Access:   new(access.Gate),
			NotReady: func() string { return "" },
			Events:   event.Sinks{&logged},
			Refuse:   func(w http.ResponseWriter, status int, message string) { http.Error(w, message, status) },
		})
		must(t, err)
		r := httptest.NewRequestWithContext(context.Background(), "GET", "http://x/", nil)
		r.RemoteAddr, r.Host = row.peer, row.host
		for name, values := range row.header {
			r.Header[name] = values
		}
		g.ServeHTTP(httptest.NewRecorder(), r)
		switch {
		case logged.Address != row.address || (seen != nil) != (row.known != ""):
			t.Errorf("%s: %+v, served: %v", name, logged, seen != nil)
		case seen != nil && (seen.Host != row.known || Forwarded(seen.Header) != (len(row.header) > 0)):
			t.Errorf("%s: Host is %s, passed on: %v", name, seen.Host, Forwarded(seen.Header))
		}
	}
}

// TestScheme checks that X-Forwarded-Proto counts only from a trusted proxy.
func TestScheme(t *testing.T) {
	g := &Guard{o: config{Options: Options{Proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}}}
	for peer, want := range map[string]string{"10.0.0.1:1": "https", "192.0.2.9:1": "", "@": ""} {
		r := httptest.NewRequestWithContext(context.Background(), "GET", "http://x/", nil)
		r.RemoteAddr = peer
		r.Header.Set("X-Forwarded-Proto", "https")
		if g.trustProxy(r); r.Header.Get("X-Forwarded-Proto") != want || !Forwarded(r.Header) {
			t.Errorf("%s: %v", peer, r.Header)
		}
	}
}

// TestExpireTokens checks that the guard looks for expired tokens once per minute while tokens are
// required.
func TestExpireTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate, asked := access.NewGate(access.State{}), 0
		g := &Guard{o: config{Server: Server{Access: gate}}}
		g.ended, g.end = context.WithCancel(t.Context())
		g.Expire(func() { asked++ })
		testwait.Advance(time.Minute)
		gate.Set(access.State{Verifier: &tokens{}})
		testwait.Advance(2 * time.Minute)
		g.Close()
		testwait.Advance(time.Minute)
		if asked != 2 {
			t.Errorf("in four minutes, of which two have tokens and one is after the end, it looked %d times", asked)
		}
	})
}
