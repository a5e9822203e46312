package httpguard

import (
	"net"
	"net/http"
	"net/netip"

	"github.com/knack-dev/knack/access"
)

// Caller is the sender of a request.
type Caller struct {
	access.Principal
	Token   string // empty if no token is required
	Address string // without the port; empty over stdio
	// Share names the client for its shares of limits. It is empty for a client without limits.
	Share string
	// Remote is true if the sender must not learn the folders of this machine. The sender then
	// has a token, a policy is in force, or a proxy forwarded the request.
	Remote bool
}

// Caller returns the sender of a request and its permissions in the current state of access. It
// reports false for an unknown token.
func (g *Guard) Caller(r *http.Request) (c Caller, ok bool) {
	state := g.o.Access.Now()
	c.Address = addressOf(r)
	if state.Verifier != nil {
		c.Token = tokenOf(r)
	}
	c.Principal, ok = state.Authenticate(r.Context(), c.Token)
	c.Share = shareOf(state, c.Principal, c.Address)
	c.Remote = c.Token != "" || state.Policy != nil || Forwarded(r.Header)
	return c, ok
}

// know returns the principal of a token in the current state of access.
func (g *Guard) know(r *http.Request, token string) (access.Principal, bool) {
	return g.o.Access.Now().Authenticate(r.Context(), token)
}

// Forwarded reports whether a proxy forwarded a request.
func Forwarded(h http.Header) bool {
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip", "Via"} {
		if len(h[name]) > 0 {
			return true
		}
	}
	return false
}

// shareOf returns the client's name for its shares of limits, empty for a client without limits.
func shareOf(state *access.State, who access.Principal, address string) string {
	if unlimited(state, address) {
		return ""
	}
	return clientName(who.Subject, networkOf(address))
}

// unlimited reports whether an address has no limits: an address of this machine, if no tokens
// are required.
func unlimited(state *access.State, address string) bool {
	a, err := netip.ParseAddr(address)
	return err == nil && a.Unmap().IsLoopback() && state.Verifier == nil
}

// clientName identifies a client by its subject, or by its network if the subject has no name.
func clientName(subject access.Subject, address string) string {
	if subject.Name == "" {
		return "address " + networkOf(address)
	}
	return "subject " + subject.Name
}

// addressOf returns the address of a request's sender without the port. The sender is the
// connection's peer, or a trusted proxy's client: any client can write the headers that name it.
func addressOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// networkOf identifies a client without a name by its address, or its first 64 bits for IPv6,
// because one customer has all addresses below them.
func networkOf(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil || a.Unmap().Is4() {
		return address
	}
	p, _ := a.WithZone("").Prefix(64)
	return p.String()
}
