package login

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/httpfetch"
)

// Options are the inputs of [Sign].
type Options struct {
	Address  string // of the MCP server
	Source   string // as the settings name it
	ClientID string // the id that the provider's operator registered for knack, or ""
	Device   bool   // there is no browser on this machine
	Fetch    *httpfetch.Fetcher
	// Show is called with the address that a person opens in a browser, and the code to type there,
	// or "".
	Show func(issuer, address, code string)
}

// patience is the time that a person has to sign in.
const patience = 10 * time.Minute

// maxAnswer limits the bytes of a provider's answer.
const maxAnswer = 1 << 20

// Error describes a failure and its fix.
type Error struct{ Message, Fix string }

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Sign signs a person in, and returns the login.
func Sign(ctx context.Context, o Options) (Login, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("there is no login for %s", patience))
	defer cancel()
	from, err := o.discover(ctx)
	if err != nil {
		return Login{}, err
	}
	p := &provider{issuer: from.issuer, next: from.web}
	meta, err := auth.GetAuthServerMetadata(ctx, from.issuer, p.client())
	if err == nil && meta == nil {
		err = errors.New("it publishes none")
	}
	if down := p.down(); err != nil && down != nil {
		return Login{}, down
	}
	if err != nil {
		return Login{}, &Error{"the metadata of the provider " + display.Echo(from.issuer) + " cannot be read: " + display.Excerpt(err.Error()), "ask the operator of the server whether this is its provider"}
	}
	scopes := from.scopes
	if slices.Contains(meta.ScopesSupported, "offline_access") && !slices.Contains(scopes, "offline_access") {
		scopes = append(scopes, "offline_access")
	}
	f := &flow{o: o, meta: meta, provider: p, resource: from.resource, config: oauth2.Config{
		ClientID: o.ClientID, Scopes: scopes, Endpoint: oauth2.Endpoint{AuthURL: meta.AuthorizationEndpoint, TokenURL: meta.TokenEndpoint, AuthStyle: oauth2.AuthStyleInParams},
	}}
	var t *oauth2.Token
	if o.Device {
		t, err = f.device(ctx)
	} else {
		t, err = f.browser(ctx)
	}
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return Login{}, err
	}
	l := Login{Source: o.Source, Issuer: meta.Issuer, TokenURL: meta.TokenEndpoint, ClientID: f.config.ClientID, ClientSecret: f.config.ClientSecret, AuthStyle: f.config.Endpoint.AuthStyle, Resource: from.resource, Private: from.private}
	l.take(t)
	return l, nil
}

// discovered is the information that a server publishes about its login.
type discovered struct {
	resource, issuer string
	scopes           []string
	private          bool         // the server is in a private network
	web              *http.Client // for the addresses that the server names
}

