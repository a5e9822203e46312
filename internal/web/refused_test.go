package web_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/web"
	"github.com/knack-dev/knack/mcpserver"
)

// TestRefusalsValidate checks that early rejections also match the API's document.
// These are a missing token, another site's page, another host, too many requests and
// another method.
func TestRefusalsValidate(t *testing.T) {
	f := open(t, files)
	c := document(t, f)
	token, line := access.NewToken()
	tokens, err := access.ParseTokens(strings.NewReader(line))
	must(t, err)
	hold, begun := make(chan struct{}), make(chan struct{})
	site := web.New(web.Options{Catalog: f.catalog, Verifier: tokens})
	h, err := mcpserver.NewHTTP(mcpserver.New(mcpserver.Options{Catalog: f.catalog, Access: access.NewGate(access.State{Verifier: tokens})}), mcpserver.HTTPOptions{Pages: blockingSite{site, begun, hold}, MaxCalls: 1})
	must(t, err)
	ask := func(method, path string, headers ...string) answered {
		r := httptest.NewRequest(method, "http://localhost"+path, nil)
		for _, one := range headers {
			key, value, _ := strings.Cut(one, ": ")
			r.Header.Set(key, value)
			if key == "Host" {
				r.Host = value
			}
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return answered{w.Code, w.Header(), w.Body.String()}
	}
	bearer := "Authorization: Bearer " + token
	paths := []string{
		"/api/v1/openapi.json", "/api/v1/skills", "/api/v1/skills/one/git", "/api/v1/files/one/git/SKILL.md", "/api/v1/problems", "/api/v1/problems/one/git", "/api/v1/usage",
		"/.well-known/agent-skills/index.json", "/.well-known/agent-skills/git/SKILL.md",
		"/.well-known/agent-skills/git/" + strings.Repeat("0", 64) + ".tar.gz",
	}
	refused := func(want int, method string, headers ...string) {
		t.Helper()
		for _, path := range paths {
			a := ask(method, path, headers...)
			if a.status != want || a.header.Get("Content-Type") != "application/problem+json" || a.header.Get("Cache-Control") == "" {
				t.Errorf("%s %s %q: %d %v", method, path, headers, a.status, a.header)
			}
			if err := c.validates(path, a); err != nil {
				t.Errorf("%s %s %q: %v\n%s", method, path, headers, err, a.body)
			}
			for status, header := range map[int]string{401: "WWW-Authenticate", 429: "Retry-After", 405: "Allow"} {
				if status == want && a.header.Get(header) == "" {
					t.Errorf("%d without %s", status, header)
				}
			}
		}
	}
	if len(paths) != len(c.paths) {
		t.Errorf("%d of the document's %d paths are asked", len(paths), len(c.paths))
	}
	refused(401, "GET")
	refused(401, "GET", "Accept: text/html")
	refused(401, "GET", "Authorization: Bearer nobody")
	refused(403, "GET", bearer, "Origin: https://evil.example")
	refused(403, "GET", bearer, "Host: rebound.example")
	refused(405, "POST", bearer)
	ended := make(chan answered)
	go func() { ended <- ask("GET", "/held", bearer) }()
	<-begun
	refused(429, "GET", bearer)
	close(hold)
	<-ended
	if a := ask("GET", "/api/v1/skills", bearer); a.status != 200 {
		t.Errorf("afterwards: %d", a.status)
	}
}

// blockingSite is a site with one address whose requests block.
type blockingSite struct {
	*web.Site
	begun, hold chan struct{}
}

func (s blockingSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/held" {
		close(s.begun)
		<-s.hold
	}
	s.Site.ServeHTTP(w, r)
}
