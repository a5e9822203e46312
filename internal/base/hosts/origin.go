// Package hosts parses the hosts and origins that a server accepts, which settings and flags list.
// It also tells which hosts are this machine.
package hosts

import (
	"net/netip"
	"net/url"
	"strings"
)

// The fixes for a text that is not a host or not an origin.
const (
	WriteHost   = "write a name or address, with :port for one port alone"
	WriteOrigin = "write scheme://host or scheme://host:port, without a path"
)

// Host returns a host in lower case, with its port if text has one. It returns false if text cannot
// be a Host header.
func Host(text string) (string, bool) {
	name := strings.ToLower(strings.TrimSpace(text))
	return name, name != "" && !strings.ContainsAny(name, "/*@ ")
}

// Parse returns an origin in the form that browsers send. It returns false if text is not an
// origin.
func Parse(text string) (string, bool) {
	u, err := url.Parse(strings.ToLower(strings.TrimSpace(text)))
	if err != nil || u.Scheme == "" || u.Host == "" || u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil || strings.Contains(u.Host, "*") {
		return "", false
	}
	return u.Scheme + "://" + u.Host, true
}

// IsLoopback reports whether a host, given without its port, is this machine. It does no DNS
// look-up.
func IsLoopback(host string) bool {
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
}

// IsLocal reports whether a host is loopback ([IsLoopback]) or a name below localhost, which
// resolvers map to this machine.
func IsLocal(host string) bool {
	name := strings.TrimSuffix(strings.ToLower(host), ".")
	return IsLoopback(name) || strings.HasSuffix(name, ".localhost")
}
