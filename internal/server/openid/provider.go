package openid

import (
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/knack-dev/knack/internal/base/hosts"
)

// Options configure a provider. Issuer, ClientID and RedirectURL must be set.
type Options struct {
	// Issuer is the URL of the provider, exactly as in its tokens.
	Issuer string
	// ClientID is the identifier of this server at the provider.
	ClientID string
	// Secret returns the client's secret. It is nil for a client without one. It is called at each
	// sign-in, so that the operator can replace the secret.
	Secret func() (string, error)
	// RedirectURL is the address to which the provider redirects browsers: the public address of
	// this server with [CallbackPath].
	RedirectURL string
	// Scopes are the scopes to request; default [DefaultScopes].
	Scopes []string
	// Audiences are accepted audiences of a client's JWT, besides ClientID and the URL of MCP.
	Audiences []string
	// SubjectClaim and GroupsClaim are the claims with the subject and its groups. The defaults are
	// email and groups.
	SubjectClaim, GroupsClaim string
	// Session is the time for which a person stays signed in; default [DefaultSession].
	Session time.Duration

	Log *slog.Logger
}

// CallbackPath is the path of [Options.RedirectURL].
const CallbackPath = "/signin/callback"

// DefaultSession is the default time for which a person stays signed in: a working day.
const DefaultSession = 12 * time.Hour

// DefaultScopes returns the scopes that are requested by default.
func DefaultScopes() []string { return []string{"openid", "profile", "email", "groups"} }

// The limits of requests to the provider.
const (
	// askTime bounds one request to the provider, and the time that a browser waits for it.
	askTime = 5 * time.Second
	// maxPlaces bounds the browsers that wait for the provider. They need no token.
	maxPlaces = 256
	// retryTime is the time for which a failure is reused before the provider is contacted again.
	retryTime = 5 * time.Second
	// keyTime is the minimum time between two fetches of the keys. An unknown key ID causes a
	// fetch, and any client can send one.
	keyTime = 10 * time.Second
	// staleTime is the maximum age of the provider's description.
	staleTime = time.Hour
)

// Provider is an OpenID Connect provider.
type Provider struct {
	o         Options
	redirect  *url.URL
	audiences []string
	client    *http.Client
	seal      cipher.AEAD   // seals the cookie of a sign-in
	places    chan struct{} // places of the browsers that wait for the provider
	now       func() time.Time

	mu     sync.Mutex
	known  *described    // nil before the provider's first answer
	asking chan struct{} // closed when the running attempt ends; nil without one
	failed error         // the error of the last attempt
	tried  time.Time     // when the last attempt ended
	grants []*grant      // the oldest first
	byKey  map[[sha256.Size]byte]*grant
	used   []usedState // states of finished sign-ins, the oldest first
	warned time.Time   // when the log last reported a refused token
}

// described is the provider's description of itself, with values derived from it.
type described struct {
	since    time.Time
	keys     *oidc.IDTokenVerifier
	keysOf   string // the address of the keys, and the signature algorithms
	endpoint oauth2.Endpoint
	signOut  string // end_session_endpoint, or ""
	namesIss bool   // its callbacks have the parameter iss (RFC 9207)
}

// New returns a provider. It makes no request. The error names the faulty option.
func New(o Options) (*Provider, error) {
	if err := CheckIssuer(o.Issuer); err != nil {
		return nil, err
	}
	if err := CheckRedirect(o.RedirectURL); err != nil {
		return nil, err
	}
	if o.ClientID == "" {
		return nil, errors.New("the client id is empty")
	}
	if len(o.Scopes) == 0 {
		o.Scopes = DefaultScopes()
	}
	if !slices.Contains(o.Scopes, oidc.ScopeOpenID) {
		o.Scopes = append([]string{oidc.ScopeOpenID}, o.Scopes...)
	}
	o.SubjectClaim, o.GroupsClaim = cmp.Or(o.SubjectClaim, "email"), cmp.Or(o.GroupsClaim, "groups")
	o.Session = cmp.Or(o.Session, DefaultSession)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	var key [32]byte
	rand.Read(key[:]) // never fails (crypto/rand)
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	seal, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	redirect, err := url.Parse(o.RedirectURL)
	if err != nil {
		return nil, err
	}
	p := &Provider{o: o, redirect: redirect, seal: seal, places: make(chan struct{}, maxPlaces), now: time.Now, byKey: map[[sha256.Size]byte]*grant{}}
	p.audiences = append([]string{o.ClientID, p.Resource()}, o.Audiences...)
	p.client = &http.Client{
		Transport: &bounded{next: transport(), now: func() time.Time { return p.now() }},
		Timeout:   askTime,
		// A redirect leads to a server that is not in the settings.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return p, nil
}

// CheckIssuer returns an error if a string is not an issuer. An issuer is a URL with https, or with
// http on the loopback, without query and fragment.
func CheckIssuer(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "" || u.User != nil || strings.ContainsAny(text, "?# "):
		return errors.New("it is not the URL of a provider, such as https://login.example.com")
	case !isSafe(u):
		return errors.New("it must begin with https://")
	}
	return nil
}

