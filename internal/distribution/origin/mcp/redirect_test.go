package mcp

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/base/httpfetch"
	"github.com/knack-dev/knack/internal/distribution/origin"
)

// TestRedirected checks that a server's redirect to another host is not followed, and that the
// message has no text of the library.
func TestRedirected(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	defer elsewhere.Close()
	server := httptest.NewServer(http.RedirectHandler(elsewhere.URL+"/mcp", http.StatusTemporaryRedirect))
	defer server.Close()
	fetcher := httpfetch.New(httpfetch.Options{})
	defer fetcher.Close()
	o := New(Options{HTTP: func(address string) (*http.Client, error) {
		c, err := fetcher.For(address)
		if err != nil {
			return nil, err
		}
		return c.HTTP(), nil
	}})
	_, err := o.Open(t.Context(), origin.Ref{Source: "mcp:x", Location: server.URL + "/mcp"}, origin.Revision{})
	if err == nil || !strings.HasPrefix(err.Error(), "mcp:x: its server leads elsewhere, where knack does not go: it leads to ") {
		t.Error(err)
	}
}
