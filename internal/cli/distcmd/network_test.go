package distcmd

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestNetworkInWords checks, for each kind of source, that the error for an unreachable server is
// in plain words and has a fix.
func TestNetworkInWords(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/closed") {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		http.Error(w, "", http.StatusNotImplemented)
	}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	s := newShell(t)
	const closed = ": the server refuses access (401): name it under sources in a knack.yaml, with token-env or token-file"
	const refused, plain = ": connection refused\nsee that", ": the server does not speak https at this address\ncheck the port"
	for source, want := range map[string]string{
		"http://127.0.0.1:1/a.zip":     refused,
		"http://127.0.0.1:1":           refused,
		"oci://127.0.0.1:1/a/b":        refused,
		"mcp:http://127.0.0.1:1/mcp":   refused,
		"https://" + host + "/a.zip":   plain,
		"https://" + host:              plain,
		"http://" + host + "/a.zip":    "answers 501 Not Implemented\nsee whether a browser gets it: its download is added as ./FILE",
		"mcp:https://" + host + "/mcp": plain,
		"mcp:http://" + host + "/mcp":  "there is no MCP server at this address (status 501)",
		"oci://" + host + "/a/b":       "is it a registry?",

		"http://" + host + "/closed/a.zip":   closed + "\n",
		"http://" + host + "/closed/mcp":     closed + "; an MCP server is written mcp:URL\n",
		"mcp:http://" + host + "/closed/mcp": "the server wants a login (status 401): set KNACK_TOKEN to the token that it gave you",
	} {
		_, stderr, status := s.run("add", source)
		stderr = strings.NewReplacer("hint: ", "").Replace(stderr)
		if status != 3 || !strings.Contains(stderr, want) || strings.Contains(stderr, "dial tcp") {
			t.Errorf("%s: status %d: %s", source, status, stderr)
		}
		if strings.HasPrefix(want, closed) {
			if _, stderr, status := s.run("pull", source); status != 3 || !strings.Contains(stderr, want) {
				t.Errorf("pull %s: status %d: %s", source, status, stderr)
			}
		}
	}
}
