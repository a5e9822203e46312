package login

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/httpfetch"
)

// provider sends requests to a provider, one after the other, and records the last status or error.
// The errors of the libraries do not tell whether a provider refuses or does not answer.
type provider struct {
	issuer string
	next   *http.Client
	status int
	failed error
}

// client returns an HTTP client that sends its requests through p.
func (p *provider) client() *http.Client {
	c := *p.next
	c.Transport = p
	return &c
}

// RoundTrip implements [http.RoundTripper].
func (p *provider) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := p.next.Transport.RoundTrip(r)
	if p.status, p.failed = 0, err; err == nil {
		p.status = resp.StatusCode
	}
	return resp, err
}

// down returns an error if the last request did not reach the provider, or if the provider answered
// that it is not available. It returns nil otherwise.
func (p *provider) down() error {
	name := "the provider " + display.Echo(p.issuer)
	switch {
	case errors.Is(p.failed, httpfetch.ErrRefused):
		return &Error{name + " cannot be asked: " + display.Excerpt(httpfetch.Plain(p.failed).Error()), "ask the operator of the server whether this is its provider"}
	case p.failed != nil:
		return &Error{name + " cannot be reached: " + display.Excerpt(httpfetch.Plain(p.failed).Error()), "try again later"}
	case p.status == http.StatusTooManyRequests, p.status >= http.StatusInternalServerError:
		return &Error{fmt.Sprintf("%s answers %d %s", name, p.status, http.StatusText(p.status)), "try again later"}
	}
	return nil
}
