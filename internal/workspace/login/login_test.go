package login

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestRenewalFails tells the end of a login from a provider that cannot renew it now. No error
// repeats the answer of a provider, which may repeat the request.
func TestRenewalFails(t *testing.T) {
	const source, token = "mcp:https://skills.example.com/mcp", "canary-refresh"
	for _, c := range []struct {
		status int
		body   string
		ended  bool
		want   string
	}{
		{http.StatusBadRequest, `{"error":"invalid_grant"}`, true, "ended"},
		{http.StatusTooManyRequests, "later", false, "status 429"},
		{http.StatusForbidden, "a firewall", false, "status 403"},
		{http.StatusServiceUnavailable, "", false, "status 503"},
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
		if err := s.Set("acme", Login{Source: source, Issuer: provider.URL, TokenURL: provider.URL, RefreshToken: token}); err != nil {
			t.Fatal(err)
		}
		_, err := s.Token(t.Context(), "acme", source, func(string) (*http.Client, error) { return provider.Client(), nil })
		if err == nil || errors.Is(err, ErrEnded) != c.ended || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), token) {
			t.Errorf("%d: %v", c.status, err)
		}
		provider.Close()
	}
}

// TestRenewalCannotLock ends at once if the login cannot be locked, instead of waiting for another
// process.
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
