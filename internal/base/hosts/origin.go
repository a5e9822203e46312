// Package hosts reads the hosts and origins that a server answers to, as settings and flags
// give them.
package hosts

import (
	"net/url"
	"strings"
)

// What to write in place of a text that is no host or no origin.
const (
	WriteHost   = "write a name or address, with :port for one port alone"
	WriteOrigin = "write scheme://host or scheme://host:port, without a path"
)

// Host returns a host in lower case, with its port if it has one. It reports false if text
// cannot be a Host header.
func Host(text string) (string, bool) {
	name := strings.ToLower(strings.TrimSpace(text))
	return name, name != "" && !strings.ContainsAny(name, "/*@ ")
}

// Parse returns an origin as browsers send it. It reports false if text is none.
func Parse(text string) (string, bool) {
	u, err := url.Parse(strings.ToLower(strings.TrimSpace(text)))
	if err != nil || u.Scheme == "" || u.Host == "" || u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil || strings.Contains(u.Host, "*") {
		return "", false
	}
	return u.Scheme + "://" + u.Host, true
}
