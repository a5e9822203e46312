//go:build unix

package cli_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	integer "math/big"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/access"
)

// surfer is a browser that keeps no cookies: the test sets each request.
type surfer struct {
	t    *testing.T
	base string
	http *http.Client
}

func newSurfer(t *testing.T, base string) *surfer {
	return &surfer{t, base, &http.Client{
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// ask sends a request as a browser does that opens a page. Headers are given as "key: value", and
// replace the browser's own headers.
func (s *surfer) ask(method, path, body string, headers ...string) reply {
	s.t.Helper()
	own := []string{"Accept: text/html,application/xhtml+xml,*/*;q=0.8"}
	if method == http.MethodPost {
		own = append(own, "Content-Type: application/x-www-form-urlencoded", "Origin: "+s.base, "Sec-Fetch-Site: same-origin")
	}
	return request(s.t, s.http, method, s.base+path, body, append(own, headers...)...)
}

func (s *surfer) get(path string, headers ...string) reply {
	s.t.Helper()
	return s.ask("GET", path, "", headers...)
}

// signIn signs in with a token and returns the cookie.
func (s *surfer) signIn(token string, headers ...string) *http.Cookie {
	s.t.Helper()
	r := s.ask("POST", "/signin", url.Values{"token": {token}, "to": {"/"}}.Encode(), headers...)
	cookie, err := http.ParseSetCookie(r.header.Get("Set-Cookie"))
	if r.code != 303 || err != nil || len(r.header["Set-Cookie"]) != 1 {
		s.t.Fatalf("%d %v %s", r.code, r.header, r.body)
	}
	return cookie
}

func bearing1(c *http.Cookie) string { return "Cookie: " + c.Name + "=" + c.Value }

type company struct {
	base, config     string
	anna, bert       string
	annaLine, common string
	log              func() string
}

// employ starts a server with skills and two users with tokens.
func employ(t *testing.T, args ...string) company {
	t.Helper()
	var c company
	var bertLine string
	c.anna, c.annaLine = access.NewToken()
	c.bert, bertLine = access.NewToken()
	c.config = filepath.Join(t.TempDir(), "knack.yaml")
	c.common = "access:\n  default: allow\n  tokens:\n    - {hash: " + bertLine + ", subject: bert}\n"
	put(t, c.config, c.common+"    - {hash: "+c.annaLine+", subject: \"anna <b>\"}\n")
	c.base, c.log = servingLog(t, append([]string{"--dir", skills(t), "--config", c.config}, args...)...)
	c.base = strings.TrimSuffix(c.base, "/mcp")
	return c
}

// TestSignIn checks that a browser signs in once with a token, and stays signed in until it signs
// out or the token is revoked. The cookie must open pages and nothing else.
func TestSignIn(t *testing.T) {
	c := employ(t)
	s := newSurfer(t, c.base)

	// Without a session, every page is the same, whether or not the skill exists.
	asked := s.get("/skills/one/")
	want := strings.Replace(asked.body, `value="/skills/one/"`, `value="/skills/nobody/"`, 1)
	if asked.code != 401 || asked.header.Get("WWW-Authenticate") != "Bearer" || asked.header.Get("Cache-Control") != "no-store" || !strings.Contains(asked.body, `<form method="post" action="/signin">`) {
		t.Fatalf("%d %v\n%s", asked.code, asked.header, asked.body)
	}
	if diff := cmp.Diff(want, s.get("/skills/nobody/").body); diff != "" || strings.Contains(asked.body, "One.") || strings.Contains(asked.body, "devel") {
		t.Errorf("the page tells what there is: %s", diff)
	}
	// Programs get answers in their own formats.
	for path, accept := range map[string]string{"/": "*/*", "/api/v1/skills": "text/html", "/metrics": "text/html", "/.well-known/agent-skills/index.json": "text/html"} {
		r := s.get(path, "Accept: "+accept)
		if r.code != 401 || r.header.Get("WWW-Authenticate") != "Bearer" || r.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %d %v %s", path, r.code, r.header, r.body)
		}
	}
	for _, path := range []string{"/signin", assetOf(t, asked.body)} {
		if r := s.get(path); r.code != 200 {
			t.Errorf("%s: %d", path, r.code)
		}
	}

	// A wrong token is reported and gets nothing.
	for _, token := range []string{"", "x", c.anna + "x", c.anna[:len(c.anna)-1], c.annaLine, "Bearer " + c.anna, strings.Repeat("a", 9000)} {
		r := s.ask("POST", "/signin", url.Values{"token": {token}, "to": {"/usage"}}.Encode())
		if r.code != 401 || r.header.Get("Set-Cookie") != "" || !strings.Contains(r.body, "This token is not known here.") || !strings.Contains(r.body, `value="/usage"`) || token != "" && len(token) > 8 && strings.Contains(r.body, token) {
			t.Errorf("%.80s: %d %v %s", token, r.code, r.header, r.body)
		}
	}
	for want, form := range map[int][]string{
		403: {"token=" + c.anna, "Sec-Fetch-Site: cross-site"},
		413: {"token=" + strings.Repeat("a", 100_000)},
		415: {"token=" + c.anna, "Content-Type: text/plain"},
		400: {"token=%zz"},
	} {
		if r := s.ask("POST", "/signin", form[0], form[1:]...); r.code != want || r.header.Get("Set-Cookie") != "" {
			t.Errorf("%q: %d %v", form[1:], r.code, r.header)
		}
	}
	for _, headers := range [][]string{{"Origin: https://evil.example"}, {"Origin: null"}, {"Sec-Fetch-Site: same-site"}, {"Sec-Fetch-Site: ", "Origin: https://evil.example"}} {
		if r := s.ask("POST", "/signin", "token="+c.anna, headers...); r.code != 403 || r.header.Get("Set-Cookie") != "" {
			t.Errorf("%q: %d %v", headers, r.code, r.header)
		}
	}

	// A valid token gets a cookie that differs from the token, and a redirect to the requested
	// page.
	r := s.ask("POST", "/signin", url.Values{"token": {" " + c.anna + "\n"}, "to": {"/skills/one/?view=files"}}.Encode())
	if r.code != 303 || r.header.Get("Location") != "/skills/one/?view=files" {
		t.Fatalf("%d %v %s", r.code, r.header, r.body)
	}
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(c.base, "http://"))
	set := r.header.Get("Set-Cookie")
	cookie, err := http.ParseSetCookie(set)
	if err != nil || len(cookie.Value) != 43 || strings.Contains(c.anna, cookie.Value) ||
		strings.Replace(set, cookie.Value, "", 1) != "knack-"+port+"=; Path=/; Max-Age=604800; HttpOnly; SameSite=Lax" {
		t.Errorf("%s %v", set, err)
	}
	mine := bearing1(cookie)
	for _, path := range []string{"/", "/skills/one/", "/raw/one/SKILL.md", "/api/v1/skills", "/metrics", "/.well-known/agent-skills/index.json"} {
		for _, headers := range [][]string{{mine}, {mine, "Sec-Fetch-Site: same-origin"}, {mine, "Sec-Fetch-Site: none"}, {mine, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"}} {
			if r := s.get(path, headers...); r.code != 200 {
				t.Errorf("%s %q: %d", path, headers[1:], r.code)
			}
		}
		// The cookie does not work for pictures, scripts and frames of another site's page, or with
		// a wrong Authorization header.
		for _, headers := range [][]string{
			{mine, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: image"}, {mine, "Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: cors"},
			{mine, "Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe"},
			{mine, "Authorization: Bearer x"}, {"Cookie: knack-" + port + "=" + c.anna}, {"Cookie: knack-" + port + "=" + cookie.Value + "A"}, {"Cookie: knack=" + cookie.Value},
		} {
			if r := s.get(path, headers...); r.code != 401 {
				t.Errorf("%s %q: %d", path, headers, r.code)
			}
		}
	}
	page := s.get("/", mine)
	if !strings.Contains(page.body, "<span>anna &lt;b&gt;</span>") || !strings.Contains(page.body, `action="/signout"`) || page.header.Get("Cache-Control") != "no-store" {
		t.Errorf("the page does not say who looks at it: %v\n%.1500s", page.header, page.body)
	}
	if r := s.get("/signin", mine); r.code != 303 || r.header.Get("Location") != "/" {
		t.Errorf("signing in again: %d %v", r.code, r.header)
	}
	if body := s.get("/", "Authorization: Bearer "+c.anna).body; strings.Contains(body, "/signout") {
		t.Error("one who has a header is offered to sign out")
	}

	// The cookie does not work for MCP, and does not allow changes.
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		r := s.ask("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`, mine, "Content-Type: application/json", "Mcp-Protocol-Version: "+version)
		if r.code != 401 {
			t.Errorf("MCP with a cookie: %d %s", r.code, r.body)
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE"} {
		if r := s.ask(method, "/api/v1/skills", "", mine); r.code != 401 {
			t.Errorf("%s with a cookie: %d", method, r.code)
		}
	}

	// Signing out ends the session. A page of another site cannot sign a user out.
	if r := s.ask("POST", "/signout", "", mine, "Sec-Fetch-Site: cross-site"); r.code != 403 || s.get("/", mine).code != 200 {
		t.Errorf("another's page signs out: %d", r.code)
	}
	if r := s.get("/signout", mine); r.code != 405 || s.get("/", mine).code != 200 {
		t.Errorf("a link signs out: %d", r.code)
	}
	other := bearing1(s.signIn(c.anna))
	out := s.ask("POST", "/signout", "", mine)
	if out.code != 303 || out.header.Get("Location") != "/signin" || len(out.header["Set-Cookie"]) != 2 || !strings.Contains(out.header["Set-Cookie"][1], "knack-"+port+"=; Path=/; Max-Age=0") {
		t.Errorf("signing out: %d %v", out.code, out.header)
	}
	if s.get("/", mine).code != 401 || s.get("/", other).code != 200 {
		t.Error("a session goes on after it was signed out of, or another one does not")
	}

	// Revoking a token immediately ends its sessions for good.
	bert := bearing1(s.signIn(c.bert))
	put(t, c.config, c.common)
	hangUp(t, c.log, "the settings and tokens were read again")
	if s.get("/", other).code != 401 || s.get("/", bert).code != 200 {
		t.Error("a revoked token's session goes on, or another's does not")
	}
	put(t, c.config, c.common+"    - {hash: "+c.annaLine+", subject: anna}\n")
	hangUp(t, c.log, "the settings and tokens were read again")
	if s.get("/", other).code != 401 {
		t.Error("a session comes back")
	}
	if strings.Contains(c.log(), c.anna) || strings.Contains(c.log(), cookie.Value) {
		t.Error("the log has a secret")
	}
}

func assetOf(t *testing.T, page string) string {
	t.Helper()
	_, rest, ok := strings.Cut(page, `rel="stylesheet" href="`)
	path, _, more := strings.Cut(rest, `"`)
	if !ok || !more {
		t.Fatal("the page has no style")
	}
	return path
}

// TestSignInOverTLS checks that the cookie is sent only over TLS, even if a proxy terminates TLS.
func TestSignInOverTLS(t *testing.T) {
	cert, key := certificate(t)
	c := employ(t, "--tls-cert", cert, "--tls-key", key, "--allow-host", "skills.example")
	s := newSurfer(t, c.base)
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(c.base, "https://"))
	cookie := s.signIn(c.anna)
	if cookie.Name != "__Host-knack-"+port || !cookie.Secure || !cookie.HttpOnly || cookie.Path != "/" || cookie.Domain != "" {
		t.Errorf("%+v", cookie)
	}
	if code := s.get("/", bearing1(cookie)).code; code != 200 {
		t.Errorf("with it: %d", code)
	}
	// A cookie without the prefix could come from another server of the domain.
	if code := s.get("/", "Cookie: knack-"+port+"="+cookie.Value).code; code != 401 {
		t.Errorf("under another name: %d", code)
	}

	c = employ(t, "--allow-host", "skills.example")
	s = newSurfer(t, c.base)
	proxied := []string{"Host: skills.example", "Origin: https://skills.example"}
	cookie = s.signIn(c.anna, proxied...)
	if cookie.Name != "__Host-knack" || !cookie.Secure {
		t.Errorf("behind a proxy that ends TLS: %+v", cookie)
	}
	if code := s.get("/", bearing1(cookie), proxied[0]).code; code != 200 {
		t.Errorf("with it: %d", code)
	}
	if cookie = s.signIn(c.anna, proxied[0], "Origin: http://skills.example"); cookie.Name != "knack" || cookie.Secure {
		t.Errorf("without TLS: %+v", cookie)
	}
}

// TestNoSignInWithoutTokens checks that a server without tokens has no sign-in.
func TestNoSignInWithoutTokens(t *testing.T) {
	s := newSurfer(t, strings.TrimSuffix(startServer(t, "--dir", skills(t)), "/mcp"))
	if r := s.get("/signin"); r.code != 404 {
		t.Errorf("%d %s", r.code, r.body)
	}
	if r := s.ask("POST", "/signin", "token=x"); r.code != 405 || r.header.Get("Set-Cookie") != "" {
		t.Errorf("%d %v", r.code, r.header)
	}
	if body := s.get("/").body; strings.Contains(body, "/signout") {
		t.Error("a page offers to sign out")
	}
}

// certificate returns the files of a self-signed certificate for the loopback address.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	what := &x509.Certificate{SerialNumber: integer.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	signed, err := x509.CreateCertificate(rand.Reader, what, what, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	put(t, cert, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed})))
	put(t, key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
	return cert, key
}
