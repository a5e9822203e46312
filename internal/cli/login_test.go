package cli_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/knack-dev/knack/internal/cli"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// provider is an authorization server in memory (RFC 6749, 7591, 7636, 8414, 8628, 9207). It
// protects a skills server (RFC 9728).
type provider struct {
	*httptest.Server
	server *httptest.Server

	mu       sync.Mutex
	register bool
	clients  map[string][]string   // maps the ID to the redirect addresses
	codes    map[string]url.Values // maps a code to its request
	approved map[string]bool       // the approved device codes
	refresh  map[string]bool       // the valid refresh tokens
	access   map[string]bool
	life     int // of an access token, in seconds
	interval int // between the requests of a device, in seconds
	issuer   string
	renewed  int
	down     string // the path that gets a 503
}

func newSignIn(t *testing.T, skills string) *provider {
	p := &provider{register: true, clients: map[string][]string{}, codes: map[string]url.Values{}, approved: map[string]bool{}, refresh: map[string]bool{}, access: map[string]bool{}, life: 3600, interval: 1}
	p.Server = httptest.NewServer(http.HandlerFunc(p.answer))
	p.issuer = p.URL
	t.Cleanup(p.Close)
	target, _ := url.Parse(skills)
	behind := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: target.Host})
	p.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/.well-known/oauth-protected-resource") {
			writeJSON(w, map[string]any{"resource": p.server.URL + "/mcp", "authorization_servers": []string{p.URL}, "scopes_supported": []string{"skills"}})
			return
		}
		p.mu.Lock()
		valid := p.access[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
		p.mu.Unlock()
		if !valid {
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+p.server.URL+`/.well-known/oauth-protected-resource/mcp"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		r.Header.Del("Authorization")
		behind.ServeHTTP(w, r)
	}))
	t.Cleanup(p.server.Close)
	return p
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func (p *provider) answer(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = r.ParseForm()
	fail := func(what string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":%q}`, what)
	}
	if p.down != "" && strings.HasPrefix(r.URL.Path, p.down) {
		http.Error(w, "canary maintenance", http.StatusServiceUnavailable)
		return
	}
	switch r.URL.Path {
	case "/.well-known/oauth-authorization-server":
		meta := map[string]any{
			"issuer": p.issuer, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "device_authorization_endpoint": p.URL + "/device",
			"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"}, "authorization_response_iss_parameter_supported": true, "scopes_supported": []string{"skills", "offline_access"},
		}
		if p.register {
			meta["registration_endpoint"] = p.URL + "/register"
		}
		writeJSON(w, meta)
	case "/register":
		var about struct {
			RedirectURIs []string `json:"redirect_uris"`
		}
		_ = json.NewDecoder(r.Body).Decode(&about)
		id := rand.Text()
		p.clients[id] = about.RedirectURIs
		w.WriteHeader(http.StatusCreated)
		writeJSON(w, map[string]any{"client_id": id, "redirect_uris": about.RedirectURIs})
	case "/authorize":
		to, known := p.clients[r.Form.Get("client_id")]
		if !known || len(to) != 1 || to[0] != r.Form.Get("redirect_uri") || r.Form.Get("code_challenge_method") != "S256" || r.Form.Get("resource") != p.server.URL+"/mcp" || !strings.Contains(r.Form.Get("scope"), "offline_access") {
			fail("invalid_request")
			return
		}
		code := rand.Text()
		p.codes[code] = r.Form
		http.Redirect(w, r, to[0]+"?"+url.Values{"code": {code}, "state": {r.Form.Get("state")}, "iss": {p.issuer}}.Encode(), http.StatusFound)
	case "/device":
		code := rand.Text()
		p.codes[code] = r.Form
		writeJSON(w, map[string]any{"device_code": code, "user_code": "WORD-" + code[:4], "verification_uri": p.URL + "/activate", "expires_in": 600, "interval": p.interval})
	case "/token":
		switch r.Form.Get("grant_type") {
		case "authorization_code":
			asked, known := p.codes[r.Form.Get("code")]
			sum := sha256.Sum256([]byte(r.Form.Get("code_verifier")))
			if !known || asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) || asked.Get("client_id") != r.Form.Get("client_id") || r.Form.Get("resource") != asked.Get("resource") {
				fail("invalid_grant")
				return
			}
			delete(p.codes, r.Form.Get("code"))
		case "urn:ietf:params:oauth:grant-type:device_code":
			if !p.approved[r.Form.Get("device_code")] {
				fail("authorization_pending")
				return
			}
		case "refresh_token":
			if !p.refresh[r.Form.Get("refresh_token")] {
				fail("invalid_grant")
				return
			}
			if r.Form.Get("resource") != p.server.URL+"/mcp" {
				fail("invalid_target")
				return
			}
			delete(p.refresh, r.Form.Get("refresh_token"))
			p.renewed++
		default:
			fail("unsupported_grant_type")
			return
		}
		access, refresh := "canary-"+rand.Text(), "canary-"+rand.Text()
		p.access[access], p.refresh[refresh] = true, true
		writeJSON(w, map[string]any{"access_token": access, "refresh_token": refresh, "token_type": "Bearer", "expires_in": p.life})
	default:
		http.NotFound(w, r)
	}
}

