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
// provider. private states whether the server is in a private network, as [Client.Watch] reports.
// Only then may these addresses be there too.
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

// Watch returns a context for a request to the named server. After the request, private reports
// whether the answer came from a private network. A proxy resolves names itself, so behind a proxy
// only the server's name or address counts.
func (c *Client) Watch(ctx context.Context) (watched context.Context, private func() bool) {
	var via atomic.Pointer[string]
	var local atomic.Bool
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(address string) { via.Store(&address) },
		GotConn: func(got httptrace.GotConnInfo) {
			at := got.Conn.RemoteAddr().String()
			if to := via.Load(); to != nil && c.isProxy(*to) {
				at = c.named
			}
			host, _, err := net.SplitHostPort(at)
			ip, parsed := netip.ParseAddr(host)
			local.Store(err == nil && (parsed == nil && !isPublic(ip) || hosts.IsLocal(host)))
		},
	}), local.Load
}
