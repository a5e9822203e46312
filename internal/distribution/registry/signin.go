package registry

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/knack-dev/knack/internal/base/httpfetch"
)

// maxToken bounds the answer of a sign-in, in bytes.
const maxToken = 128 << 10

// errNoCredentials is the error if the registry requires a name and a password, and the
// configuration has neither.
var errNoCredentials = errors.New("no credentials")

// signInError is the error of a sign-in that issues no token, with its status.
type signInError struct{ code int }

func (e *signInError) Error() string { return "the sign-in answers " + http.StatusText(e.code) }

// realmError is the error of a refused sign-in address.
type realmError struct{ err error }

func (e *realmError) Error() string { return e.err.Error() }
func (e *realmError) Unwrap() error { return e.err }

// authorizations has the tokens of a session, and the running requests for further tokens.
type authorizations struct {
	mu    sync.Mutex
	basic string                    // the header for all scopes, after the registry required it
	given map[string]*authorization // by the requested scopes
	asked map[string]*asking        // by the requested and the challenge's scopes
}

// authorization is a token.
type authorization struct {
	header string
	scopes []string // the requested scopes, as merged returns them
}

// asking is a running request for a token. Other requests for the same token wait for it.
type asking struct {
	done chan struct{} // closed when the other fields are set
	got  *authorization
	err  error
	left bool // the caller of the request was cancelled
}

// challenge is a registry's demand after it refuses a request.
type challenge struct {
	scheme                string // "basic", "bearer" or ""
	realm, service, scope string
}

// do sends an authorized request. If the registry requires a sign-in, it signs in and repeats the
// request once.
//
// Credentials go only to the registry and its sign-in: [httpfetch.Client] removes them from a
// redirect to another host, and refuses addresses that are not https or are private.
func (s *session) do(req *http.Request, scopes []string) (*http.Response, error) {
	key := strings.Join(scopes, " ")
	sent := s.given.header(key)
	resp, err := s.send(req, sent)
	if err != nil || resp.StatusCode != http.StatusUnauthorized || resp.Request.URL.Host != req.URL.Host || resp.Request.URL.Scheme != req.URL.Scheme {
		return resp, err
	}
	c := challengeOf(resp.Header.Values("Www-Authenticate"))
	if c.scheme == "" {
		return resp, nil
	}
	if n := resp.ContentLength; n >= 0 && n <= 2<<10 { // so that the connection can be reused
		_, _ = io.Copy(io.Discard, resp.Body)
	}
	var next string
	if c.scheme == "basic" {
		next, err = s.basic(req.Context())
	} else {
		next, err = s.bearer(req.Context(), c, key, sent)
	}
	if err == nil && next == sent { // the sign-in has no other authorization than the refused one
		return resp, nil
	}
	resp.Body.Close()
	if err != nil {
		return nil, err
	}
	again := req.Clone(req.Context())
	if req.GetBody != nil {
		if again.Body, err = req.GetBody(); err != nil {
			return nil, err
		}
	}
	return s.send(again, next)
}

func (s *session) send(req *http.Request, authorization string) (*http.Response, error) {
	req.Header.Set("User-Agent", "knack")
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	return s.client.Do(req)
}

// header returns the authorization header for scopes, or "".
func (a *authorizations) header(key string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if given := a.given[key]; given != nil {
		return given.header
	}
	return a.basic
}

// basic returns the authorization header with a name and a password.
func (s *session) basic(ctx context.Context) (string, error) {
	found, err := s.credentials(ctx)
	if err != nil {
		return "", err
	}
	if found.Username == "" || found.Password == "" {
		return "", errNoCredentials
	}
	var r http.Request
	r.Header = http.Header{}
	r.SetBasicAuth(found.Username, found.Password)
	s.given.mu.Lock()
	defer s.given.mu.Unlock()
	s.given.basic = r.Header.Get("Authorization")
	return s.given.basic, nil
}

// bearer returns the authorization header with a new token for the scopes, after the registry
// refused the header sent. The new header equals sent if the sign-in has no other token. Concurrent
// requests for the same scopes share one sign-in.
func (s *session) bearer(ctx context.Context, c challenge, key, sent string) (string, error) {
	a := &s.given
	flight := key + "\n" + c.scope
	for {
		a.mu.Lock()
		given, other := a.given[key], a.asked[flight]
		switch {
		case other != nil:
			a.mu.Unlock()
		case given != nil && given.header != sent && slices.Equal(given.scopes, merged(slices.Concat(given.scopes, strings.Fields(c.scope)))):
			a.mu.Unlock()
			return given.header, nil
		default:
			other = &asking{done: make(chan struct{})}
			if a.asked == nil {
				a.asked, a.given = map[string]*asking{}, map[string]*authorization{}
			}
			a.asked[flight] = other
			a.mu.Unlock()
			s.ask(ctx, other, c, key, given)
			if other.err != nil {
				return "", other.err
			}
			return other.got.header, nil
		}
		select {
		case <-other.done:
		case <-ctx.Done():
			return "", ctx.Err()
		}
		if other.err == nil {
			return other.got.header, nil
		}
		if !other.left {
			return "", other.err
		}
	}
}

