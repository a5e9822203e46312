// Package httpfetch requests files from skill servers over https.
//
// A server that a person names may be in a private network. A server to which another server
// refers, in a redirect or an index, may not be there. Otherwise a stranger's page could make knack
// send requests to machines behind a firewall.
package httpfetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"maps"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"
)

const (
	// patience is how long a server may send nothing.
	patience = 30 * time.Second
	// slowest is the minimum average speed of an answer of known size, in bytes a second: 150
	// kbit/s. It applies after five minutes. maxTransfer bounds the time of any answer: 64 MiB at
	// that speed.
	slowest      = 150_000 / 8
	maxTransfer  = time.Hour
	maxRedirects = 5
	maxHeader    = 256 << 10 // bytes
)

// Options configure the connections to servers. The zero value connects directly.
type Options struct {
	// Proxy returns the proxy for a request, or nil. A command passes [http.ProxyFromEnvironment].
	Proxy func(*http.Request) (*url.URL, error)
	// Roots are the certificate authorities. If it is nil, the system's and SSL_CERT_FILE are used.
	Roots *x509.CertPool
	// Resolver looks up names. If it is nil, the system's resolver is used.
	Resolver *net.Resolver
	// Agent is the User-Agent header, such as "knack/1.2.0".
	Agent string
	// Credentials, if not nil, returns headers for requests to the origin that a person named. It
	// is called for each such request, since credentials may change. Other origins get no
	// credentials.
	Credentials func(ctx context.Context) (http.Header, error)
	// Login ends the message of a refused access. If it is "", the message says that knack sends no
	// credentials.
	Login string
}

// Fetcher has a client for each server that a person named. Its methods are safe for concurrent
// use.
type Fetcher struct {
	options Options
	mu      sync.Mutex
	clients map[string]*Client
}

// New returns a fetcher. It connects to no server.
func New(o Options) *Fetcher { return &Fetcher{options: o, clients: map[string]*Client{}} }

// With returns a fetcher with the same settings but other [Options.Credentials].
func (f *Fetcher) With(credentials func(ctx context.Context) (http.Header, error)) *Fetcher {
	o := f.options
	o.Credentials = credentials
	return New(o)
}

// For returns the client for a server, given its https address or an http address on this machine.
// Clients share no connections, so a permission for one server does not apply to another.
func (f *Fetcher) For(address string) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return nil, refuse("the address is not an https: address")
	}
	named := addressOf(u)
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.clients[named]
	if c == nil {
		c = newClient(f.options, named)
		c.scheme = u.Scheme
		f.clients[named] = c
	}
	return c, c.checkURL(u)
}

// Close closes idle connections.
func (f *Fetcher) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.clients {
		c.base.CloseIdleConnections()
	}
}

// Client sends requests to one server and to servers to which that server refers.
type Client struct {
	options Options
	named   string // host and port
	scheme  string // of the address that a person named
	// anywhere allows all addresses in private networks.
	anywhere bool
	proxies  sync.Map
	base     *http.Transport
}

func newClient(o Options, named string) *Client {
	c := &Client{options: o, named: named}
	c.base = &http.Transport{
		Proxy:                  c.proxy,
		DialContext:            c.dial,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: o.Roots},
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // digests are of the served bytes
		TLSHandshakeTimeout:    patience,
		ResponseHeaderTimeout:  patience,
		IdleConnTimeout:        patience,
		MaxIdleConnsPerHost:    8,
		MaxResponseHeaderBytes: maxHeader,
	}
	return c
}

// proxy returns the proxy of a request. It records the proxy's address, because a proxy may be in a
// private network.
func (c *Client) proxy(r *http.Request) (*url.URL, error) {
	if c.options.Proxy == nil {
		return nil, nil
	}
	u, err := c.options.Proxy(r)
	if u != nil {
		c.proxies.Store(addressOf(u), true)
	}
	return u, err
}

// HTTP returns the client as an [http.Client]. Each request and each redirect passes the checks of
// this package, and a request waits if the server asks it to. The answer fails if no byte comes for
// 30 seconds.
func (c *Client) HTTP() *http.Client {
	return &http.Client{Transport: c, CheckRedirect: c.redirect}
}

// RoundTrip implements [http.RoundTripper].
func (c *Client) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := c.checkURL(r.URL); err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, err
	}
	if c.options.Agent != "" && r.Header.Get("User-Agent") == "" {
		r = r.Clone(r.Context())
		r.Header.Set("User-Agent", c.options.Agent)
	}
	if c.options.Credentials != nil && r.URL.Scheme == c.scheme && addressOf(r.URL) == c.named {
		headers, err := c.options.Credentials(r.Context())
		if err != nil {
			if r.Body != nil {
				r.Body.Close()
			}
			return nil, err
		}
		r = r.Clone(r.Context())
		maps.Copy(r.Header, headers)
	}
	return Patiently(r, c.send)
}

// redirect checks a redirect. Credentials go to no other host and port, not even to a subdomain.
func (c *Client) redirect(r *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return refuse("it redirects more than %d times", maxRedirects)
	}
	if err := c.checkURL(r.URL); err != nil {
		return err
	}
	r.Header.Del("Referer") // the query of the Referer may have a secret
	if r.URL.Scheme != via[0].URL.Scheme || addressOf(r.URL) != addressOf(via[0].URL) {
		for _, secret := range []string{"Authorization", "Cookie", "Cookie2", "Proxy-Authorization", "Www-Authenticate"} {
			r.Header.Del(secret)
		}
	}
	return nil
}
