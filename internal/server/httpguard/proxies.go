package httpguard

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// trustProxy replaces a request's address and Host with the client's, if a trusted proxy forwarded
// the request. It ignores the headers of other senders.
//
// The client's address is the last one in X-Forwarded-For that is not a trusted proxy's. Each proxy
// appends the address that it saw, and any earlier address is a mere claim of the client.
// X-Forwarded-Host counts only if Host is allowed too, which distinguishes a proxy that replaces
// Host from DNS rebinding.
func (g *Guard) trustProxy(r *http.Request) {
	if len(g.o.Proxies) == 0 {
		return
	}
	peer, ok := parseAddress(r.RemoteAddr)
	if !ok || !g.isProxy(peer) {
		if r.Header["X-Forwarded-Proto"] != nil {
			r.Header["X-Forwarded-Proto"] = []string{""} // the header still marks the request as forwarded
		}
		return
	}
	at := peer
	hops := strings.Split(strings.Join(r.Header["X-Forwarded-For"], ","), ",")
	for i := len(hops) - 1; i >= 0 && g.isProxy(at); i-- {
		next, ok := parseAddress(hops[i])
		if !ok || next.IsLoopback() || next.IsUnspecified() { // the client of a proxy never has such an address
			break
		}
		at = next
	}
	if at != peer {
		r.RemoteAddr = net.JoinHostPort(at.String(), "0")
	}
	if host, _, _ := strings.Cut(r.Header.Get("X-Forwarded-Host"), ","); host != "" && g.allowsHost(r.Host) {
		r.Host = strings.TrimSpace(host)
	}
}

func (g *Guard) isProxy(at netip.Addr) bool {
	return slices.ContainsFunc(g.o.Proxies, func(p netip.Prefix) bool { return p.Contains(at) })
}

// parseAddress parses an IP address with or without a port, brackets and a zone.
func parseAddress(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	at, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	if err != nil {
		var both netip.AddrPort
		both, err = netip.ParseAddrPort(text)
		at = both.Addr()
	}
	return at.Unmap().WithZone(""), err == nil
}
