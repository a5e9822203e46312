package mcpserver_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/mcpserver"
)

// discovered returns the answer to a request for a path without a token.
func discovered(t *testing.T, h http.Handler, method, path string) (int, http.Header, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, "http://localhost"+path, nil))
	return w.Code, w.Header(), w.Body.String()
}

var whereClientsLook = []string{
	"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource/team/mcp",
	"/.well-known/oauth-authorization-server", "/.well-known/oauth-authorization-server/mcp", "/.well-known/openid-configuration", "/.well-known/openid-configuration/mcp",
}

// TestNoAuthorizationServer checks that a client that looks for an issuer of tokens finds none,
// since an operator's tokens have no issuer. It checks a server that requires tokens, and one that
// does not.
func TestNoAuthorizationServer(t *testing.T) {
	tokens, c := guarded(t)
	for _, verifier := range []access.Verifier{tokens, nil} {
		h, err := mcpserver.NewHTTP(mcpserver.New(mcpserver.Options{Catalog: c, Access: access.NewGate(access.State{Verifier: verifier})}), mcpserver.HTTPOptions{})
		must(t, err)
		for _, path := range whereClientsLook {
			if code, header, body := discovered(t, h, "GET", path); code != 404 || header.Get("Content-Type") != "application/json" {
				t.Errorf("%s: %d %s", path, code, body)
			}
		}
	}
}

// TestProtectedResource checks that a client without a token finds the issuer of tokens by RFC
// 9728, if there is one. The SDK's client can read the metadata.
func TestProtectedResource(t *testing.T) {
	tokens, c := guarded(t)
	server := httptest.NewUnstartedServer(nil)
	base := "http://" + server.Listener.Addr().String()
	for _, path := range []string{"/mcp", "/team/mcp"} { // the second behind a proxy that removes the first segment
		h, err := mcpserver.NewHTTP(mcpserver.New(mcpserver.Options{Catalog: c, Access: access.NewGate(access.State{Verifier: tokens})}), mcpserver.HTTPOptions{
			Issuers: []string{"https://login.example/tenant"}, Resource: base + path,
		})
		must(t, err)
		const want = `","authorization_servers":["https://login.example/tenant"],"bearer_methods_supported":["header"]}` + "\n"
		served := map[string]bool{"/.well-known/oauth-protected-resource": true, "/.well-known/oauth-protected-resource" + path: true}
		for _, at := range whereClientsLook {
			code, header, body := discovered(t, h, "GET", at)
			switch {
			case !served[at] && code != 404:
				t.Errorf("%s: %d %s", at, code, body)
			case served[at]:
				if diff := cmp.Diff(`{"resource":"`+base+path+want, body); code != 200 || diff != "" || header.Get("Content-Type") != "application/json" {
					t.Errorf("%s: %d %v %s", at, code, header, diff)
				}
			}
		}
		metadata := base + "/.well-known/oauth-protected-resource" + path
		code, header, _ := discovered(t, h, "GET", "/mcp")
		if got, want := header.Get("WWW-Authenticate"), `Bearer resource_metadata="`+metadata+`"`; code != 401 || got != want {
			t.Errorf("%d %s, want %s", code, got, want)
		}
		w := httptest.NewRecorder()
		r := httptest.NewRequest("POST", "http://localhost/mcp", nil)
		r.Header.Set("Authorization", "Bearer x")
		h.ServeHTTP(w, r)
		if got, want := w.Header().Get("WWW-Authenticate"), `Bearer error="invalid_token", resource_metadata="`+metadata+`"`; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if path == "/mcp" {
			server.Config.Handler = h
			server.Start()
			defer server.Close()
			got, err := oauthex.GetProtectedResourceMetadata(t.Context(), metadata, base+path, server.Client())
			must(t, err)
			if diff := cmp.Diff([]string{"https://login.example/tenant"}, got.AuthorizationServers); diff != "" {
				t.Error(diff)
			}
		}
	}
}

func TestProtectedResourceRefuses(t *testing.T) {
	tokens, c := guarded(t)
	const resource, issuer = "https://skills.example/mcp", "https://login.example"
	for what, o := range map[string]mcpserver.HTTPOptions{
		"no resource":             {Issuers: []string{issuer}},
		"no issuer":               {Resource: resource},
		"a resource without host": {Issuers: []string{issuer}, Resource: "/mcp"},
		"with a fragment":         {Issuers: []string{issuer}, Resource: resource + "#x"},
		"an issuer that is none":  {Issuers: []string{"login.example"}, Resource: resource},
		"a query":                 {Issuers: []string{issuer + "?a"}, Resource: resource},
	} {
		if _, err := mcpserver.NewHTTP(mcpserver.New(mcpserver.Options{Catalog: c, Access: access.NewGate(access.State{Verifier: tokens})}), o); err == nil {
			t.Errorf("%s is taken", what)
		}
	}
	if _, err := mcpserver.NewHTTP(mcpserver.New(mcpserver.Options{Catalog: c}), mcpserver.HTTPOptions{Resource: resource, Issuers: []string{issuer}}); err == nil {
		t.Error("it is taken without a verifier")
	}
}

// guarded returns a verifier of one token, and a catalog without skills.
func guarded(t *testing.T) (access.Verifier, *catalog.Catalog) {
	t.Helper()
	_, line := access.NewToken()
	tokens, err := access.ParseTokens(strings.NewReader(line))
	must(t, err)
	return tokens, catalog.New([]catalog.Source{folder(t.TempDir())}, catalog.Options{})
}
