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
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// Options of a provider. Issuer, ClientID and RedirectURL must be set.
type Options struct {
	// Issuer is the URL of the provider, exactly as its tokens have it.
	Issuer string
	// ClientID is the name under which the provider knows this server.
	ClientID string
	// Secret returns the client's secret; nil for a client without one. It is asked at each
	// sign-in, so that a secret can be replaced.
	Secret func() (string, error)
	// RedirectURL is where the provider sends browsers back to: the public address of this
	// server, and [CallbackPath].
	RedirectURL string
	// Scopes that are asked for; default [DefaultScopes].
	Scopes []string
	// Audiences that a JWT of a client may be issued for, besides ClientID and the URL of MCP.
	Audiences []string
	// SubjectClaim and GroupsClaim are the claims that name a subject and its groups; default
	// email and groups.
	SubjectClaim, GroupsClaim string
	// Session is how long a person stays signed in; default [DefaultSession].
	Session time.Duration

	Log *slog.Logger
}

// CallbackPath is the path of [Options.RedirectURL].
const CallbackPath = "/signin/callback"

// DefaultSession is how long a person stays signed in: a working day.
const DefaultSession = 12 * time.Hour

// DefaultScopes returns the scopes that are asked for by default.
func DefaultScopes() []string { return []string{"openid", "profile", "email", "groups"} }

// Limits of requests to the provider.
const (
	// askTime bounds one request, and how long a browser waits for the provider.
	askTime = 5 * time.Second
	// maxPlaces is how many browsers wait for the provider at once. They need no token.
	maxPlaces = 256
	// retryTime is how long an answer that failed stands: the provider is not asked meanwhile.
	retryTime = 5 * time.Second
	// keyTime is how often the keys are fetched at most. An unknown key's name makes them be
	// fetched, and anybody can write one.
	keyTime = 10 * time.Second
	// staleTime is how old the provider's description may be.
	staleTime = time.Hour
)

// Provider is an OpenID Connect provider.
type Provider struct {
	o         Options
	redirect  *url.URL
	audiences []string
	client    *http.Client
	seal      cipher.AEAD   // of the cookie that a sign-in begun here has
	places    chan struct{} // taken by browsers that wait for the provider
	now       func() time.Time

	mu     sync.Mutex
	known  *described    // nil before the provider has answered
	asking chan struct{} // closed when the attempt under way ends; nil without one
	failed error         // of the last attempt
	tried  time.Time     // when it ended
	grants []*grant      // in the order in which they began
	byKey  map[[sha256.Size]byte]*grant
	used   []usedState // states with which people have signed in, oldest first
	warned time.Time   // when the log last said that a token was refused
}

// described is what the provider says about itself, and what follows.
type described struct {
	since    time.Time
	keys     *oidc.IDTokenVerifier
	keysOf   string // where the keys are, and the algorithms that are used with them
	endpoint oauth2.Endpoint
	signOut  string // end_session_endpoint; empty without one
	namesIss bool   // its callbacks have the parameter iss (RFC 9207)
}

// New returns a provider. It makes no request. The error says which option is wrong.
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
		// A redirect leads to a server that no setting names.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return p, nil
}

// CheckIssuer returns why a text cannot be an issuer: it is a URL with https, or with http on
// the loopback, without query and fragment.
func CheckIssuer(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "" || u.User != nil || strings.ContainsAny(text, "?# "):
		return errors.New("it is no URL of a provider, such as https://login.example.com")
	case !isSafe(u):
		return errors.New("it must begin with https://")
	}
	return nil
}

// CheckRedirect returns why a text cannot be where a provider sends browsers back to.
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

// isSafe reports whether what is sent to a URL cannot be read on the way.
func isSafe(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
}

// Issuer returns the URL of the provider.
func (p *Provider) Issuer() string { return p.o.Issuer }

// Name returns the provider's host, by which people know it.
func (p *Provider) Name() string {
	_, host, _ := strings.Cut(p.o.Issuer, "://")
	host, _, _ = strings.Cut(host, "/")
	return host
}

// Scopes returns the scopes that tokens need.
func (p *Provider) Scopes() []string { return slices.Clone(p.o.Scopes) }

// Resource returns the URL of MCP, for which clients ask the provider for tokens.
func (p *Provider) Resource() string { return p.origin() + "/mcp" }

func (p *Provider) origin() string { return p.redirect.Scheme + "://" + p.redirect.Host }

// Ask asks the provider to describe itself unless it has, and returns why it does not.
func (p *Provider) Ask(ctx context.Context) error {
	_, err := p.describe(ctx)
	return err
}

// describe returns the provider's description. It waits for the first one until the context
// ends, and for no later one: an old description is valid while a new one is fetched. An
// attempt that failed stands for retryTime.
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

// refresh fetches the description once.
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

// fetch asks for the description. It keeps the keys of the one before if they are at the same place.
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
	// The default is the header (OpenID Connect Discovery, section 3).
	d.endpoint.AuthStyle = oauth2.AuthStyleInHeader
	if p.o.Secret == nil || len(more.Methods) > 0 && !slices.Contains(more.Methods, "client_secret_basic") {
		d.endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	d.keysOf = more.Keys + " " + strings.Join(more.Signs, " ")
	if before != nil && before.keysOf == d.keysOf {
		d.keys = before.keys // which holds keys
	} else { // the audience is checked by callers
		d.keys = found.VerifierContext(ctx, &oidc.Config{SkipClientIDCheck: true, Now: p.now})
	}
	return d, nil
}

// isEndpoint reports whether a text is a URL to which secrets may be sent.
func isEndpoint(text string, secure bool) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && u.User == nil && (u.Scheme == "https" || !secure && isSafe(u))
}
