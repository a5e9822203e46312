package login

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/knack-dev/knack/internal/base/httpfetch"
)

// TestRenewalFails checks that the error for a login that has ended differs from the error for a
// provider that cannot renew it at the moment. No error repeats the answer of a provider, which may
// contain the request.
func TestRenewalFails(t *testing.T) {
	const source, token = "mcp:https://skills.example.com/mcp", "canary-refresh"
	for _, c := range []struct {
		status int
		body   string
		ended  bool
		want   string
	}{
		{http.StatusBadRequest, `{"error":"invalid_grant"}`, true, "ended"},
		{http.StatusTooManyRequests, "later", false, "answers 429 Too Many Requests"},
		{http.StatusForbidden, "a firewall", false, "status 403"},
		{http.StatusServiceUnavailable, "", false, "answers 503 Service Unavailable"},
	} {
		provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(c.status)
			if _ = r.ParseForm(); c.body == "" {
				fmt.Fprintln(w, "wrong:", r.Form)
			}
			fmt.Fprint(w, c.body)
		}))
		s := Store{Dir: t.TempDir()}
		if err := s.Set("acme", Login{Source: source, Issuer: provider.URL, TokenURL: provider.URL, RefreshToken: token, Private: true}); err != nil {
			t.Fatal(err)
		}
		_, err := s.Token(t.Context(), "acme", source, httpfetch.New(httpfetch.Options{}))
		if err == nil || errors.Is(err, errEnded) != c.ended || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), token) {
			t.Errorf("%d: %v", c.status, err)
		}
		if l, err := s.read("acme", source); err != nil || l.RefreshToken != token {
			t.Error("the login is lost:", err)
		}
		provider.Close()
		if c.ended {
			continue
		}
		_, err = s.Token(t.Context(), "acme", source, httpfetch.New(httpfetch.Options{}))
		if failed := (*Error)(nil); !errors.As(err, &failed) || !strings.Contains(failed.Message, "cannot be reached") {
			t.Error(err)
		}
	}
}

// TestRenewalCannotLock checks that a renewal does not wait for another process but fails
// immediately if the login cannot be locked.
func TestRenewalCannotLock(t *testing.T) {
	const source = "mcp:https://skills.example.com/mcp"
	s := Store{Dir: t.TempDir()}
	if err := s.Set("acme", Login{Source: source, RefreshToken: "x"}); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(s.Dir, "acme.json.lock"), 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if _, err := s.Token(ctx, "acme", source, nil); err == nil || ctx.Err() != nil {
		t.Error(err)
	}
}

// TestPrivateProvider checks that no step of a login or a renewal sends a request to a private
// address that a public server or its provider names. A server in a private network may name one.
func TestPrivateProvider(t *testing.T) {
	var asked atomic.Int32
	inside := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(inside.Close)
	pool := x509.NewCertPool()
	pool.AddCert(inside.Certificate())
	const public = "https://example.com" // the certificate of a test server has this name
	for _, leads := range []string{"resource_metadata", "issuer", "registration_endpoint", "token_endpoint", "device_authorization_endpoint", ""} {
		place := func(which, usual string) string {
			if which == leads {
				return inside.URL + "/" + which
			}
			return usual
		}
		outside := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var answer any
			switch r.URL.Path {
			case "/mcp":
				if at := place("resource_metadata", ""); at != "" {
					w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+at+`"`)
				}
				w.WriteHeader(http.StatusUnauthorized)
				return
			case "/.well-known/oauth-protected-resource/mcp":
				if leads == "resource_metadata" {
					http.NotFound(w, r)
					return
				}
				answer = map[string]any{"resource": public + "/mcp", "authorization_servers": []string{place("issuer", public)}}
			case "/.well-known/oauth-authorization-server":
				answer = map[string]any{
					"issuer": public, "authorization_endpoint": public + "/authorize", "token_endpoint": place("token_endpoint", public+"/token"), "registration_endpoint": place("registration_endpoint", public+"/register"),
					"device_authorization_endpoint": place("device_authorization_endpoint", public+"/device"), "response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
				}
			case "/register":
				w.WriteHeader(http.StatusCreated)
				answer = map[string]any{"client_id": "x"}
			case "/device":
				answer = map[string]any{"device_code": "c", "user_code": "u", "verification_uri": public, "expires_in": 60, "interval": 1}
			case "/token":
				answer = map[string]any{"access_token": "a", "refresh_token": "r", "token_type": "Bearer"}
			}
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(answer)
		}))
		outside.StartTLS()
		pool.AddCert(outside.Certificate())
		proxy := tunnel(t, func(host string) string {
			if host == "example.com:443" {
				return outside.Listener.Addr().String()
			}
			return host
		})
		fetch := httpfetch.New(httpfetch.Options{Roots: pool, Proxy: http.ProxyURL(proxy)})
		l, err := Sign(t.Context(), Options{Address: public + "/mcp", Source: "mcp:" + public + "/mcp", Device: true, Fetch: fetch, Show: func(string, string, string) {}})
		if leads == "" {
			if err != nil || l.AccessToken != "a" || l.Private || l.Resource != public+"/mcp" {
				t.Errorf("%+v, %v", l, err)
			}
		} else if err == nil || asked.Load() > 0 {
			t.Errorf("%s: %d requests, %v", leads, asked.Load(), err)
		} else if leads != "issuer" && leads != "device_authorization_endpoint" && !strings.Contains(err.Error(), "private network") {
			t.Errorf("%s: %v", leads, err)
		}
		outside.Close()
	}
	for _, private := range []bool{false, true} {
		s := Store{Dir: t.TempDir()}
		if err := s.Set("acme", Login{Source: "mcp:x", TokenURL: inside.URL, RefreshToken: "r", Private: private}); err != nil {
			t.Fatal(err)
		}
		_, err := s.Token(t.Context(), "acme", "mcp:x", httpfetch.New(httpfetch.Options{Roots: pool}))
		if got := asked.Load(); (got > 0) != private || err == nil || !private && !strings.Contains(err.Error(), "private network") {
			t.Errorf("private %t: %d requests, %v", private, got, err)
		}
	}
}

// tunnel starts a proxy that connects to the address that to gives for the requested host.
func tunnel(t *testing.T, to func(host string) string) *url.URL {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		there, err := net.Dial("tcp", to(r.Host))
		if r.Method != http.MethodConnect || err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		w.WriteHeader(http.StatusOK)
		// The server may already have read the client's first bytes.
		here, begun, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		go func() { _, _ = io.Copy(there, begun); there.Close() }()
		go func() { _, _ = io.Copy(here, there); here.Close() }()
	}))
	t.Cleanup(proxy.Close)
	at, _ := url.Parse(proxy.URL)
	return at
}
