package openid

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/knack-dev/knack/internal/base/display"
)

// attemptTime is how long a person may take at the provider.
const attemptTime = 10 * time.Minute

// maxTo bounds the address to which a sign-in leads, in bytes: it is in a cookie.
const maxTo = 1024

// Refusal is an error that a person reads who signs in.
type Refusal struct {
	Status int    // of HTTP
	Say    string // a sentence, or several
}

// Error implements error.
func (r *Refusal) Error() string { return r.Say }

var errBusy = &Refusal{http.StatusServiceUnavailable, "Too many people sign in at once. Try again in a moment."}

// enter takes a place of those that wait for the provider. It reports whether there was one.
func (p *Provider) enter() bool {
	select {
	case p.places <- struct{}{}:
		return true
	default:
		return false
	}
}

func (p *Provider) leave() { <-p.places }

// attempt is a sign-in that this browser has begun. It is in a cookie, sealed, so that
// strangers who begin and never finish take no memory.
type attempt struct {
	State, Nonce, Verifier, To string
	Ends                       int64 // seconds since 1970
}

// Begin begins a sign-in: it returns the address at the provider to which to redirect the
// browser. The sign-in leads to the address to, which the caller has checked.
func (p *Provider) Begin(w http.ResponseWriter, r *http.Request, to string) (string, error) {
	// The provider sends the browser to the one host that it knows, and only there is the
	// cookie. If a proxy replaces Host, the second try begins here.
	if r.Host != p.redirect.Host && r.URL.Query().Get("again") == "" {
		return p.origin() + r.URL.Path + "?" + url.Values{"to": {to}, "again": {"1"}}.Encode(), nil
	}
	if !p.enter() {
		return "", errBusy
	}
	defer p.leave()
	ctx, cancel := context.WithTimeout(r.Context(), askTime)
	defer cancel()
	d, err := p.describe(ctx)
	if err != nil {
		return "", &Refusal{http.StatusServiceUnavailable, "The sign-in at " + p.Name() + " cannot begin: " + reasonOf(err) + ". Try again in a moment. If it stays so, tell the operator of this server."}
	}
	if len(to) > maxTo {
		to = "/"
	}
	a := attempt{rand.Text(), rand.Text(), oauth2.GenerateVerifier(), to, p.now().Add(attemptTime).Unix()}
	sealed, err := p.sealed(a)
	if err != nil {
		return "", err
	}
	http.SetCookie(w, p.cookie(sealed, int(attemptTime.Seconds())))
	return p.config(d).AuthCodeURL(a.State, oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)), nil
}

func (p *Provider) config(d *described) *oauth2.Config {
	return &oauth2.Config{ClientID: p.o.ClientID, Endpoint: d.endpoint, RedirectURL: p.o.RedirectURL, Scopes: p.o.Scopes}
}

// Finish ends a sign-in: the request is the one to which the provider redirected the browser.
// It returns a token that stands for the person until [Provider.Session] is over, and the
// address to which the sign-in leads. An error is a [Refusal].
func (p *Provider) Finish(w http.ResponseWriter, r *http.Request) (token, to string, err error) {
	if !p.enter() {
		return "", "", errBusy
	}
	defer p.leave()
	begun, held := p.begun(r)
	if held {
		http.SetCookie(w, p.cookie("", -1)) // it is for one callback, whatever that brings
	}
	q := r.URL.Query()
	if begun == nil || subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(begun.State)) != 1 || len(q["state"]) != 1 {
		return "", "", &Refusal{http.StatusBadRequest, "This browser has not begun this sign-in, it took longer than 10 minutes, or another one was begun meanwhile. Begin again."}
	}
	who := "The sign-in at " + p.Name()
	d, err := p.describe(r.Context())
	if err != nil {
		return "", "", &Refusal{http.StatusServiceUnavailable, who + " cannot end: " + reasonOf(err) + ". Try again in a moment."}
	}
	if iss := q["iss"]; len(iss) > 1 || len(iss) == 1 && iss[0] != p.o.Issuer || len(iss) == 0 && d.namesIss {
		return "", "", &Refusal{http.StatusBadRequest, "This answer comes from another provider than the one at which the sign-in was begun. Begin again."}
	}
	if q.Has("error") {
		say := who + " was refused there"
		if code := q.Get("error"); isWord(code) {
			say += ", with the reason " + code
		}
		return "", "", &Refusal{http.StatusForbidden, say + "."}
	}
	if len(q["code"]) != 1 || q.Get("code") == "" {
		return "", "", &Refusal{http.StatusBadRequest, "The answer of " + p.Name() + " has no code. Begin again."}
	}
	if !p.use(begun.State, time.Unix(begun.Ends, 0)) {
		return "", "", &Refusal{http.StatusBadRequest, "This sign-in has ended before. Begin again."}
	}
	t, err := p.exchange(r.Context(), d, q.Get("code"), begun)
	if err != nil {
		reason := reasonOf(err)
		p.o.Log.Warn("a sign-in failed after the provider sent the browser back", "issuer", p.o.Issuer, "reason", reason)
		return "", "", &Refusal{http.StatusBadGateway, who + " failed: " + reason + ". Begin again. If it stays so, tell the operator of this server."}
	}
	subject, err := p.subjectOf(t)
	if err != nil {
		p.o.Log.Warn("an account of the provider cannot sign in", "reason", display.Echo(err.Error()))
		return "", "", &Refusal{http.StatusForbidden, "This account cannot sign in here: " + err.Error() + "."}
	}
	return p.grant(subject), begun.To, nil
}

