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
	// Share names the client that shares of limits are counted for, empty for a client
	// that may use all.
	Share string
	// Remote: the sender must not learn the folders of this machine. It bears a token, a
	// policy is in force, or a proxy passed the request on.
	Remote bool
}

// Caller returns the sender of a request and what the sender may see, by the state of access
// now in force. It reports false for an unknown token.
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

// know returns the principal of a token, by the state of access now in force.
func (g *Guard) know(r *http.Request, token string) (access.Principal, bool) {
	return g.o.Access.Now().Authenticate(r.Context(), token)
}

// Forwarded reports whether a proxy passed a request on.
func Forwarded(h http.Header) bool {
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip", "Via"} {
		if len(h[name]) > 0 {
			return true
		}
	}
	return false
}

// shareOf returns the name that a client's share of limits is counted under, empty for a
// client that is not limited.
func shareOf(state *access.State, who access.Principal, address string) string {
	if unlimited(state, address) {
		return ""
	}
	return clientName(who.Subject, networkOf(address))
}

// unlimited reports whether an address has no limits: this machine's, without tokens.
func unlimited(state *access.State, address string) bool {
	a, err := netip.ParseAddr(address)
	return err == nil && a.Unmap().IsLoopback() && state.Verifier == nil
}

// clientName distinguishes clients: by subject, or by network if the subject has no name.
func clientName(subject access.Subject, address string) string {
	if subject.Name == "" {
		return "address " + networkOf(address)
	}
	return "subject " + subject.Name
}

// addressOf is the address of a request's sender, without the port: of the connection, or of the
// client of a trusted proxy. Any client can write the headers that name it.
func addressOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// networkOf distinguishes clients without a name: by address, or for IPv6 by its first 64
// bits, because one customer has all addresses below them.
func networkOf(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil || a.Unmap().Is4() {
		return address
	}
	p, _ := a.WithZone("").Prefix(64)
	return p.String()
}