// CheckRedirect returns an error if a provider cannot redirect browsers to a URL.
func CheckRedirect(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.User != nil || strings.ContainsAny(text, "?#*") || u.EscapedPath() != CallbackPath:
		return errors.New("it is not the address of this server followed by " + CallbackPath)
	case !isSafe(u):
		return errors.New("it must begin with https://")
	}
	return nil
}

// isSafe reports whether data sent to a URL is safe from readers on the way.
func isSafe(u *url.URL) bool {
	return u.Scheme == "https" || u.Scheme == "http" && hosts.IsLoopback(u.Hostname())
}

// Issuer returns the URL of the provider.
func (p *Provider) Issuer() string { return p.o.Issuer }

// Name returns the provider's host, by which people know the provider.
func (p *Provider) Name() string {
	_, host, _ := strings.Cut(p.o.Issuer, "://")
	host, _, _ = strings.Cut(host, "/")
	return host
}

// Scopes returns the scopes that tokens need.
func (p *Provider) Scopes() []string { return slices.Clone(p.o.Scopes) }

// Resource returns the URL of MCP. Clients request the provider's tokens for this URL.
func (p *Provider) Resource() string { return p.origin() + "/mcp" }

func (p *Provider) origin() string { return p.redirect.Scheme + "://" + p.redirect.Host }

// Ask fetches the provider's description unless it is known. It returns the error of a failed
// fetch.
func (p *Provider) Ask(ctx context.Context) error {
	_, err := p.describe(ctx)
	return err
}

// describe returns the provider's description. It waits for the first description only, until the
// context ends. While a newer one is fetched, the old one stays valid. After a failure, the next
// attempt is made only after retryTime.
func (p *Provider) describe(ctx context.Context) (*described, error) {
	p.mu.Lock()
	d, now := p.known, p.now()
	fresh := d != nil && now.Sub(d.since) < staleTime
	if p.asking == nil && !fresh && (p.failed == nil || now.Sub(p.tried) >= retryTime) {
		p.asking = make(chan struct{})
		go p.refresh()
	}
	asking, failed := p.asking, p.failed
	p.mu.Unlock()
	if d != nil {
		return d, nil
	}
	if asking == nil {
		return nil, failed
	}
	select {
	case <-asking:
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.known, p.failed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// refresh makes one attempt to fetch the description.
func (p *Provider) refresh() {
	p.mu.Lock()
	before := p.known
	p.mu.Unlock()
	d, err := p.fetch(before)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		p.known = d
	}
	if err != nil && p.failed == nil {
		p.o.Log.Warn("the sign-in's provider cannot be used now; tokens of the configuration work", "issuer", p.o.Issuer, "reason", reasonOf(err))
	} else if err == nil && p.failed != nil {
		p.o.Log.Warn("the sign-in's provider can be used again", "issuer", p.o.Issuer)
	}
	p.failed, p.tried = err, p.now()
	close(p.asking)
	p.asking = nil
}

// fetch requests the description. It reuses the previous keys if their address and algorithms are
// unchanged.
func (p *Provider) fetch(before *described) (*described, error) {
	ctx, cancel := context.WithTimeout(oidc.ClientContext(context.Background(), p.client), askTime)
	defer cancel()
	found, err := oidc.NewProvider(ctx, p.o.Issuer)
	if err != nil {
		return nil, err
	}
	var more struct {
		Keys     string   `json:"jwks_uri"`
		Signs    []string `json:"id_token_signing_alg_values_supported"`
		SignOut  string   `json:"end_session_endpoint"`
		Methods  []string `json:"token_endpoint_auth_methods_supported"`
		NamesIss bool     `json:"authorization_response_iss_parameter_supported"`
	}
	if err := found.Claims(&more); err != nil {
		return nil, err
	}
	d := &described{since: p.now(), endpoint: found.Endpoint(), namesIss: more.NamesIss}
	secure := strings.HasPrefix(p.o.Issuer, "https:")
	for name, text := range map[string]string{"authorization_endpoint": d.endpoint.AuthURL, "token_endpoint": d.endpoint.TokenURL, "jwks_uri": more.Keys} {
		if !isEndpoint(text, secure) {
			return nil, fmt.Errorf("its %s is no https URL", name)
		}
	}
	if isEndpoint(more.SignOut, secure) {
		d.signOut = more.SignOut
	}
	// Sending the secret in the header is the default (OpenID Connect Discovery, section 3).
	d.endpoint.AuthStyle = oauth2.AuthStyleInHeader
	if p.o.Secret == nil || len(more.Methods) > 0 && !slices.Contains(more.Methods, "client_secret_basic") {
		d.endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	d.keysOf = more.Keys + " " + strings.Join(more.Signs, " ")
	if before != nil && before.keysOf == d.keysOf {
		d.keys = before.keys // keeps the fetched keys
	} else { // callers check the audience
		d.keys = found.VerifierContext(ctx, &oidc.Config{SkipClientIDCheck: true, Now: p.now})
	}
	return d, nil
}

// isEndpoint reports whether a string is a URL that may receive secrets.
func isEndpoint(text string, secure bool) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && u.User == nil && (u.Scheme == "https" || !secure && isSafe(u))
}