// exchange gives the code for a token, and verifies the token.
func (p *Provider) exchange(ctx context.Context, d *described, code string, begun *attempt) (*oidc.IDToken, error) {
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, p.client), 2*askTime)
	defer cancel()
	conf := p.config(d)
	if p.o.Secret != nil {
		var err error
		if conf.ClientSecret, err = p.o.Secret(); err != nil {
			p.o.Log.Error("the client secret cannot be read", "reason", err.Error())
			return nil, errors.New("the server cannot read its client secret")
		}
	}
	got, err := conf.Exchange(ctx, code, oauth2.VerifierOption(begun.Verifier))
	if err != nil {
		return nil, err
	}
	raw, _ := got.Extra("id_token").(string)
	if raw == "" {
		return nil, errors.New("it sent no ID token")
	}
	t, err := p.checked(ctx, d, raw)
	if err != nil {
		return nil, err
	}
	var more struct {
		Party string `json:"azp"`
	}
	err = t.Claims(&more)
	switch {
	case err != nil, !slices.Contains(t.Audience, p.o.ClientID), more.Party != "" && more.Party != p.o.ClientID, len(t.Audience) > 1 && more.Party == "":
		return nil, errors.New("its ID token is for another application")
	case subtle.ConstantTimeCompare([]byte(t.Nonce), []byte(begun.Nonce)) != 1:
		return nil, errors.New("its ID token is for another sign-in")
	case t.Subject == "":
		return nil, errors.New("its ID token has no subject")
	case t.AccessTokenHash != "" && t.VerifyAccessToken(got.AccessToken) != nil:
		return nil, errors.New("its ID token is for another access token")
	}
	return t, nil
}

// SignOutURL returns the address at which people sign out of the provider too, empty if it has
// said none.
func (p *Provider) SignOutURL() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil || p.known.signOut == "" {
		return ""
	}
	u, err := url.Parse(p.known.signOut)
	if err != nil {
		return ""
	}
	q := u.Query()
	q.Set("client_id", p.o.ClientID)
	u.RawQuery = q.Encode()
	return u.String()
}

// cookie returns the cookie of an attempt. With SameSite=Strict, a browser would not send it
// when the provider leads back.
func (p *Provider) cookie(value string, age int) *http.Cookie {
	secure := p.redirect.Scheme == "https"
	name := "knack-signin"
	if _, port, err := net.SplitHostPort(p.redirect.Host); err == nil {
		name += "-" + port // browsers share cookies between the ports of a host
	}
	if secure {
		name = "__Host-" + name
	}
	return &http.Cookie{Name: name, Value: value, Path: "/", MaxAge: age, HttpOnly: true, Secure: secure, SameSite: http.SameSiteLaxMode}
}

// begun returns the attempt in a request's cookie, nil without a valid one, and whether there
// is a cookie.
func (p *Provider) begun(r *http.Request) (*attempt, bool) {
	c := r.CookiesNamed(p.cookie("", 0).Name)
	if len(c) == 0 {
		return nil, false
	}
	data, err := base64.RawURLEncoding.DecodeString(c[0].Value)
	size := p.seal.NonceSize()
	if err != nil || len(data) < size || len(c) > 1 {
		return nil, true
	}
	plain, err := p.seal.Open(nil, data[:size], data[size:], nil)
	var a attempt
	if err != nil || json.Unmarshal(plain, &a) != nil || p.now().Unix() >= a.Ends {
		return nil, true
	}
	return &a, true
}

func (p *Provider) sealed(a attempt) (string, error) {
	plain, err := json.Marshal(a)
	if err != nil {
		return "", err
	}
	nonce := make([]byte, p.seal.NonceSize())
	rand.Read(nonce) // never fails (crypto/rand)
	return base64.RawURLEncoding.EncodeToString(p.seal.Seal(nonce, nonce, plain, nil)), nil
}
