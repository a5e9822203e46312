package reach

import (
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

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

// The longest wait after status 429, and the largest number of waits. A server with limits asks
// for seconds; one that asks for more refuses the check.
const (
	maxRetryWait = time.Minute
	maxRetries   = 5
)

// retryTransport repeats a request after status 429 with Retry-After. It returns the answer if
// the header is missing or asks for more than maxRetryWait, after maxRetries, and if the body
// cannot be sent again.
type retryTransport struct{ next http.RoundTripper }

func (p *retryTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	for waits := 0; ; waits++ {
		resp, err := p.next.RoundTrip(r)
		if err != nil || resp.StatusCode != http.StatusTooManyRequests || waits == maxRetries {
			return resp, err
		}
		wait, ok := retryAfter(resp.Header.Get("Retry-After"), time.Now())
		if !ok || r.Body != nil && r.Body != http.NoBody && r.GetBody == nil {
			return resp, nil
		}
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
		resp.Body.Close()
		select {
		case <-time.After(wait):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
		r = r.Clone(r.Context())
		if r.GetBody != nil {
			if r.Body, err = r.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}

// retryAfter reads the Retry-After header: seconds, or a date (RFC 9110, 10.2.3).
func retryAfter(text string, now time.Time) (time.Duration, bool) {
	wait := time.Duration(0)
	if n, err := strconv.Atoi(text); err == nil {
		if n < 0 || n > int(maxRetryWait/time.Second) {
			return 0, false
		}
		wait = time.Duration(n) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		wait = max(at.Sub(now), 0)
	} else {
		return 0, false
	}
	return wait, wait <= maxRetryWait
}
