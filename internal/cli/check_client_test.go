package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli/command"
)

// TestCheckWithoutServer checks that check explains in plain words why no MCP server answers.
func TestCheckWithoutServer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			w.Header().Set("Content-Type", "text/html")
		case "/private":
			w.WriteHeader(http.StatusUnauthorized)
		case "/plain":
			w.Header().Set("Content-Type", "text/plain")
		case "/api":
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"error":"unknown"}`)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer server.Close()
	for _, tt := range []struct{ path, token, want string }{
		{"/?key=hunter2", "", "/?[redacted]: a web page is at this address, not an MCP server\nhint: try " + server.URL + "/mcp\n"},
		{"/skills", "", "/skills: no MCP server is at this path (404)\nhint: try " + server.URL + "/mcp\n"},
		{"/plain", "", "/plain: the server at this address is not an MCP server\nhint: check the host, the port and the path\n"},
		{"/api", "", "/api: the server at this address is not an MCP server\nhint: check the host, the port and the path\n"},
		{"/private", "", "/private: the server requires a token (401)\nhint: set the variable KNACK_TOKEN to the token\n"},
		{"/private", "secret", "/private: the server refuses the token in KNACK_TOKEN (401)\nhint: check the token; the server's administrator can give you another\n"},
	} {
		var said strings.Builder
		env := console.Env{Stdout: io.Discard, Stderr: &said, Dir: t.TempDir(), Getenv: func(name string) string {
			if name == "KNACK_TOKEN" {
				return tt.token
			}
			return ""
		}}
		if code := Main(t.Context(), env, []string{"check", server.URL + tt.path}); code != command.Error || said.String() != "error: "+server.URL+tt.want {
			t.Errorf("%s: status %d, %s", tt.path, code, said.String())
		}
	}
}
