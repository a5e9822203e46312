package reach

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"
)

// counted starts a server that counts all requests, and the requests with a token.
func counted(t *testing.T, answer http.HandlerFunc) (at *url.URL, requests, withToken *atomic.Int32) {
	t.Helper()
	requests, withToken = new(atomic.Int32), new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if r.Header.Get("Authorization") != "" {
			withToken.Add(1)
		}
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return at, requests, withToken
}

func quiet(http.ResponseWriter, *http.Request) {}

// TestTokenForOneHost checks that the token is sent to its host and to no other.
func TestTokenForOneHost(t *testing.T) {
	here, _, hereToken := counted(t, quiet)
	there, _, thereToken := counted(t, quiet)
	bearer := &tokenBearer{token: "secret", host: here.Host, next: http.DefaultTransport}
	for _, at := range []*url.URL{here, there} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", at.String(), nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := bearer.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if r.Header.Get("Authorization") != "" {
			t.Error("the caller's request was changed")
		}
	}
	if hereToken.Load() != 1 || thereToken.Load() != 0 {
		t.Errorf("the host got the token %d times, the other %d times", hereToken.Load(), thereToken.Load())
	}
}

// TestNoRedirect checks that a redirect is not followed, with or without a token, to another host
// or to the same host.
func TestNoRedirect(t *testing.T) {
	for _, token := range []string{"", "secret"} {
		there, requests, _ := counted(t, quiet)
		for _, to := range []string{there.String(), "/elsewhere"} {
			here, own, _ := counted(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusTemporaryRedirect) })
			resp, err := Client(here, token, http.DefaultTransport, func(error) {}).Post(here.String(), "application/json", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusTemporaryRedirect || own.Load() != 1 || requests.Load() != 0 {
				t.Errorf("to %s: status %d, %d requests here and %d there", to, resp.StatusCode, own.Load(), requests.Load())
			}
		}
	}
}