// discover finds out the provider of the server. It sends a request without a token, and reads the
// metadata that the answer names.
func (o Options) discover(ctx context.Context) (discovered, error) {
	fail := func(message, fix string) (discovered, error) { return discovered{}, &Error{message, fix} }
	server, err := o.Fetch.For(o.Address)
	if err != nil {
		return fail("the server cannot be asked: "+err.Error(), "check the source's address")
	}
	asking, private := server.Watch(ctx)
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"knack","version":"1"}}}`
	r, err := http.NewRequestWithContext(asking, http.MethodPost, o.Address, strings.NewReader(hello))
	if err != nil {
		return discovered{}, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := server.HTTP().Do(r)
	if err != nil {
		return fail("the server does not answer: "+display.Excerpt(httpfetch.Plain(err).Error()), "try again later")
	}
	resp.Body.Close() // the body may never end
	switch status := resp.StatusCode; {
	case status == http.StatusTooManyRequests, status >= http.StatusInternalServerError:
		return fail(fmt.Sprintf("the server answers %d %s", status, http.StatusText(status)), "try again later")
	case status != http.StatusUnauthorized:
		return fail(fmt.Sprintf("the server does not ask for a login: it answers with the status %d", status), "see 'knack doctor' for what is wrong with the source")
	}
	found := discovered{private: private(), web: o.Fetch.Led(private()).HTTP()}
	challenges, _ := oauthex.ParseWWWAuthenticate(resp.Header.Values("WWW-Authenticate"))
	named := ""
	for _, c := range challenges {
		if at := c.Params["resource_metadata"]; at != "" && named == "" {
			named = at
		}
		if s := c.Params["scope"]; s != "" {
			found.scopes = strings.Fields(s)
		}
	}
	at, err := url.Parse(o.Address)
	if err != nil {
		return discovered{}, err
	}
	origin := url.URL{Scheme: at.Scheme, Host: at.Host}
	own := origin.JoinPath(".well-known/oauth-protected-resource")
	tries := [][2]string{{named, o.Address}, {own.JoinPath(at.Path).String(), o.Address}, {own.String(), origin.String()}}
	var unread error
	for _, try := range tries {
		if try[0] == "" {
			continue
		}
		p := &provider{issuer: try[0], next: found.web}
		meta, err := oauthex.GetProtectedResourceMetadata(ctx, try[0], try[1], p.client())
		if down := p.down(); down != nil {
			unread = cmp.Or(unread, cmp.Or(p.failed, down))
		}
		if err != nil || meta == nil || len(meta.AuthorizationServers) == 0 {
			continue
		}
		if len(found.scopes) == 0 {
			found.scopes = slices.Clone(meta.ScopesSupported)
		}
		found.resource, found.issuer = meta.Resource, meta.AuthorizationServers[0]
		return found, nil
	}
	if unread != nil {
		return fail("the server's metadata cannot be read: "+display.Excerpt(httpfetch.Plain(unread).Error()), "try again later, or ask its operator")
	}
	return fail("the server names no provider at which to sign in", "ask its operator for a token, and name it with token-env or token-file")
}

// flow is a login under way.
type flow struct {
	o        Options
	meta     *oauthex.AuthServerMeta
	provider *provider
	resource string
	config   oauth2.Config
}

func (f *flow) context(ctx context.Context) context.Context {
	return context.WithValue(ctx, oauth2.HTTPClient, f.provider.client())
}

// register registers knack at the provider, unless the settings contain a client id.
func (f *flow) register(ctx context.Context, redirect string, grants ...string) error {
	if f.config.ClientID != "" {
		return nil
	}
	if f.meta.RegistrationEndpoint == "" {
		return &Error{"the provider " + display.Echo(f.meta.Issuer) + " registers no programs by itself", "ask its operator to register knack as a native program, without a secret and with the address http://127.0.0.1/callback on any port, and write client-id for the source"}
	}
	about := &oauthex.ClientRegistrationMetadata{ClientName: "knack", ApplicationType: "native", TokenEndpointAuthMethod: "none", GrantTypes: append(grants, "refresh_token")}
	if redirect != "" {
		about.RedirectURIs, about.ResponseTypes = []string{redirect}, []string{"code"}
	}
	r, err := oauthex.RegisterClient(ctx, f.meta.RegistrationEndpoint, about, f.provider.client())
	if down := f.provider.down(); err != nil && down != nil {
		return down
	}
	if err != nil {
		return &Error{"the provider " + display.Echo(f.meta.Issuer) + " does not register knack: " + display.Excerpt(err.Error()), "ask its operator for a client id, and write client-id for the source"}
	}
	if f.config.ClientID, f.config.ClientSecret = r.ClientID, r.ClientSecret; r.ClientSecret != "" {
		f.config.Endpoint.AuthStyle = oauth2.AuthStyleAutoDetect
	}
	return nil
}

// browser signs in with the code that the provider sends to this machine, with PKCE.
func (f *flow) browser(ctx context.Context) (*oauth2.Token, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, &Error{"no port of this machine can be opened for the answer of the browser: " + err.Error(), "use --device"}
	}
	defer listener.Close()
	f.config.RedirectURL = "http://" + listener.Addr().String() + "/callback"
	if err := f.register(ctx, f.config.RedirectURL, "authorization_code"); err != nil {
		return nil, err
	}
	state, verifier := rand.Text(), oauth2.GenerateVerifier()
	answers := make(chan url.Values, 1)
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if r.URL.Path != "/callback" || subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(state)) != 1 {
			http.NotFound(w, r) // a page of another site
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, "knack has the answer of the provider. You can close this page.\n")
		select {
		case answers <- q:
		default:
		}
	})}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()
	f.o.Show(f.meta.Issuer, f.config.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier), oauth2.SetAuthURLParam("resource", f.resource)), "")
	var q url.Values
	select {
	case q = <-answers:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	switch iss := q.Get("iss"); {
	case q.Get("error") != "":
		return nil, &Error{"the provider refuses the login: " + display.Excerpt(q.Get("error")+" "+q.Get("error_description")), "sign in again, or ask its operator"}
	case iss != f.meta.Issuer && (iss != "" || f.meta.AuthorizationResponseIssParameterSupported):
		return nil, &Error{"the answer is not of the provider " + display.Echo(f.meta.Issuer), "sign in again; if this stays so, tell its operator"}
	}
	t, err := f.config.Exchange(f.context(ctx), q.Get("code"), oauth2.VerifierOption(verifier), oauth2.SetAuthURLParam("resource", f.resource))
	if err != nil {
		return nil, f.refused(err)
	}
	return t, nil
}

// device signs in with a code that a person types on another machine.
func (f *flow) device(ctx context.Context) (*oauth2.Token, error) {
	f.config.Endpoint.DeviceAuthURL = f.deviceEndpoint(ctx)
	if down := f.provider.down(); f.config.Endpoint.DeviceAuthURL == "" && down != nil {
		return nil, down
	}
	if f.config.Endpoint.DeviceAuthURL == "" {
		return nil, &Error{"the provider " + display.Echo(f.meta.Issuer) + " has no login without a browser", "sign in on a machine with a browser, without --device"}
	}
	if err := f.register(ctx, "", "urn:ietf:params:oauth:grant-type:device_code"); err != nil {
		return nil, err
	}
	code, err := f.config.DeviceAuth(f.context(ctx), oauth2.SetAuthURLParam("resource", f.resource))
	if err != nil {
		return nil, f.refused(err)
	}
	if code.Interval < 0 || code.Interval > int64(patience/time.Second) {
		return nil, &Error{"the provider " + display.Echo(f.meta.Issuer) + " names no interval at which to ask it", "tell its operator"}
	}
	f.o.Show(f.meta.Issuer, code.VerificationURI, code.UserCode)
	t, err := f.config.DeviceAccessToken(f.context(ctx), code, oauth2.SetAuthURLParam("resource", f.resource))
	if err != nil {
		return nil, f.refused(err)
	}
	return t, nil
}

// deviceEndpoint returns the provider's endpoint for logins on another machine (RFC 8628), or "".
// The metadata type of the SDK does not have it.
func (f *flow) deviceEndpoint(ctx context.Context) string {
	at, err := url.Parse(f.meta.Issuer)
	if err != nil {
		return ""
	}
	origin := url.URL{Scheme: at.Scheme, Host: at.Host}
	for _, place := range []string{
		origin.JoinPath(".well-known/oauth-authorization-server", at.Path).String(), origin.JoinPath(".well-known/openid-configuration", at.Path).String(), at.JoinPath(".well-known/openid-configuration").String(),
	} {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, place, nil)
		if err != nil {
			return ""
		}
		resp, err := f.provider.client().Do(r)
		if err != nil {
			continue
		}
		var body bytes.Buffer
		_, _ = io.CopyN(&body, resp.Body, maxAnswer)
		resp.Body.Close()
		var meta struct {
			Issuer   string `json:"issuer"`
			Endpoint string `json:"device_authorization_endpoint"`
		}
		if json.Unmarshal(body.Bytes(), &meta) != nil || meta.Issuer != f.meta.Issuer {
			continue
		}
		if to, err := url.Parse(meta.Endpoint); err == nil && meta.Endpoint != "" && (to.Scheme == "https" || to.Host == at.Host) {
			return meta.Endpoint
		}
	}
	return ""
}

// refused returns the error to report for a failed request for a token or a code.
func (f *flow) refused(err error) error {
	if down := f.provider.down(); down != nil {
		return down
	}
	if r := (*oauth2.RetrieveError)(nil); errors.As(err, &r) {
		return &Error{"the provider refuses the login: " + display.Excerpt(r.ErrorCode+" "+r.ErrorDescription), "sign in again, or ask its operator"}
	}
	return &Error{"the answer of the provider cannot be used: " + display.Excerpt(err.Error()), "ask its operator"}
}
