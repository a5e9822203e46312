package openid_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/server/openid"
	"github.com/knack-dev/knack/internal/test/skilltest"
	"github.com/knack-dev/knack/internal/web"
	"github.com/knack-dev/knack/mcpserver"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// company is a server, its provider, and two skills, of which only the group billing sees both.
type company struct {
	t      *testing.T
	issuer *issuer
	*openid.Provider
	base  string
	token string // a token of the configuration, which gives access to the skill common

	mu    sync.Mutex
	ahead time.Duration // how far the clocks of both are ahead
	log   bytes.Buffer
}

func newCompany(t *testing.T) *company {
	c := &company{t: t, issuer: newIssuer(t)}
	c.issuer.now = c.now
	server := httptest.NewUnstartedServer(nil)
	c.base = "http://" + server.Listener.Addr().String()
	p, err := openid.New(openid.Options{
		Issuer: c.issuer.url, ClientID: "knack", Secret: func() (string, error) { return "client secret", nil }, RedirectURL: c.base + openid.CallbackPath,
		Log: slog.New(slog.NewTextHandler(c, nil)),
	})
	must(t, err)
	p.SetNow(c.now)
	c.Provider = p
	skills := skilltest.Catalog(t, skilltest.New("one", skill.ScopeBuiltin, map[string]string{
		"billing/SKILL.md": skilltest.Document("billing", "Writes bills. Use when one is due."), "common/SKILL.md": skilltest.Document("common", "Says hello. Use in the morning."),
	}))
	pattern := func(text string) access.Pattern {
		p, err := access.ParsePattern(text)
		must(t, err)
		return p
	}
	policy := access.NewPolicy(false, []access.Rule{
		{Allow: []access.Pattern{pattern("skill://common")}},
		{Groups: []string{"billing"}, Allow: []access.Pattern{pattern("skill://billing")}},
	})
	var line string
	c.token, line = access.NewToken()
	tokens, err := access.ParseTokens(strings.NewReader(line + " bert"))
	must(t, err)
	gate := access.NewGate(access.State{Verifier: access.AnyOf(tokens, p), Policy: policy})
	tools, err := tool.ParseSets(tool.DefaultSet)
	must(t, err)
	s := mcpserver.New(mcpserver.Options{Catalog: skills, Tools: tools, Access: gate, Remote: true, Private: true})
	h, err := mcpserver.NewHTTP(s, mcpserver.HTTPOptions{
		Pages: web.New(web.Options{Catalog: skills, Tools: tools, Verifier: gate, SignIn: p}), Issuers: []string{p.Issuer()}, Scopes: p.Scopes(), Resource: p.Resource(),
	})
	must(t, err)
	server.Config.Handler = h
	server.Start()
	t.Cleanup(server.Close)
	return c
}

func (c *company) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

// later advances the clock.
func (c *company) later(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

// Write appends to the log.
func (c *company) Write(line []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.log.Write(line)
}

func (c *company) logged() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.log.String()
}

// reply is an answer whose body has been read.
type reply struct {
	code   int
	header http.Header
	body   string
}

func (r reply) to() string { return r.header.Get("Location") }

// browser stores cookies and does not follow redirects by itself.
type browser struct {
	c    *company
	jar  *cookiejar.Jar
	http *http.Client
}

func (c *company) browser() *browser {
	jar, err := cookiejar.New(nil)
	must(c.t, err)
	return &browser{c, jar, &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

func (b *browser) ask(method, at, body string, headers ...string) reply {
	b.c.t.Helper()
	if strings.HasPrefix(at, "/") {
		at = b.c.base + at
	}
	req, err := http.NewRequestWithContext(context.Background(), method, at, strings.NewReader(body))
	if err != nil {
		b.c.t.Fatal(err)
	}
	req.Header.Set("Accept", "text/html")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Add(name, value)
	}
	resp, err := b.http.Do(req)
	if err != nil {
		b.c.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		b.c.t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, string(data)}
}

func (b *browser) get(at string, headers ...string) reply {
	b.c.t.Helper()
	return b.ask("GET", at, "", headers...)
}

// begin starts a sign-in at the provider and returns the address to which the provider redirects
// the browser.
func (b *browser) begin(to string) *url.URL {
	b.c.t.Helper()
	r := b.get("/signin/begin?to=" + url.QueryEscape(to))
	if r.code != 303 {
		b.c.t.Fatalf("the sign-in does not begin: %d %s", r.code, r.body)
	}
	return b.c.issuer.authorize(r.to())
}

// signIn does a whole sign-in at the provider.
func (b *browser) signIn() reply {
	b.c.t.Helper()
	return b.get(b.begin("/").String())
}

// isIn reports whether the browser has signed in.
func (b *browser) isIn() bool {
	b.c.t.Helper()
	return b.get("/").code == 200
}

// cookies returns the browser's cookies for the server, by name.
func (b *browser) cookies() map[string]string {
	u, err := url.Parse(b.c.base)
	if err != nil {
		b.c.t.Fatal(err)
	}
	all := map[string]string{}
	for _, one := range b.jar.Cookies(u) {
		all[one.Name] = one.Value
	}
	return all
}

func (b *browser) set(name, value string) {
	u, err := url.Parse(b.c.base)
	if err != nil {
		b.c.t.Fatal(err)
	}
	b.jar.SetCookies(u, []*http.Cookie{{Name: name, Value: value, Path: "/"}})
}

// sessionCookie returns the name of the cookie of a session, and attemptCookie the name of the
// cookie of a sign-in that has begun.
func (c *company) sessionCookie() string { return "knack-" + c.port() }
func (c *company) attemptCookie() string { return "knack-signin-" + c.port() }

func (c *company) port() string { return c.base[strings.LastIndexByte(c.base, ':')+1:] }

// bears reports whether a token gives access to the API and MCP. It checks that both agree.
func (c *company) bears(token string) bool {
	c.t.Helper()
	b := c.browser()
	api := b.get("/api/v1/skills", "Authorization: Bearer "+token).code
	mcp := b.ask("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Authorization: Bearer "+token, "Content-Type: application/json", "Accept: application/json, text/event-stream").code
	if (api == 200) != (mcp != 401) {
		c.t.Errorf("the API answers %d, MCP %d", api, mcp)
	}
	return api == 200
}
