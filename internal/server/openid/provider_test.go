package openid_test

import (
	"crypto/rand"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/server/openid"
)

// TestSignIn checks that a person can sign in with a browser, sees the skills that their groups may
// see, and can sign out.
func TestSignIn(t *testing.T) {
	c := newCompany(t)
	b := c.browser()
	page := b.get("/skills/billing/")
	if page.code != 401 || !strings.Contains(page.body, `href="/signin/begin?to=%2fskills%2fbilling%2f"`) || !strings.Contains(page.body, "Access token") {
		t.Fatalf("%d %s", page.code, page.body)
	}
	r := b.get(b.begin("/skills/billing/").String())
	if r.code != 303 || r.to() != "/skills/billing/" || b.cookies()[c.attemptCookie()] != "" {
		t.Fatalf("%d %v %v", r.code, r.header, b.cookies())
	}
	if page := b.get(r.to()); page.code != 200 || !strings.Contains(page.body, "anna@example.com") || !strings.Contains(page.body, "Writes bills") {
		t.Errorf("%d %s", page.code, page.body)
	}
	c.issuer.change(func() { c.issuer.person = claims{"email": "carl@example.com", "groups": "sales"} })
	other := c.browser()
	other.signIn()
	if list := other.get("/"); list.code != 200 || strings.Contains(list.body, "billing") || !strings.Contains(list.body, "common") {
		t.Errorf("of another group: %d %s", list.code, list.body)
	}
	if other.get("/skills/billing/").code != 404 || !b.isIn() {
		t.Error("a skill of another group is shown, or the first person is signed out")
	}
	out := b.ask("POST", "/signout", "", "Content-Type: application/x-www-form-urlencoded", "Origin: "+c.base, "Sec-Fetch-Site: same-origin")
	if out.code != 303 || out.to() != "/signin?out" || b.isIn() || len(b.cookies()) > 0 || !other.isIn() {
		t.Errorf("%d %v %v", out.code, out.header, b.cookies())
	}
	if page := b.get(out.to()); !strings.Contains(page.body, `href="`+c.issuer.url+`/end?client_id=knack"`) {
		t.Errorf("the way out of the provider is missing: %s", page.body)
	}
	if !c.bears(c.token) || c.bears("x") {
		t.Error("tokens of the configuration do not work beside it")
	}
}

// TestBearer checks that clients can send tokens of the issuer themselves, for known audiences.
func TestBearer(t *testing.T) {
	c := newCompany(t)
	described(t, c)
	for audience, want := range map[any]bool{"knack": true, c.base + "/mcp": true, c.base: false, "": false} {
		if got := c.bears(c.issuer.sign(with(c.issuer.claims(), "aud", audience))); got != want {
			t.Errorf("%v: %v", audience, got)
		}
	}
	meta := c.browser().get("/.well-known/oauth-protected-resource/mcp")
	want := `{"resource":"` + c.base + `/mcp","authorization_servers":["` + c.issuer.url + `"],"scopes_supported":["openid","profile","email","groups"],"bearer_methods_supported":["header"]}` + "\n"
	if diff := cmp.Diff(want, meta.body); diff != "" {
		t.Error(diff)
	}
	if r := c.browser().ask("POST", "/mcp", "{}"); !strings.Contains(r.header.Get("WWW-Authenticate"), `resource_metadata="`+c.base+`/.well-known/oauth-protected-resource/mcp"`) {
		t.Errorf("%v", r.header)
	}
	expires := c.issuer.sign(c.issuer.claims())
	if c.later(time.Hour + time.Second); c.bears(expires) {
		t.Error("a token outlives itself")
	}
}

// described fetches the provider's description, as the start of a server does.
func described(t *testing.T, c *company) {
	t.Helper()
	must(t, c.Ask(t.Context()))
}

// TestProviderDown checks that the server works without its provider, reports this, and recovers by
// itself.
func TestProviderDown(t *testing.T) {
	c := newCompany(t)
	down := func(value bool) { c.issuer.change(func() { c.issuer.down = value }) }
	down(true)
	if err := c.Ask(t.Context()); err == nil {
		t.Fatal("it is not down")
	}
	b := c.browser()
	if r := b.get("/signin/begin"); r.code != 503 || !strings.Contains(r.body, "cannot begin") || !strings.Contains(r.body, "Access token") {
		t.Errorf("%d %s", r.code, r.body)
	}
	if !c.bears(c.token) || c.bears(c.issuer.sign(c.issuer.claims())) {
		t.Error("a token of the configuration is refused, or one that cannot be verified accepted")
	}
	asked := c.issuer.times("/.well-known/openid-configuration")
	if b.get("/signin/begin"); c.issuer.times("/.well-known/openid-configuration") != asked {
		t.Error("it is asked at each click")
	}
	down(false)
	c.later(5 * time.Second)
	if b.signIn().code != 303 || !b.isIn() {
		t.Error("it does not recover")
	}
	// The provider's metadata and keys stay valid while it is down again, so people and clients can
	// continue.
	if !c.bears(c.issuer.sign(c.issuer.claims())) {
		t.Error("a client is refused")
	}
	down(true)
	c.later(30 * time.Minute)
	if !b.isIn() || !c.bears(c.issuer.sign(c.issuer.claims())) {
		t.Error("people and clients are refused while the provider is down")
	}
	back := b.begin("/")
	if r := b.get(back.String()); r.code != 502 || !strings.Contains(r.body, "failed") {
		t.Errorf("%d %s", r.code, r.body)
	}
	if log := c.logged(); strings.Count(log, "cannot be used now") != 1 || strings.Count(log, "can be used again") != 1 {
		t.Error(log)
	}
}

