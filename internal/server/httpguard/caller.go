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
	// Share identifies the client for its shares of limits. It is empty for a client without
	// limits.
	Share string
	// Remote is set if the sender must not learn the folders of this machine: if the sender has a
	// token, a policy is in force, or a proxy forwarded the request.
	Remote bool
}

// Caller returns the sender of a request with its permissions in the current state of access. ok is
// false if the token is unknown.
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

// know returns the principal of a token in the current state of access. The result is false if the
// token is unknown.
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

// shareOf returns the client's name for its shares of limits, or "" for a client without limits.
func shareOf(state *access.State, who access.Principal, address string) string {
	if unlimited(state, address) {
		return ""
	}
	return clientName(who.Subject, networkOf(address))
}

// unlimited reports whether an address has no limits: it is an address of this machine, and no
// tokens are required.
func unlimited(state *access.State, address string) bool {
	a, err := netip.ParseAddr(address)
	return err == nil && a.Unmap().IsLoopback() && state.Verifier == nil
}

// clientName returns a name for a client: its subject, or its network if the subject has no name.
func clientName(subject access.Subject, address string) string {
	if subject.Name == "" {
		return "address " + networkOf(address)
	}
	return "subject " + subject.Name
}

// addressOf returns the address of a request's sender without the port. It reads only RemoteAddr,
// in which [Guard.trustProxy] has put the address of a trusted proxy's client. It reads no header,
// since any client can write one.
func addressOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// networkOf returns the network by which a client without a name is identified: its IPv4 address,
// or the first 64 bits of its IPv6 address. One customer has all addresses with the same 64 bits.
func networkOf(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil || a.Unmap().Is4() {
		return address
	}
	p, _ := a.WithZone("").Prefix(64)
	return p.String()
}
