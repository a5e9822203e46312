package reach

import (
	"net/http"
	"net/url"

	"github.com/knack-dev/knack/internal/base/httpfetch"
	"github.com/knack-dev/knack/skillsext"
)

// Client returns an HTTP client for one server. It waits when the server asks it to, sends the
// token only to that server, and calls exceeded if an answer exceeds a bound.
func Client(u *url.URL, token string, next http.RoundTripper, exceeded func(error)) *http.Client {
	return &http.Client{
		Transport: &retryTransport{&skillsext.Bounded{Next: &tokenBearer{token: token, host: u.Host, next: next}, Exceeded: exceeded}},
		// A redirect leads to another server, which the user did not name.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// tokenBearer sends a token to one host.
type tokenBearer struct {
	token, host string
	next        http.RoundTripper
}

func (t *tokenBearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.token != "" && r.URL.Host == t.host {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+t.token)
	}
	return t.next.RoundTrip(r)
}

// retryTransport repeats a request that a server asks to repeat later.
type retryTransport struct{ next http.RoundTripper }

func (p *retryTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	return httpfetch.Patiently(r, p.next.RoundTrip)
}
