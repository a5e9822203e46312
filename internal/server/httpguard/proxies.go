package httpguard

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// behind gives a request that a trusted proxy passed on the address and the Host that its client
// has. What other senders say about that is not believed.
//
// The client is the last address in X-Forwarded-For that is not a trusted proxy's: each proxy
// adds the one that it saw, and what is before that is the client's own claim. X-Forwarded-Host
// counts only if Host is allowed too, which tells rebinding from a proxy that replaces Host.
func (g *Guard) behind(r *http.Request) {
	if len(g.o.Proxies) == 0 {
		return
	}
	peer, ok := parseAddress(r.RemoteAddr)
	if !ok || !g.isProxy(peer) {
		if r.Header["X-Forwarded-Proto"] != nil {
			r.Header["X-Forwarded-Proto"] = []string{""} // it still says that the request was passed on
		}
		return
	}
	at := peer
	hops := strings.Split(strings.Join(r.Header["X-Forwarded-For"], ","), ",")
	for i := len(hops) - 1; i >= 0 && g.isProxy(at); i-- {
		next, ok := parseAddress(hops[i])
		if !ok || next.IsLoopback() || next.IsUnspecified() { // no client of a proxy has such an address
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

// parseAddress reads an address with or without a port, brackets and a zone.
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
