package httpd

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/knack-dev/knack/access"
)

// protectedResource is where a resource server says which authorization servers
// its tokens come from (RFC 9728, section 3).
const protectedResource = "/.well-known/oauth-protected-resource"

// unissued are where clients look for an authorization server at this address
// where the resource names none (MCP authorization before 2025-06-18, RFC 8414,
// OpenID Connect Discovery). It is never one.
var unissued = []string{"/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"}

// describe registers what clients that have no token find. Tokens that an operator
// hands out have no issuer, and metadata must name one (MCP authorization,
// "Authorization Server Location"): a client that reads 404 says that it lacks a
// token, one that reads anything else tries to register itself.
func (h *Handler) describe(mux *routes) error {
	none := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h.admitsAny(w, r) {
			h.refuse(w, r, http.StatusNotFound, "There is no authorization server for this server: its operator hands out tokens, if any are needed.")
		}
	})
	for _, at := range append([]string{protectedResource}, unissued...) {
		mux.Handle(at, none)
		mux.Handle(at+"/", none)
	}
	if len(h.o.Issuers) == 0 && h.o.Resource == "" {
		return nil
	}
	resource, err := url.Parse(h.o.Resource)
	if err != nil || !isWeb(resource) || resource.RawQuery != "" || len(h.o.Issuers) == 0 || h.core.Access.Now().Verifier == nil {
		return fmt.Errorf("'%s' is no URL of a server whose tokens have an issuer: a resource, its issuers and a verifier go together", h.o.Resource)
	}
	for _, text := range h.o.Issuers {
		if issuer, err := url.Parse(text); err != nil || !isWeb(issuer) || issuer.RawQuery != "" {
			return fmt.Errorf("'%s' is no issuer: write the URL of an authorization server, without query and fragment", text)
		}
	}
	data, err := json.Marshal(oauthex.ProtectedResourceMetadata{
		Resource: h.o.Resource, AuthorizationServers: h.o.Issuers, BearerMethodsSupported: []string{"header"},
	})
	if err != nil {
		return err
	}
	serve := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !h.admitsAny(w, r) {
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_, _ = w.Write(append(data, '\n'))
	})
	suffix := strings.TrimSuffix(resource.EscapedPath(), "/")
	mux.Handle("GET "+protectedResource, serve)
	if suffix != "" {
		mux.Handle("GET "+protectedResource+suffix, serve)
	}
	resource.Path, resource.RawPath = protectedResource+suffix, ""
	h.metadata = resource.String()
	return nil
}

// admitsAny counts a request whose answer is the same for everyone.
func (h *Handler) admitsAny(w http.ResponseWriter, r *http.Request) bool {
	if h.core.Access.Now().Verifier == nil {
		return h.admits(w, r, access.Principal{})
	}
	return h.admitsUnknown(w, r)
}

func isWeb(u *url.URL) bool {
	return (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.Fragment == "" && u.User == nil
}

// challenge says what a request lacks (RFC 6750, section 3; RFC 9728, section 5.1).
func (h *Handler) challenge(w http.ResponseWriter, r *http.Request) {
	var params []string
	if _, ok := bearer(r.Header.Values("Authorization")); ok {
		params = append(params, `error="invalid_token"`)
	}
	if h.metadata != "" {
		params = append(params, `resource_metadata="`+h.metadata+`"`)
	}
	w.Header().Set("WWW-Authenticate", strings.TrimSpace("Bearer "+strings.Join(params, ", ")))
}
