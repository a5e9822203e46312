package httpfetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"syscall"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/hosts"
)

// ErrRefused matches the errors for requests that this client refuses to send: to private
// addresses, over plain http, after too many redirects.
var ErrRefused = errors.New("the request is refused")

type refusal struct{ message string }

func (r *refusal) Error() string        { return r.message }
func (r *refusal) Is(target error) bool { return target == ErrRefused }

func refuse(format string, args ...any) error {
	return &refusal{fmt.Sprintf(format, args...)}
}

// special lists the ranges outside the public network that [netip.Addr] does not recognize (IANA's
// registries of special-purpose addresses).
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),       // this network; Linux connects to the machine itself
	netip.MustParsePrefix("100.64.0.0/10"),   // behind a provider's NAT
	netip.MustParsePrefix("192.0.0.0/24"),    // of the IETF; metadata services of some clouds
	netip.MustParsePrefix("192.0.2.0/24"),    // documentation
	netip.MustParsePrefix("198.18.0.0/15"),   // benchmarks
	netip.MustParsePrefix("198.51.100.0/24"), // documentation
	netip.MustParsePrefix("203.0.113.0/24"),  // documentation
	netip.MustParsePrefix("240.0.0.0/4"),     // reserved, and broadcast
	netip.MustParsePrefix("64:ff9b:1::/48"),  // local-use NAT64
	netip.MustParsePrefix("100::/64"),        // discarded
	netip.MustParsePrefix("2001::/32"),       // Teredo, which hides an IPv4 address
	netip.MustParsePrefix("2001:2::/48"),     // benchmarks
	netip.MustParsePrefix("2001:db8::/32"),   // documentation
	netip.MustParsePrefix("3fff::/20"),       // documentation
	netip.MustParsePrefix("5f00::/16"),       // segment routing
	netip.MustParsePrefix("fec0::/10"),       // site-local, deprecated
}

// carriers lists the ranges whose addresses embed an IPv4 address, and the offset of that address.
var carriers = []struct {
	prefix netip.Prefix
	at     int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12}, // NAT64
	{netip.MustParsePrefix("2002::/16"), 2},     // 6to4
	{netip.MustParsePrefix("::/96"), 12},        // IPv4-compatible
}

// isPublic reports whether an address is in the public network.
func isPublic(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if !a.IsGlobalUnicast() || a.IsPrivate() {
		return false
	}
	for _, p := range special {
		if p.Contains(a) {
			return false
		}
	}
	if a.Is4() {
		return true
	}
	b := a.As16()
	for _, c := range carriers {
		if c.prefix.Contains(a) {
			return isPublic(netip.AddrFrom4([4]byte(b[c.at : c.at+4])))
		}
	}
	if b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe && b[8]&^2 == 0 { // ISATAP
		return isPublic(netip.AddrFrom4([4]byte(b[12:])))
	}
	return true
}

// dial connects to an address only if it is public, or if a person named its host and port. It
// checks the resolved address to which it connects, so a second DNS answer changes nothing.
func (c *Client) dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: patience, Resolver: c.options.Resolver, Control: func(_, at string, _ syscall.RawConn) error {
		if c.isNamed(address) || c.isProxy(address) {
			return nil
		}
		to, err := netip.ParseAddrPort(at)
		if err != nil || !isPublic(to.Addr()) {
			return private(address)
		}
		return nil
	}}
	return d.DialContext(ctx, network, address)
}

func private(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	return refuse("%s is in a private network, and only the source itself may be: name it as the source if you mean it", display.Quote(host))
}

func (c *Client) isNamed(address string) bool { return c.anywhere || address == c.named }

func (c *Client) isProxy(address string) bool {
	_, ok := c.proxies.Load(address)
	return ok
}

// checkURL checks a URL before any byte is sent. Behind a proxy it is the only check of an address:
// the proxy resolves names, and must refuse private addresses itself.
func (c *Client) checkURL(u *url.URL) error {
	address := addressOf(u)
	switch {
	case u.User != nil:
		return refuse("the address has a user name or a password in it")
	case u.Scheme == "http" && c.isNamed(address) && hosts.IsLocal(u.Hostname()):
		return nil
	case u.Scheme != "https":
		return refuse("it leads to an address that begins with %s, and only https is used", display.Quote(u.Scheme+":"))
	case c.isNamed(address):
		return nil
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && !isPublic(ip) || hosts.IsLocal(u.Hostname()) {
		return private(address)
	}
	return nil
}

// CheckTarget returns an error if a server that a person named may not refer to an address. It is
// for addresses to which another program connects later. CheckTarget resolves names on this
// machine. Behind a proxy, the proxy must refuse private addresses.
func (f *Fetcher) CheckTarget(ctx context.Context, named, to string) error {
	c, err := f.For(named)
	if err != nil {
		return err
	}
	u, err := url.Parse(to)
	if err != nil {
		return refuse("it leads to something that is not an address")
	}
	if err := c.checkURL(u); err != nil || c.isNamed(addressOf(u)) {
		return err
	}
	resolver := f.options.Resolver
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	found, err := resolver.LookupNetIP(ctx, "ip", u.Hostname())
	if err != nil {
		return nil // git will not find the host either, except through a proxy
	}
	for _, ip := range found {
		if !isPublic(ip) {
			return private(addressOf(u))
		}
	}
	return nil
}

// addressOf returns the host and port of a URL.
func addressOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[u.Scheme]
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}
