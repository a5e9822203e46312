package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/internal/web"
	"github.com/knack-dev/knack/mcpserver"
)

// watched is a server with pages that records its events.
type watched struct {
	*mcpserver.HTTP
	token string
	mu    sync.Mutex
	log   []mcpserver.Event
}

func newWatched(t *testing.T, rate limit.Rate) *watched {
	t.Helper()
	token, line := access.NewToken()
	tokens, err := access.ParseTokens(strings.NewReader(line + " bob\n"))
	if err != nil {
		t.Fatal(err)
	}
	w := &watched{token: token}
	c := catalog.New(nil, catalog.Options{})
	if err := c.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	server := mcpserver.New(mcpserver.Options{Catalog: c, Access: access.NewGate(access.State{Verifier: tokens}), Audit: true, Events: []mcpserver.Sink{w}})
	w.HTTP, err = mcpserver.NewHTTP(server, mcpserver.HTTPOptions{Limit: rate, Pages: web.New(web.Options{Catalog: c, Verifier: tokens})})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// Record records the events that the audit log would write.
func (w *watched) Record(e *mcpserver.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !e.Unlogged {
		w.log = append(w.log, *e)
	}
}

func (w *watched) ask(method, path, form, token string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(form))
	r.RemoteAddr = "192.0.2.7:4711"
	if form != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, r)
	return rec
}

func (w *watched) lines() []mcpserver.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.log
	w.log = nil
	return all
}

// TestFloodsWithoutToken checks that a flood of requests without a token is limited at every
// address, and causes few log lines even without a limit. Clients with a token must still be
// served.
func TestFloodsWithoutToken(t *testing.T) {
	testwait.Slow(t)
	const n = 1500
	for _, flood := range []struct{ method, path, form, token string }{
		{method: "GET", path: "/signin"},
		{method: "PUT", path: "/signin"},
		{method: "GET", path: "/signout"},
		{method: "POST", path: "/signin", form: "token=wrong"},
		{method: "GET", path: "/assets/x"},
		{method: "GET", path: "/.well-known/oauth-protected-resource"},
		{method: "GET", path: "/.well-known/openid-configuration/mcp"},
		{method: "GET", path: "/api/v1/skills"},
		{method: "GET", path: "/nowhere"},
		{method: "POST", path: "/mcp"},
		{method: "GET", path: "/mcp", token: "wrong"},
	} {
		for _, rate := range []limit.Rate{mcpserver.DefaultLimit, {}} {
			if rate.PerSecond == 0 && !slices.Contains([]string{"/signin", "/api/v1/skills", "/mcp"}, flood.path) {
				continue // one address of each kind is enough
			}
			w := newWatched(t, rate)
			codes := map[int]int{}
			for range n {
				codes[w.ask(flood.method, flood.path, flood.form, flood.token).Code]++
			}
			name := flood.method + " " + flood.path
			if limited := codes[http.StatusTooManyRequests] > 0; limited != (rate.PerSecond > 0) {
				t.Errorf("%s at %v: %v", name, rate, codes)
			}
			all := w.lines()
			if len(all) < 100 || len(all) > 160 || all[len(all)-1].Times < 512 {
				t.Errorf("%s at %v: %d lines of %d requests, the last %+v", name, rate, len(all), n, all[len(all)-1])
			}
			if code := w.ask("GET", "/api/v1/skills", "", w.token).Code; code != 200 {
				t.Errorf("%s: then with a token: %d", name, code)
			}
			if all = w.lines(); len(all) != 1 || all[0].Subject != "bob" {
				t.Errorf("%s: then with a token: %+v", name, all)
			}
		}
	}
}

// TestSignInIsAttributed checks that the log lines about signing in and out name the person.
func TestSignInIsAttributed(t *testing.T) {
	w := newWatched(t, mcpserver.DefaultLimit)
	in := w.ask("POST", "/signin", "token="+w.token, "")
	if in.Code != http.StatusSeeOther {
		t.Fatal(in.Code, in.Body)
	}
	r := httptest.NewRequest("POST", "http://localhost/signout", strings.NewReader(""))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for _, c := range in.Result().Cookies() {
		r.AddCookie(c)
	}
	w.ServeHTTP(httptest.NewRecorder(), r)
	w.ask("POST", "/signin", "token=wrong", "")
	var got []string
	for _, e := range w.lines() {
		var b bytes.Buffer
		if err := json.NewEncoder(&b).Encode([]any{e.Method, e.Asked, e.Subject, e.Result, e.Status}); err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.TrimSpace(b.String()))
	}
	want := `["POST","/signin","bob","ok",303] ["POST","/signout","bob","ok",303] ["POST","/signin","","refused token",401]`
	if strings.Join(got, " ") != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	codes := map[int]int{}
	for range 1000 {
		codes[w.ask("POST", "/signin", "token="+w.token, "").Code]++
	}
	if codes[http.StatusTooManyRequests] < 300 {
		t.Errorf("one valid token again and again: %v", codes)
	}
}
