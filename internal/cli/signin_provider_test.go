//go:build unix

package cli_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/knack-dev/knack/access"
)

// TestSignInWithoutProvider checks that a server whose provider is down starts. Its tokens must
// work and be revocable, and a changed section must wait for a restart.
func TestSignInWithoutProvider(t *testing.T) {
	const down = "127.0.0.1:1" // nothing answers there
	section := func(id string) string {
		return "sign-in:\n  issuer: http://" + down + "\n  client-id: " + id + "\n  redirect-url: http://127.0.0.1:8080/signin/callback\n"
	}
	token, line := access.NewToken()
	config := filepath.Join(t.TempDir(), "knack.yaml")
	put(t, config, section("knack")+"access:\n  tokens:\n    - {hash: "+line+", subject: anna}\n")
	base, log := servingLog(t, "--dir", skills(t), "--config", config)
	base = strings.TrimSuffix(base, "/mcp")
	s := newSurfer(t, base)
	if r := s.get("/"); r.code != 401 || !strings.Contains(r.body, "Sign in with "+down) || !strings.Contains(r.body, "Access token") {
		t.Errorf("%d %s", r.code, r.body)
	}
	// The server redirects the browser to the host that the provider knows. The second time, it
	// does not.
	if r := s.get("/signin/begin?to=/health"); r.code != 303 || r.header.Get("Location") != "http://127.0.0.1:8080/signin/begin?again=1&to=%2Fhealth" {
		t.Errorf("%d %v", r.code, r.header)
	}
	if r := s.get("/signin/begin?to=/health&again=1"); r.code != 503 || !strings.Contains(r.body, "cannot begin: connect: connection refused") || r.header.Get("Set-Cookie") != "" {
		t.Errorf("%d %v %s", r.code, r.header, r.body)
	}
	bearer := "Authorization: Bearer " + token
	if code, _ := fetch(t, base+"/api/v1/skills", bearer); code != 200 {
		t.Errorf("the token: %d", code)
	}
	put(t, config, section("another"))
	hangUp(t, log, "take effect after a restart")
	if !strings.Contains(log(), "keys=sign-in") {
		t.Error(log())
	}
	if code, _ := fetch(t, base+"/api/v1/skills", bearer); code != 401 {
		t.Errorf("the last token, revoked: %d", code)
	}
}
