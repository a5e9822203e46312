package mcpclient

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/internal/base/httpfetch"
	"github.com/knack-dev/knack/internal/llm/reach"
	"github.com/knack-dev/knack/skillsext"
)

// address is a transport to a server over HTTP.
type address struct {
	mcp.StreamableClientTransport
	name    string
	at      *url.URL
	token   bool
	key     string // the configuration key that names the token
	answers *reach.Watched

	mu       sync.Mutex
	exceeded error // the bound that an answer exceeded
	status   int   // of the last answer
}

func newAddress(s Server, o Options, hidden secrets) (*address, error) {
	at, err := url.Parse(s.URL)
	if err != nil {
		return nil, &Error{Server: s.Name, What: "its address is not valid", Fix: "check servers." + s.Name + ".url"}
	}
	client, err := o.HTTP(s.URL)
	if err != nil {
		return nil, &Error{Server: s.Name, What: "its address cannot be used: " + safeLine(httpfetch.Plain(err).Error()), Fix: "check servers." + s.Name + ".url"}
	}
	a := &address{name: s.Name, at: at, token: hidden.token != "", key: "servers." + s.Name + ".token-env"}
	if s.TokenFile != "" {
		a.key = "servers." + s.Name + ".token-file"
	}
	headers := http.Header{}
	for name, value := range s.Headers {
		headers.Set(name, value)
	}
	if a.token {
		headers.Set("Authorization", "Bearer "+hidden.token)
	}
	a.answers = &reach.Watched{Next: &sender{headers: headers, next: client.Transport, address: a}}
	a.StreamableClientTransport = mcp.StreamableClientTransport{
		Endpoint: s.URL, DisableStandaloneSSE: true, MaxRetries: -1, MaxEventSize: maxMessage,
		HTTPClient: &http.Client{
			Transport: &skillsext.Bounded{Next: a.answers, Time: s.Timeout, Size: maxMessage, Exceeded: a.fail},
			// A redirect leads to another server, which the user did not name.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	return a, nil
}

// sender adds the server's headers to requests, and records the status of the last answer.
type sender struct {
	headers http.Header
	next    http.RoundTripper
	address *address
}

func (s *sender) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host == s.address.at.Host && r.URL.Scheme == s.address.at.Scheme {
		r = r.Clone(r.Context())
		for name, values := range s.headers {
			r.Header[name] = values
		}
	}
	resp, err := s.next.RoundTrip(r)
	s.address.mu.Lock()
	defer s.address.mu.Unlock()
	if s.address.status = 0; err == nil {
		s.address.status = resp.StatusCode
	}
	return resp, err
}

func (a *address) fail(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.exceeded = err
}

// end does nothing, since no connection outlives its request.
func (a *address) end(context.Context) {}

// failure implements [line].
func (a *address) failure(err error) (what, fix string) {
	a.mu.Lock()
	over, status := a.exceeded, a.status
	a.exceeded = nil
	a.mu.Unlock()
	var slow late
	switch {
	case errors.As(err, &slow):
		return "", ""
	case over != nil:
		return over.Error(), ""
	case errors.Is(err, httpfetch.ErrRefused):
		return httpfetch.Plain(err).Error(), "check servers." + a.name + ".url"
	}
	switch what, fix = a.answers.Failure(a.at, err, a.token, a.key); {
	case what == "":
		return "", ""
	case status == http.StatusUnauthorized && !a.token:
		fix = "name the variable that has it with " + a.key
	case status == http.StatusForbidden:
		fix = "its token may not give access; ask the server's operator"
	case status >= 300 && status < 400:
		fix = "write that address into servers." + a.name + ".url if you trust it"
	}
	return what + " at " + httpfetch.Shown(a.at), fix
}
