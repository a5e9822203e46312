package walk

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/knack-dev/knack/access"
)

// dex builds the provider of interop/dex and starts it for a redirect URL. It returns the issuer.
func dex(t *testing.T, redirect string) string {
	t.Helper()
	for _, name := range []string{"main.go", "go.mod", "go.sum"} { // read, so that the result of the test is not kept when they change
		if _, err := os.ReadFile(filepath.Join("../../interop/dex", name)); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(t.TempDir(), "dex")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-C", "../../interop/dex", "-o", program, ".").CombinedOutput(); err != nil {
		missing(t, "build dex: %v\n%s", err, out)
	}
	cmd := exec.Command(program, redirect)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
	})
	issuer, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(issuer)
}

// idToken returns the token that the provider gives to an agent of anna.
func idToken(t *testing.T, issuer string) string {
	t.Helper()
	form := url.Values{"grant_type": {"password"}, "username": {"anna@example.com"}, "password": {"password"}, "scope": {"openid email groups"}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, issuer+"/token", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.SetBasicAuth("knack", url.QueryEscape("client secret"))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var got struct {
		Token string `json:"id_token"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil || got.Token == "" {
		t.Fatalf("%s %v", resp.Status, err)
	}
	return got.Token
}

// TestWalkSignIn signs in at Dex with Debian's Chromium: groups decide what is seen, and signing
// out ends it.
func TestWalkSignIn(t *testing.T) {
	chromium := driven(t, "signin.mjs")
	root := t.TempDir()
	write(t, root, library)
	// The server is behind a proxy, whose address is known before the server has its own.
	var behind atomic.Pointer[url.URL]
	front := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(behind.Load())
		r.Out.Host = r.In.Host
	}})
	t.Cleanup(front.Close)
	redirect := front.URL + "/signin/callback"
	issuer := dex(t, redirect)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("client secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, hash := access.NewToken()
	settings := fmt.Sprintf(`sign-in:
  issuer: %s
  client-id: knack
  client-secret-file: %s
  redirect-url: %s
access:
  default: deny
  tokens: [{hash: %s, subject: robot}]
  rules:
    - allow: ["skill://harbour/**"]
    - {groups: [billing], allow: ["skill://office/**"]}
`, issuer, secret, redirect, hash)
	at, err := url.Parse(serveWith(t, root, settings, "harbour", "office"))
	if err != nil {
		t.Fatal(err)
	}
	behind.Store(at)
	// An agent sends a token of the provider, which has the same groups.
	use(t, front.URL+"/mcp", idToken(t, issuer))
	var report report
	run(t, "signin.mjs", map[string]any{
		"url": front.URL, "issuer": issuer, "chromium": chromium, "shots": os.Getenv("KNACK_SHOTS"), "open": "/skills/harbour/watch-bill/", "closed": "/skills/office/invoice/",
	}, &report)
	for _, fault := range report.Faults {
		t.Error(fault)
	}
	if len(report.Done) != 9 {
		t.Errorf("%d steps were walked: %q", len(report.Done), report.Done)
	}
}
