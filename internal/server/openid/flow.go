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

// attemptTime bounds the time that a person may take at the provider.
const attemptTime = 10 * time.Minute

// maxTo bounds the address to which a sign-in leads, in bytes, since it is in a cookie.
const maxTo = 1024

// Refusal is an error that is displayed to the person who signs in.
type Refusal struct {
	Status int    // status of HTTP
	Say    string // one or more sentences
}

// Error implements error.
func (r *Refusal) Error() string { return r.Say }

var errBusy = &Refusal{http.StatusServiceUnavailable, "Too many people sign in at once. Try again in a moment."}

// enter takes a place for a request to the provider. It returns false if none is free.
func (p *Provider) enter() bool {
	select {
	case p.places <- struct{}{}:
		return true
	default:
		return false
	}
}

func (p *Provider) leave() { <-p.places }

// attempt is a sign-in that this browser has begun. It is sealed in a cookie, so that abandoned
// attempts take no memory.
type attempt struct {
	State, Nonce, Verifier, To string
	Ends                       int64 // seconds since 1970
}

// Begin begins a sign-in and returns the address to which the caller must redirect the browser. It
// is the provider's, or this server's own if the browser used another host name. After the sign-in,
// the browser goes to the address in to, which the caller has checked.
func (p *Provider) Begin(w http.ResponseWriter, r *http.Request, to string) (string, error) {
	// The provider redirects the browser to the one host that it knows, and only that host receives
	// the cookie. If a proxy replaces Host, the sign-in begins here at the second try.
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

// Finish ends a sign-in, given the request with which the provider sent the browser back. It
// returns a token for the person, valid for [Provider.Session], and the address to which the
// sign-in leads. An error is a [Refusal].
func (p *Provider) Finish(w http.ResponseWriter, r *http.Request) (token, to string, err error) {
	if !p.enter() {
		return "", "", errBusy
	}
	defer p.leave()
	begun, ok := p.attemptOf(r)
	if ok {
		http.SetCookie(w, p.cookie("", -1)) // the cookie is for one callback, even a failed one
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

// exchange trades the code for a token, and verifies the token.
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

// SignOutURL returns the provider's address for signing out, or "" if it has none.
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

// cookie returns the cookie of an attempt. It is not SameSite=Strict, since a browser would not
// send it after the redirect from the provider.
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

// attemptOf returns the attempt in a request's cookie, or nil without a valid one. It also reports
// whether the request has the cookie of an attempt.
func (p *Provider) attemptOf(r *http.Request) (*attempt, bool) {
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