// ask requests a token for all waiting requests. given is the previous token.
func (s *session) ask(ctx context.Context, own *asking, c challenge, key string, given *authorization) {
	wanted := strings.Fields(c.scope)
	scopes := slices.Concat(strings.Fields(key), wanted)
	// A registry that requires other scopes each time must not make the scopes grow without bound.
	if given != nil && len(given.scopes)+len(wanted) < 100 && len(strings.Join(given.scopes, " "))+len(c.scope) < 8<<10 {
		scopes = append(scopes, given.scopes...)
	}
	own.got, own.err = s.token(ctx, c, merged(scopes))
	own.left = ctx.Err() != nil
	s.given.mu.Lock()
	defer s.given.mu.Unlock()
	if own.err == nil {
		s.given.given[key] = own.got
	}
	delete(s.given.asked, key+"\n"+c.scope)
	close(own.done)
}

// token requests a token from the sign-in, as the distribution specifications define it. It uses
// OAuth 2 if there is an identity token. Otherwise, it sends a name and a password, if there are
// any.
func (s *session) token(ctx context.Context, c challenge, scopes []string) (*authorization, error) {
	found, err := s.credentials(ctx)
	if err != nil {
		return nil, err
	}
	if found.AccessToken != "" {
		return &authorization{"Bearer " + found.AccessToken, scopes}, nil
	}
	realm, err := url.Parse(c.realm)
	if err != nil || realm.Host == "" {
		return nil, &realmError{errors.New("no address")}
	}
	ctx = context.WithValue(ctx, signingIn{}, true)
	var req *http.Request
	if found.RefreshToken != "" {
		form := url.Values{
			"grant_type": {"refresh_token"}, "refresh_token": {found.RefreshToken}, "client_id": {"knack"},
			"service": {c.service}, "scope": {strings.Join(scopes, " ")},
		}
		req, err = http.NewRequestWithContext(ctx, http.MethodPost, realm.String(), strings.NewReader(form.Encode()))
	} else {
		query := realm.Query()
		if c.service != "" {
			query.Set("service", c.service)
		}
		for _, scope := range scopes {
			query.Add("scope", scope)
		}
		realm.RawQuery = query.Encode()
		req, err = http.NewRequestWithContext(ctx, http.MethodGet, realm.String(), nil)
	}
	if err != nil {
		return nil, &realmError{err}
	}
	if req.Method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	} else if found.Username != "" || found.Password != "" {
		req.SetBasicAuth(found.Username, found.Password)
	}
	resp, err := s.send(req, "")
	if errors.Is(err, httpfetch.ErrRefused) {
		return nil, &realmError{err}
	}
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, &signInError{resp.StatusCode}
	}
	var answer struct {
		Token       string `json:"token"`
		AccessToken string `json:"access_token"`
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxToken))
	if err != nil {
		return nil, &url.Error{Op: req.Method, URL: realm.String(), Err: err}
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, err
	}
	if answer.AccessToken == "" {
		answer.AccessToken = answer.Token
	}
	if answer.AccessToken == "" || strings.ContainsFunc(answer.AccessToken, unicode.IsControl) {
		return nil, errors.New("the answer has no token")
	}
	return &authorization{"Bearer " + answer.AccessToken, scopes}, nil
}

// scopeOf returns the scope to pull from a repository, or also to push to it.
func scopeOf(name string, push bool) string {
	if push {
		return "repository:" + name + ":pull,push"
	}
	return "repository:" + name + ":pull"
}

// merged returns sorted scopes with each resource once.
func merged(scopes []string) (all []string) {
	actions := map[string]map[string]bool{}
	for _, scope := range scopes {
		i := strings.LastIndexByte(scope, ':')
		if strings.Count(scope, ":") < 2 { // it has no actions
			i = len(scope)
		}
		if actions[scope[:i]] == nil {
			actions[scope[:i]] = map[string]bool{}
		}
		for action := range strings.SplitSeq(strings.TrimPrefix(scope[i:], ":"), ",") {
			if action != "" {
				actions[scope[:i]][action] = true
			}
		}
	}
	for resource, allowed := range actions {
		list := slices.Sorted(maps.Keys(allowed))
		if allowed["*"] {
			list = []string{"*"}
		}
		if text := strings.Join(list, ","); text != "" {
			resource += ":" + text
		}
		all = append(all, resource)
	}
	slices.Sort(all)
	return all
}

// challengeOf returns the first challenge of a known scheme. A header may have several.
func challengeOf(headers []string) challenge {
	for _, rest := range headers {
		var c challenge
		for rest != "" {
			rest = strings.TrimLeft(rest, " \t,")
			end := strings.IndexAny(rest, " \t,=")
			if end < 0 {
				end = len(rest)
			}
			word := strings.ToLower(rest[:end])
			rest = strings.TrimLeft(rest[end:], " \t")
			if !strings.HasPrefix(rest, "=") { // the word begins a challenge
				if c.scheme != "" {
					break
				}
				if word == "basic" || word == "bearer" {
					c.scheme = word
				}
				continue
			}
			var value string
			value, rest = valueOf(strings.TrimLeft(rest[1:], " \t"))
			switch {
			case c.scheme == "": // the scheme is unknown
			case word == "realm":
				c.realm = value
			case word == "service":
				c.service = value
			case word == "scope":
				c.scope = value
			}
		}
		if c.scheme != "" {
			return c
		}
	}
	return challenge{}
}

// valueOf cuts the value, a word or quoted text, from the start of a text.
func valueOf(text string) (value, rest string) {
	if !strings.HasPrefix(text, `"`) {
		end := strings.IndexAny(text, " \t,")
		if end < 0 {
			end = len(text)
		}
		return text[:end], text[end:]
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '"':
			return b.String(), text[i+1:]
		case '\\':
			if i++; i == len(text) {
				return b.String(), ""
			}
		}
		b.WriteByte(text[i])
	}
	return b.String(), ""
}
