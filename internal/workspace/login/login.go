// Package login signs a person in at the provider of a skills server (OAuth 2.1 in the profile of
// MCP), stores the tokens, and renews them.
//
// A login belongs to one source, identified by its name and its address. Its tokens are used for no
// other source.
package login

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/base/httpfetch"
	"github.com/knack-dev/knack/internal/distribution/reference"
)

// Login is a login at the provider of a source. It is stored in this form.
type Login struct {
	Source       string           `json:"source"` // as reference.Normal writes it
	Issuer       string           `json:"issuer"`
	TokenURL     string           `json:"tokenUrl"`
	ClientID     string           `json:"clientId"`
	ClientSecret string           `json:"clientSecret,omitempty"`
	AuthStyle    oauth2.AuthStyle `json:"authStyle,omitempty"`
	Resource     string           `json:"resource,omitempty"` // of the tokens (RFC 8707)
	Private      bool             `json:"private,omitempty"`  // the server is in a private network
	AccessToken  string           `json:"accessToken"`
	RefreshToken string           `json:"refreshToken,omitempty"`
	Expiry       time.Time        `json:"expiry,omitzero"`
}

// Store stores the logins of one user, each in a file that only this user can read.
type Store struct{ Dir string }

// maxFile limits the bytes of a login's file. The tokens of some providers have 16 KiB.
const maxFile = 256 << 10

func (s Store) file(name string) string { return filepath.Join(s.Dir, name+".json") }

// read returns the login of a source by its name and its address. Without one, the error is an
// [fs.ErrNotExist].
func (s Store) read(name, source string) (l Login, err error) {
	data, err := edit.Read(s.file(name), maxFile)
	if err != nil {
		return l, err
	}
	if err := json.Unmarshal(data, &l); err != nil {
		return l, fmt.Errorf("the file of the login is damaged")
	}
	if l.Source != reference.Normal(source) {
		return l, &fs.PathError{Op: "read", Path: s.file(name), Err: fs.ErrNotExist}
	}
	return l, nil
}

// Set stores a login.
func (s Store) Set(name string, l Login) error {
	l.Source = reference.Normal(l.Source)
	data, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err
	}
	data = append(data, '\n')
	if err := edit.MakeFolder(s.Dir, 0o700); err != nil {
		return err
	}
	old, err := edit.Read(s.file(name), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return edit.Create(s.file(name), data, 0o600)
	}
	if err != nil {
		return err
	}
	return edit.Replace(s.file(name), old, data)
}

// Remove removes a login, and reports whether there was one.
func (s Store) Remove(name string) (bool, error) {
	err := edit.Remove(s.file(name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// early is the time before the expiry of a token at which the token is renewed.
const early = 30 * time.Second

// errEnded reports that the provider no longer renews a login.
var errEnded = errors.New("the login has ended")

// ends lists the error codes of RFC 6749 for a login that the provider no longer renews.
var ends = []string{"invalid_grant", "invalid_client", "unauthorized_client"}

// Token returns the access token for a source, and renews it if it is about to expire. It returns
// "" without a login. If several processes need a new token, one of them renews it. If the provider
// does not answer now, the error is an [*Error], and the login stays.
func (s Store) Token(ctx context.Context, name, source string, fetch *httpfetch.Fetcher) (string, error) {
	l, err := s.read(name, source)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", err
	case l.valid():
		return l.AccessToken, nil
	}
	for {
		unlock, err := edit.Lock(s.file(name))
		if err == nil {
			defer unlock()
			break
		}
		if !errors.Is(err, edit.ErrLocked) {
			return "", fmt.Errorf("the login cannot be renewed: %w", err)
		}
		select { // another process renews it
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	if l, err = s.read(name, source); err != nil || l.valid() {
		return l.AccessToken, err
	}
	if l.RefreshToken == "" {
		return "", errEnded
	}
	p := provider{issuer: l.Issuer, next: fetch.Led(l.Private).HTTP()}
	c := clientcredentials.Config{
		ClientID: l.ClientID, ClientSecret: l.ClientSecret, TokenURL: l.TokenURL, AuthStyle: l.AuthStyle,
		EndpointParams: url.Values{"grant_type": {"refresh_token"}, "refresh_token": {l.RefreshToken}}, // oauth2.Config cannot send a resource with it
	}
	if l.Resource != "" {
		c.EndpointParams.Set("resource", l.Resource)
	}
	t, err := c.Token(context.WithValue(ctx, oauth2.HTTPClient, p.client()))
	down := p.down()
	switch refused := (*oauth2.RetrieveError)(nil); {
	case down != nil && time.Until(l.Expiry) > 0:
		return l.AccessToken, nil
	case down != nil:
		return "", down
	case errors.As(err, &refused) && slices.Contains(ends, refused.ErrorCode):
		return "", errEnded
	case refused != nil: // the error's text has the whole answer, which may repeat the request
		return "", fmt.Errorf("the provider %s does not renew the login (status %d)", display.Echo(l.Issuer), refused.Response.StatusCode)
	case err != nil:
		return "", fmt.Errorf("the provider %s does not renew the login: %w", display.Echo(l.Issuer), httpfetch.Plain(err))
	}
	l.take(t)
	return l.AccessToken, s.Set(name, l)
}

func (l *Login) valid() bool {
	return l.AccessToken != "" && (l.Expiry.IsZero() || time.Until(l.Expiry) > early)
}

// take copies the tokens of an answer into the login.
func (l *Login) take(t *oauth2.Token) {
	l.AccessToken, l.Expiry = t.AccessToken, t.Expiry.UTC()
	if t.RefreshToken != "" {
		l.RefreshToken = t.RefreshToken
	}
}