// TestWrongDescription checks that a provider is not used if its metadata does not match the
// settings.
func TestWrongDescription(t *testing.T) {
	for say, change := range map[string]func(*issuer, claims){
		"another issuer":                           func(i *issuer, d claims) { d["issuer"] = i.url + "/" },
		"its token_endpoint is no https URL":       func(_ *issuer, d claims) { d["token_endpoint"] = "http://evil.example/token" },
		"its jwks_uri is no https URL":             func(_ *issuer, d claims) { delete(d, "jwks_uri") },
		"authorization_endpoint is no https URL":   func(_ *issuer, d claims) { d["authorization_endpoint"] = "javascript:ran=1" },
		"its answer is larger than 1 MiB":          func(_ *issuer, d claims) { d["x"] = strings.Repeat("x", 2<<20) },
		"failed to decode provider discovery":      func(_ *issuer, d claims) { d["issuer"] = 1 },
		"its end_session_endpoint is not followed": func(_ *issuer, d claims) { d["end_session_endpoint"] = "javascript:ran=1" },
	} {
		c := newCompany(t)
		c.issuer.change(func() { c.issuer.describe = func(d claims) { change(c.issuer, d) } })
		r := c.browser().get("/signin/begin")
		if strings.HasPrefix(say, "its end") {
			if r.code != 303 || c.SignOutURL() != "" {
				t.Errorf("%s: %d %q", say, r.code, c.SignOutURL())
			}
		} else if r.code != 503 || !strings.Contains(r.body, say) {
			t.Errorf("%s: %d %s", say, r.code, r.body)
		}
	}
}

// TestKeysChange checks that tokens with new keys of the provider are accepted. Tokens that name
// unknown keys must not cause a request each time.
func TestKeysChange(t *testing.T) {
	c := newCompany(t)
	described(t, c)
	if !c.bears(c.issuer.sign(c.issuer.claims())) {
		t.Fatal("refused")
	}
	for range 20 {
		c.bears(signed(stranger(), claims{"alg": "RS256", "kid": rand.Text()}, c.issuer.claims()))
	}
	if n := c.issuer.times("/keys"); n > 2 {
		t.Errorf("the keys were fetched %d times", n)
	}
	c.issuer.change(func() { c.issuer.key = newKey() })
	c.later(10 * time.Second)
	if !c.bears(c.issuer.sign(c.issuer.claims())) {
		t.Error("the new key is not known")
	}
}

// TestManyGroups checks that 10,000 groups work, and that more are refused with a message.
func TestManyGroups(t *testing.T) {
	c := newCompany(t)
	groups := make([]string, 10_000)
	for i := range groups {
		groups[i] = "a-department-of-the-company-" + strconv.Itoa(i)
	}
	groups[9_999] = "billing"
	c.issuer.change(func() { c.issuer.person["groups"] = groups })
	b := c.browser()
	if r := b.signIn(); r.code != 303 || !strings.Contains(b.get("/").body, "billing") {
		t.Errorf("%d %s", r.code, r.body)
	}
	c.issuer.change(func() { c.issuer.person["groups"] = append(groups, "one-more") })
	if r := c.browser().signIn(); r.code != 403 || !strings.Contains(r.body, "more than 10,000 groups") {
		t.Errorf("%d %s", r.code, r.body)
	}
	c.issuer.change(func() { c.issuer.person["groups"] = []string{strings.Repeat("x", 600<<10)} })
	if r := c.browser().signIn(); r.code != 403 || !strings.Contains(r.body, "too many groups") {
		t.Errorf("%d %s", r.code, r.body)
	}
}

