package mcpserver_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/mcpserver"
	"github.com/knack-dev/knack/skill"
)

// TestReady checks that a server is ready once it has read the skills of every root. A root that is
// missing or cannot be read counts as read. The server waits for a silent root only for a time. If
// everyone may see everything, the answer names the roots that are still being read.
func TestReady(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o644))
	disks := [2]silent{{folder(t.TempDir()), "shelf", make(chan struct{})}, {folder(t.TempDir()), "attic", make(chan struct{})}}
	c := catalog.New([]catalog.Source{folder(t.TempDir()), folder(filepath.Join(t.TempDir(), "absent")), folder(file), disks[0], disks[1]}, catalog.Options{Patience: time.Second}) // the other roots are read within that time
	serve := func(state access.State) *mcpserver.HTTP {
		t.Helper()
		h, err := mcpserver.NewHTTP(mcpserver.New(mcpserver.Options{Catalog: c, Access: access.NewGate(state)}), mcpserver.HTTPOptions{})
		must(t, err)
		return h
	}
	holders := twoHolders(t)
	open, closed := serve(access.State{}), serve(access.State{Verifier: holders.verifier})
	rules, patient := serve(access.State{Policy: holders.policy}), serve(access.State{})
	patient.WaitForFirstScan(0)
	says := func(when string, h *mcpserver.HTTP, code int, body string) {
		t.Helper()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/readyz", nil))
		if w.Code != code || w.Body.String() != body+"\n" {
			t.Errorf("%s: %d %q", when, w.Code, w.Body)
		}
	}
	says("before the first snapshot", open, 503, "the skills are being read")
	says("before the first snapshot, with no patience for roots", patient, 503, "the skills are being read")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() { _ = c.Run(ctx) }()
	<-c.Ready()
	says("with two roots late", open, 503, "the roots shelf, attic are still being read")
	const unnamed = "a root of the skills is still being read; the server's log says which"
	says("with two late, for those without a token", closed, 503, unnamed)
	says("with two late, where rules hide something", rules, 503, unnamed)
	says("when they are given up", patient, 200, "ok")
	read := func(label string) {
		t.Helper()
		testwait.Until(t, func() bool {
			v, err := c.View(t.Context())
			must(t, err)
			return slices.ContainsFunc(v.Roots, func(r catalog.RootStatus) bool { return r.Label == label && r.Err == nil })
		}, label, "is not read")
	}
	close(disks[0].answers)
	read("shelf")
	says("with one late", open, 503, "the root attic is still being read")
	close(disks[1].answers)
	read("attic")
	says("with all read", open, 200, "ok")
	says("with all read, for those without a token", closed, 200, "ok")
}

// silent is a source whose disk answers only on request.
type silent struct {
	catalog.Source
	label   string
	answers chan struct{}
}

func (s silent) Root() skill.Root { return skill.Root{Label: s.label, Scope: skill.ScopeProject} }

func (s silent) Scan(ctx context.Context) (skill.Scan, error) {
	select {
	case <-s.answers:
		return s.Source.Scan(ctx)
	case <-ctx.Done():
		return skill.Scan{}, ctx.Err()
	}
}

// TestPagesAreCalls checks that a page takes one of the places for calls, and gives it back.
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
	must(t, err)
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
