package mcpserver_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/mcpserver"
)

// TestReady: ready is who has read the skills once.
func TestReady(t *testing.T) {
	c := catalog.New([]catalog.Source{folder(t.TempDir())}, catalog.Options{})
	h, err := mcpserver.NewHTTP(mcpserver.New(mcpserver.Options{Catalog: c}), mcpserver.HTTPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	get := func() (int, string) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/readyz", nil))
		return w.Code, w.Body.String()
	}
	if code, body := get(); code != 503 || body != "the skills are being read\n" {
		t.Errorf("before the first snapshot: %d %q", code, body)
	}
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if code, body := get(); code != 200 || body != "ok\n" {
		t.Errorf("after it: %d %q", code, body)
	}
}

// TestPagesAreCalls: a page takes one of the places of calls, and gives it back.
func TestPagesAreCalls(t *testing.T) {
	c := catalog.New([]catalog.Source{folder(t.TempDir())}, catalog.Options{})
	begun, end := make(chan struct{}), make(chan struct{})
	h, err := mcpserver.NewHTTP(mcpserver.New(mcpserver.Options{Catalog: c}), mcpserver.HTTPOptions{
		MaxCalls: 1,
		Pages: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/slow" {
				close(begun)
				<-end
			}
			_, _ = io.WriteString(w, "a page")
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	get := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil))
		return w
	}
	slow := make(chan *httptest.ResponseRecorder)
	go func() { slow <- get("/slow") }()
	<-begun
	if w := get("/"); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" {
		t.Errorf("with no place left: %d %q", w.Code, w.Body)
	}
	close(end)
	if w := <-slow; w.Code != 200 || w.Body.String() != "a page" {
		t.Errorf("the slow page: %d %q", w.Code, w.Body)
	}
	if w := get("/"); w.Code != 200 || w.Body.String() != "a page" {
		t.Errorf("with the place back: %d %q", w.Code, w.Body)
	}
}