// TestManySessions checks that repeated sign-ins of a person end only that person's sessions.
func TestManySessions(t *testing.T) {
	c := newCompany(t)
	var all []*browser
	for range 18 {
		b := c.browser()
		b.signIn()
		all = append(all, b)
	}
	c.issuer.change(func() { c.issuer.person["email"] = "bert@example.com" })
	other := c.browser()
	other.signIn()
	for i, b := range all {
		if b.isIn() != (i >= 2) {
			t.Errorf("session %d: %v", i, b.isIn())
		}
	}
	if !other.isIn() {
		t.Error("another's session has ended")
	}
}

// TestManyAtOnce checks that the number of browsers that wait for the provider is bounded, and that
// tokens work meanwhile.
func TestManyAtOnce(t *testing.T) {
	c := newCompany(t)
	b := c.browser()
	back := b.begin("/")
	free := c.Fill()
	if r := b.get("/signin/begin"); r.code != 503 || !strings.Contains(r.body, "Too many people") {
		t.Errorf("%d %s", r.code, r.body)
	}
	if r := b.get(back.String()); r.code != 503 || !c.bears(c.token) {
		t.Errorf("%d %s", r.code, r.body)
	}
	free()
	if r := b.get(back.String()); r.code != 303 || !b.isIn() {
		t.Errorf("the same sign-in does not go on: %d %s", r.code, r.body)
	}
}

// TestOptions checks that impossible addresses are refused before any request.
func TestOptions(t *testing.T) {
	good := openid.Options{Issuer: "https://login.example.com/tenant", ClientID: "knack", RedirectURL: "https://skills.example.com/signin/callback"}
	if p, err := openid.New(good); err != nil || p.Resource() != "https://skills.example.com/mcp" || p.Name() != "login.example.com" {
		t.Error(p, err)
	}
	for _, text := range []string{"", "login.example.com", "http://login.example.com", "https://", "https://a:b@login.example.com", "https://login.example.com/?x", "https://login.example.com/#x", "file:///etc", "http://127.0.0.1.evil.example"} {
		bad := good
		if bad.Issuer = text; openid.CheckIssuer(text) == nil {
			t.Errorf("the issuer %q is accepted", text)
		}
		if _, err := openid.New(bad); err == nil {
			t.Errorf("the issuer %q is accepted", text)
		}
	}
	for _, text := range []string{"", "https://skills.example.com", "https://skills.example.com/signin/callback/", "https://skills.example.com/signin/callback?x", "http://skills.example.com/signin/callback", "https://*.example.com/signin/callback"} {
		bad := good
		bad.RedirectURL = text
		if _, err := openid.New(bad); err == nil {
			t.Errorf("the redirect URL %q is accepted", text)
		}
	}
	bad := good
	bad.ClientID = ""
	if _, err := openid.New(bad); err == nil {
		t.Error("no client id is accepted")
	}
}

// TestCookies checks the cookies of a server that has TLS, or is behind a proxy that terminates
// TLS.
func TestCookies(t *testing.T) {
	i := newIssuer(t)
	p, err := openid.New(openid.Options{Issuer: i.url, ClientID: "knack", RedirectURL: "https://skills.example.com/signin/callback"})
	must(t, err)
	w := record{header: http.Header{}}
	r, err := http.NewRequestWithContext(t.Context(), "GET", "https://skills.example.com/signin/begin", nil)
	must(t, err)
	at, err := p.Begin(w, r, "/")
	must(t, err)
	cookie, err := http.ParseSetCookie(w.header.Get("Set-Cookie"))
	if err != nil || cookie.Name != "__Host-knack-signin" || !cookie.Secure || !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode || cookie.Path != "/" || cookie.Domain != "" || cookie.MaxAge != 600 {
		t.Errorf("%+v %v", cookie, err)
	}
	if len(cookie.Value) > 2000 {
		t.Errorf("its value: %q", cookie.Value)
	}
	// A restarted server does not know the sign-in.
	again, err := openid.New(openid.Options{Issuer: i.url, ClientID: "knack", RedirectURL: "https://skills.example.com/signin/callback"})
	must(t, err)
	back := i.authorize(at)
	answer, err := http.NewRequestWithContext(t.Context(), "GET", back.String(), nil)
	must(t, err)
	answer.AddCookie(&http.Cookie{Name: cookie.Name, Value: cookie.Value})
	var no *openid.Refusal
	if _, _, err := again.Finish(w, answer); !errors.As(err, &no) || no.Status != http.StatusBadRequest {
		t.Errorf("a restarted server goes on with the sign-in: %v", err)
	}
	// Under another host name, the browser is first redirected to the name that the provider knows.
	r.Host = "other.example.com"
	if at, err := p.Begin(w, r, "/x"); err != nil || at != "https://skills.example.com/signin/begin?again=1&to=%2Fx" {
		t.Error(at, err)
	}
}

type record struct{ header http.Header }

func (r record) Header() http.Header         { return r.header }
func (r record) Write(p []byte) (int, error) { return len(p), nil }
func (r record) WriteHeader(int)             {}
