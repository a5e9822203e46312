package httpfetch

import (
	"context"
	"net"
	"net/http/httptrace"
	"net/netip"
	"sync/atomic"

	"github.com/knack-dev/knack/internal/base/hosts"
)

// Led returns a client for addresses in a server's answers, such as the address of its login
// provider. They may be in a private network only if the server itself is, as [Client.Watch]
// reports.
func (f *Fetcher) Led(private bool) *Client {
	key := map[bool]string{false: "led", true: "led privately"}[private]
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.clients[key]
	if c == nil {
		c = newClient(f.options, "")
		c.anywhere = private
		f.clients[key] = c
	}
	return c
}

// Watch returns a context for a request to the named server. private reports whether the last
// answer came from a private network. Behind a proxy, which resolves names, it goes by the name or
// the address of the server alone.
func (c *Client) Watch(ctx context.Context) (watched context.Context, private func() bool) {
	var via atomic.Pointer[string]
	var is atomic.Bool
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(address string) { via.Store(&address) },
		GotConn: func(got httptrace.GotConnInfo) {
			at := got.Conn.RemoteAddr().String()
			if to := via.Load(); to != nil && c.isProxy(*to) {
				at = c.named
			}
			host, _, err := net.SplitHostPort(at)
			ip, parsed := netip.ParseAddr(host)
			is.Store(err == nil && (parsed == nil && !isPublic(ip) || hosts.IsLocal(host)))
		},
	}), is.Load
}
