package httpguard

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// protectedResource is the path of the metadata that lists the authorization servers whose tokens
// are accepted (RFC 9728, section 3).
const protectedResource = "/.well-known/oauth-protected-resource"

// unissued lists the paths of authorization server metadata. Clients try them here if the metadata
// of the resource names no server (MCP authorization before 2025-06-18, RFC 8414, OpenID Connect
// Discovery). This server is never an authorization server.
var unissued = []string{"/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"}

// describe mounts the OAuth metadata. Without issuers it mounts answers 404, since metadata must
// name an authorization server (MCP authorization, "Authorization Server Location"). A client that
// gets 404 reports that it lacks a token. After any other answer it tries to register itself.
func (g *Guard) describe() error {
	none := func(w http.ResponseWriter, r *http.Request) {
		if g.admitAny(w, r) {
			g.refuse(w, r, http.StatusNotFound, "There is no authorization server for this server: its operator hands out tokens, if any are needed.")
		}
	}
	for _, at := range append([]string{protectedResource}, unissued...) {
		g.mount(at, none)
		g.mount(at+"/", none)
	}
	if len(g.o.Issuers) == 0 && g.o.Resource == "" {
		return nil
	}
	resource, err := url.Parse(g.o.Resource)
	if err != nil || !isWeb(resource) || resource.RawQuery != "" || len(g.o.Issuers) == 0 || g.o.Access.Now().Verifier == nil {
		return fmt.Errorf("'%s' is no URL of a server whose tokens have an issuer: a resource, its issuers and a verifier go together", g.o.Resource)
	}
	for _, text := range g.o.Issuers {
		if issuer, err := url.Parse(text); err != nil || !isWeb(issuer) || issuer.RawQuery != "" {
			return fmt.Errorf("'%s' is no issuer: write the URL of an authorization server, without query and fragment", text)
		}
	}
	data, err := json.Marshal(struct {
		Resource string   `json:"resource"`
		Servers  []string `json:"authorization_servers"`
		Scopes   []string `json:"scopes_supported,omitempty"`
		Methods  []string `json:"bearer_methods_supported"`
	}{g.o.Resource, g.o.Issuers, g.o.Scopes, []string{"header"}})
	if err != nil {
		return err
	}
	serve := func(w http.ResponseWriter, r *http.Request) {
		if !g.admitAny(w, r) {
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_, _ = w.Write(append(data, '\n'))
	}
	suffix := strings.TrimSuffix(resource.EscapedPath(), "/")
	g.mount("GET "+protectedResource, serve)
	if suffix != "" {
		g.mount("GET "+protectedResource+suffix, serve)
	}
	resource.Path, resource.RawPath = protectedResource+suffix, ""
	g.metadata = resource.String()
	return nil
}

func isWeb(u *url.URL) bool {
	return (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.Fragment == "" && u.User == nil
}

// Unauthorized answers a request whose token is missing or unknown.
func (g *Guard) Unauthorized(w http.ResponseWriter, r *http.Request) {
	g.challenge(w, r)
	if tokenOf(r) != "" {
		g.refuse(w, r, http.StatusUnauthorized, "unauthorized: this token is not known here: it is mistyped, has expired or was revoked")
		return
	}
	g.refuse(w, r, http.StatusUnauthorized, "unauthorized: send a token in the header Authorization: Bearer")
}

// challenge sets the header that requests a token (RFC 6750, section 3; RFC 9728, section 5.1).
func (g *Guard) challenge(w http.ResponseWriter, r *http.Request) {
	var params []string
	if tokenOf(r) != "" {
		params = append(params, `error="invalid_token"`)
	}
	if g.metadata != "" {
		params = append(params, `resource_metadata="`+g.metadata+`"`)
	}
	w.Header().Set("WWW-Authenticate", strings.TrimSpace("Bearer "+strings.Join(params, ", ")))
}

// tokenOf returns the bearer token in a request's only Authorization header, or "".
func tokenOf(r *http.Request) string {
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return ""
	}
	fields := strings.Fields(values[0])
	if len(fields) != 2 || !strings.EqualFold(fields[0], "Bearer") {
		return ""
	}
	return fields[1]
}
