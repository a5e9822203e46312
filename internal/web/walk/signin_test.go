package walk

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/test/registrytest"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// dex builds the provider of interop/dex and starts it for a redirect URL. It returns the issuer.
func dex(t *testing.T, redirect string) string {
	t.Helper()
	for _, name := range []string{"main.go", "go.mod", "go.sum"} { // so that no cached result is used after a change
		if _, err := os.ReadFile(filepath.Join("..", "..", "..", "interop", "dex", name)); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(t.TempDir(), "dex")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-C", "../../../interop/dex", "-o", program, ".").CombinedOutput(); err != nil {
		missing(t, "build dex: %v\n%s", err, out)
	}
	cmd := exec.Command(program, redirect)
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
	})
	issuer, err := bufio.NewReader(out).ReadString('\n')
	must(t, err)
	return strings.TrimSpace(issuer)
}

// TestWalkSignIn signs in at Dex with Debian's Chromium. It checks that groups decide which skills
// are seen, and that signing out ends the session.
func TestWalkSignIn(t *testing.T) {
	chromium := driven(t, "signin.mjs")
	url, issuer := serveBehindDex(t)
	var report report
	run(t, "signin.mjs", map[string]any{
		"url": url, "issuer": issuer, "chromium": chromium, "shots": os.Getenv("KNACK_SHOTS"), "open": "/skills/harbour/watch-bill/", "closed": "/skills/office/invoice/",
	}, &report)
	for _, fault := range report.Faults {
		t.Error(fault)
	}
	if len(report.Done) != 9 {
		t.Errorf("%d steps were walked: %q", len(report.Done), report.Done)
	}
}

// serveBehindDex serves the library to people and agents that sign in at Dex. The group billing
// sees all skills, and the others see the skills of the harbour.
func serveBehindDex(t *testing.T) (address, issuer string) {
	t.Helper()
	root := t.TempDir()
	write(t, root, library)
	// The server is behind a proxy, since its public address must be known before it listens.
	var behind atomic.Pointer[url.URL]
	front := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(behind.Load())
		r.Out.Host = r.In.Host
	}})
	t.Cleanup(front.Close)
	redirect := front.URL + "/signin/callback"
	issuer = dex(t, redirect)
	secret := filepath.Join(t.TempDir(), "secret")
	must(t, os.WriteFile(secret, []byte("client secret\n"), 0o600))
	_, hash := access.NewToken()
	settings := fmt.Sprintf(`sign-in:
  issuer: %s
  client-id: knack
  client-secret-file: %s
  redirect-url: %s
  audiences: [agent, native]
access:
  default: deny
  tokens: [{hash: %s, subject: robot}]
  rules:
    - allow: ["skill://harbour/**"]
    - {groups: [billing], allow: ["skill://office/**"]}
`, issuer, secret, redirect, hash)
	at, err := url.Parse(serveWith(t, root, settings, "harbour", "office"))
	must(t, err)
	behind.Store(at)
	return front.URL, issuer
}