// set changes the provider while it holds the lock.
func (p *provider) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// login runs knack login, and calls open with each line of its output. It returns the exit status
// and the output.
func (p *person) login(open func(line string), args ...string) (status int, said string) {
	p.t.Helper()
	env := p.env()
	out, in := io.Pipe()
	env.Stderr, env.Stdout = in, in
	ended := make(chan int, 1)
	ctx, cancel := context.WithCancel(p.t.Context())
	defer cancel()
	go func() {
		ended <- cli.Main(ctx, env, append([]string{"login"}, args...))
		in.Close()
	}()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said += lines.Text() + "\n"
		open(lines.Text())
	}
	return <-ended, said
}

// TestLogin checks that a person can sign in with a browser, that the login is renewed, and that
// the person can sign out and sign in with a code.
func TestLogin(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "pdf", "SKILL.md"), "---\nname: pdf\ndescription: Use pdf.\n---\nOf acme.\n")
	at := newSignIn(t, startServer(t, "--dir", dir))
	p := newPerson(t, "sources:\n  - {name: acme, from: 'mcp:"+at.server.URL+"/mcp'}\n  - {name: site, from: '"+at.server.URL+"'}\npoll: 1s\n")
	p.serve()
	p.loads("pdf", "it refuses access since")
	p.reports("doctor", "run 'knack login acme'", "the server refuses access (401): set token-env or token-file of the source site")
	browse := func(line string) {
		if !strings.HasPrefix(line, "http") {
			return
		}
		u, _ := url.Parse(line)
		forged, err := http.Get(u.Query().Get("redirect_uri") + "?code=x&state=y")
		if err != nil || forged.StatusCode != http.StatusNotFound {
			t.Error("an answer with another state:", forged, err)
		}
		resp, err := http.Get(line)
		if err != nil {
			t.Error(err)
			return
		}
		defer resp.Body.Close()
		if body, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK || !strings.Contains(string(body), "You can close this page") {
			t.Errorf("%d %s", resp.StatusCode, body)
		}
	}
	at.set(func() { at.life = 31 }) // such a token is renewed after a second
	if status, said := p.login(browse, "acme"); status != 0 || !strings.Contains(said, "acme signs in at "+at.URL) || strings.Contains(said, "canary") {
		t.Fatal(status, said)
	}
	p.loads("pdf", "Of acme.")
	testwait.Until(t, func() bool { at.mu.Lock(); defer at.mu.Unlock(); return at.renewed >= 2 }, "a renewed login")
	file := filepath.Join(p.home, ".config", "knack", "logins", "acme.json")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	put(t, filepath.Join(dir, "docx", "SKILL.md"), "---\nname: docx\ndescription: Use docx.\n---\nDocx.\n")
	p.loads("docx", "Docx.")

	// If the provider fails to answer for a while, the login stays.
	before := 0
	at.set(func() { at.life = 1; before = at.renewed })
	testwait.Until(t, func() bool { at.mu.Lock(); defer at.mu.Unlock(); return at.renewed > before+1 }, "a token that ends soon")
	at.set(func() { at.down = "/token" })
	p.reports("doctor", "the provider "+at.URL+" answers 503 Service Unavailable: try again later")
	at.set(func() { at.down, at.life = "", 31 })
	put(t, filepath.Join(dir, "pptx", "SKILL.md"), "---\nname: pptx\ndescription: Use pptx.\n---\nPptx.\n")
	p.loads("pptx", "Pptx.")

	// Once the provider has ended the login, doctor reports that.
	at.set(func() { clear(at.refresh); clear(at.access) })
	p.reports("doctor", "the login has ended: run 'knack login acme'")
	p.loads("pdf", "Of acme.") // from the store
	if out := p.run("logout", "acme"); !strings.Contains(out, "signed out of acme") {
		t.Error(out)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the login is still there")
	}
	if out := p.run("logout", "acme"); !strings.Contains(out, "there is no login for acme") {
		t.Error(out)
	}

	// Sign in with a code, as on another machine.
	at.set(func() { at.life = 3600 })
	status, said := p.login(func(line string) {
		if strings.Contains(line, "WORD-") {
			at.set(func() {
				for code := range at.codes {
					at.approved[code] = true
				}
			})
		}
	}, "acme", "--device")
	if status != 0 || !strings.Contains(said, "/activate") {
		t.Fatal(status, said)
	}
	at.set(func() { at.interval = -1 })
	if status, said := p.login(func(string) {}, "acme", "--device"); status == 0 || !strings.Contains(said, "names no interval") {
		t.Error(status, said)
	}
	put(t, filepath.Join(dir, "xlsx", "SKILL.md"), "---\nname: xlsx\ndescription: Use xlsx.\n---\nXlsx.\n")
	p.loads("xlsx", "Xlsx.")
	p.stop()
	if all := p.log.String() + p.run("doctor", "--json") + p.run("list", "--json"); strings.Contains(all, "canary") {
		t.Error(all)
	}

	// The tokens are not sent to another address.
	var asked, leaked atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.Header.Get("Authorization") != "" {
			leaked.Add(1)
		}
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(other.Close)
	settings := filepath.Join(p.home, ".config", "knack", "knack.yaml")
	was, _ := os.ReadFile(settings)
	put(t, settings, strings.ReplaceAll(string(was), at.server.URL+"/mcp", other.URL+"/mcp"))
	p.serve()
	testwait.Until(t, func() bool { return asked.Load() > 0 && strings.Contains(p.log.String(), "run 'knack login acme'") }, "the other server", p.log.String)
	p.stop()
	if leaked.Load() > 0 {
		t.Error("another address got the token")
	}
	put(t, settings, string(was))

	for _, c := range []struct {
		name string
		do   func()
		want string
	}{
		{"acme", func() { at.down = "/.well-known" }, "answers 503 Service Unavailable\nhint: try again later"},
		{"acme", func() { at.down = "/register" }, "answers 503 Service Unavailable\nhint: try again later"},
		{"acme", func() { at.down = "/token" }, "answers 503 Service Unavailable\nhint: try again later"},
		{"acm", func() { at.down = "" }, "did you mean acme?"},
		{"site", nil, "site is not a server of the Skills extension"},
		{"acme", func() { at.register = false }, "write client-id for the source"},
		{"acme", func() { at.register, at.issuer = true, "https://evil.example" }, "metadata of the provider"},
	} {
		if c.do != nil {
			at.set(c.do)
		}
		if status, said := p.login(browse, c.name); status == 0 || !strings.Contains(said, c.want) {
			t.Errorf("%s: %d %s", c.want, status, said)
		}
	}
}
