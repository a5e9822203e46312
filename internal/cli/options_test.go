//go:build unix

package cli_test

import (
	"strings"
	"testing"

	"github.com/knack-dev/knack/access"
)

// TestOptions checks the Allow header of each route. The listed methods must be answered, and
// others must get a 405 with the same list. HEAD must be answered like GET.
func TestOptions(t *testing.T) {
	token, line := access.NewToken()
	file := t.TempDir() + "/tokens"
	put(t, file, line+"\n")
	url, _ := servingLog(t, "--dir", skills(t), "--token-file", file)
	a := &asker{t: t, url: url}
	for path, want := range map[string]string{
		"/mcp": "GET, POST, DELETE", "/healthz": "GET, HEAD", "/readyz": "GET, HEAD", "/": "GET, HEAD", "/skills/one/": "GET, HEAD", "/raw/one/SKILL.md": "GET, HEAD", "/health": "GET, HEAD",
		"/usage": "GET, HEAD", "/connect": "GET, HEAD", "/metrics": "GET, HEAD", "/api/v1/skills": "GET, HEAD", "/api/v1": "GET, HEAD", "/nothing": "GET, HEAD",
		"/.well-known/agent-skills/index.json": "GET, HEAD", "/signin": "GET, HEAD, POST", "/signout": "POST",
	} {
		code, _, header := a.send("OPTIONS", path, "", "")
		if got := header.Get("Allow"); code != 204 || got != want+", OPTIONS" {
			t.Errorf("%s: %d, Allow: %s", path, code, got)
		}
		_, _, header = a.send("OPTIONS", path, "", "", "Origin: "+strings.TrimSuffix(url, "/mcp"), "Access-Control-Request-Method: GET")
		if got := header.Get("Access-Control-Allow-Methods"); got != want {
			t.Errorf("%s: Access-Control-Allow-Methods: %s", path, got)
		}
		for _, method := range []string{"GET", "HEAD", "POST", "DELETE", "PUT"} {
			allowed := false
			for one := range strings.SplitSeq(want, ", ") {
				allowed = allowed || one == method
			}
			code, body, header := a.send(method, path, token, "")
			if allowed == (code == 405) || !allowed && header.Get("Allow") != want {
				t.Errorf("%s %s: %d, Allow: %s", method, path, code, header.Get("Allow"))
			}
			if method == "HEAD" && body != "" {
				t.Errorf("HEAD %s has a body", path)
			}
		}
	}
}