// TestWalkAgent checks that an agent that knows only the address of MCP finds the provider, gets a
// token there for a person, and uses it. The agent is the SDK's client.
func TestWalkAgent(t *testing.T) {
	if flag.Lookup("test.run").Value.String() == "" {
		t.Skip("builds a provider: go test -run TestWalkAgent ./internal/web/walk")
	}
	at, issuer := serveBehindDex(t)
	for person, sees := range map[string]bool{"anna": true, "bert": false} {
		handler, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
			PreregisteredClient: &oauthex.ClientCredentials{ClientID: "agent", ClientSecretAuth: &oauthex.ClientSecretAuth{ClientSecret: "agent secret"}, Issuer: issuer},
			RedirectURL:         "http://127.0.0.1/agent",
			AuthorizationCodeFetcher: func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
				return agree(ctx, args.URL, person)
			},
		})
		must(t, err)
		session, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: at + "/mcp", OAuthHandler: handler, MaxRetries: -1}, nil)
		must(t, err)
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "skill", Arguments: map[string]any{"name": "invoice"}})
		must(t, err)
		if text := res.Content[0].(*mcp.TextContent).Text; strings.Contains(text, "# Invoice") != sees {
			t.Errorf("%s: %s", person, text)
		}
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestWalkLogin signs in to a followed server with knack login. Dex does not register programs
// dynamically, so the settings have a client id for knack, and PKCE replaces a secret.
// TestWalkLogin checks that the login is renewed, each time with another refresh token, and that
// knack logout ends it.
func TestWalkLogin(t *testing.T) {
	if flag.Lookup("test.run").Value.String() == "" {
		t.Skip("builds a provider: go test -run TestWalkLogin ./internal/web/walk")
	}
	at, issuer := serveBehindDex(t)
	home, binary := t.TempDir(), registrytest.Knack(t)
	settings := func(more string) {
		write(t, home, map[string]string{".config/knack/knack.yaml": "sources: [{name: acme, from: 'mcp:" + at + "/mcp'" + more + "}]\n"})
	}
	knack := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), binary, args...)
		cmd.Dir, cmd.Env = home, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
		return cmd
	}
	settings("")
	if out, err := knack("login", "acme").CombinedOutput(); err == nil || !strings.Contains(string(out), "registers no programs by itself") {
		t.Error(err, string(out))
	}
	settings(", client-id: native")
	cmd := knack("login", "acme")
	said, err := cmd.StderrPipe()
	must(t, err)
	must(t, cmd.Start())
	for lines := bufio.NewScanner(said); lines.Scan(); {
		line := lines.Text()
		if !strings.HasPrefix(line, issuer) {
			continue
		}
		asked, err := url.Parse(line)
		must(t, err)
		if q := asked.Query(); q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "" || !strings.Contains(q.Get("scope"), "offline_access") {
			t.Error(line)
		}
		back, err := agree(t.Context(), line, "anna")
		must(t, err)
		resp, err := http.Get(asked.Query().Get("redirect_uri") + "?" + url.Values{"code": {back.Code}, "state": {back.State}}.Encode())
		must(t, err)
		resp.Body.Close()
	}
	must(t, cmd.Wait())
	file := filepath.Join(home, ".config", "knack", "logins", "acme.json")
	token := func() (login map[string]any) {
		data, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(data, &login)
		}
		must(t, err)
		return login
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	// follows runs a server that follows the source until done returns true.
	follows := func(done func() bool) {
		cmd := knack("serve", "--no-builtin")
		in, err := cmd.StdinPipe()
		must(t, err)
		must(t, cmd.Start())
		testwait.Until(t, done, "the source")
		in.Close()
		_ = cmd.Wait()
	}
	says := func(command, text string) bool {
		out, _ := knack(command).CombinedOutput()
		return strings.Contains(string(out), text)
	}
	follows(func() bool { return says("list", "invoice") })
	for range 2 { // the second renewal uses the token of the first
		was := token()
		was["expiry"] = past
		data, err := json.Marshal(was)
		must(t, err)
		must(t, os.WriteFile(file, data, 0o600))
		follows(func() bool { return token()["expiry"] != past })
		if renewed := token(); renewed["accessToken"] == was["accessToken"] || renewed["refreshToken"] == was["refreshToken"] || renewed["refreshToken"] == nil {
			t.Error("the login is not renewed:", renewed)
		}
	}
	if out, err := knack("logout", "acme").CombinedOutput(); err != nil || !strings.Contains(string(out), "signed out of acme") {
		t.Error(err, string(out))
	}
	follows(func() bool { return says("doctor", "run 'knack login acme'") })
}

// past is the expiry of a token that has expired.
const past = "2020-01-01T00:00:00Z"

// agree signs a person in at the provider as a browser does.
func agree(ctx context.Context, at, person string) (*auth.AuthorizationResult, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	client := &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if r.URL.Path == "/agent" || r.URL.Path == "/callback" {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	ask := func(method, at string, form url.Values) (*http.Response, error) {
		req, err := http.NewRequestWithContext(ctx, method, at, strings.NewReader(form.Encode()))
		if err != nil {
			return nil, err
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		resp, err := client.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		return resp, err
	}
	page, err := ask(http.MethodGet, at, nil)
	if err != nil {
		return nil, err
	}
	back, err := ask(http.MethodPost, page.Request.URL.String(), url.Values{"login": {person + "@example.com"}, "password": {"password"}})
	if err != nil {
		return nil, err
	}
	to, err := back.Location()
	if err != nil {
		return nil, fmt.Errorf("the provider answers %s: %w", back.Status, err)
	}
	return &auth.AuthorizationResult{Code: to.Query().Get("code"), State: to.Query().Get("state"), Iss: to.Query().Get("iss")}, nil
}
