// Package hosts parses the hosts and origins that a server accepts, from settings and flags.
package hosts

import (
	"net/url"
	"strings"
)

// The fixes for a text that is not a host or not an origin.
const (
	WriteHost   = "write a name or address, with :port for one port alone"
	WriteOrigin = "write scheme://host or scheme://host:port, without a path"
)

// Host returns a host in lower case, with its port if present. It reports false if text cannot be
// a Host header.
func Host(text string) (string, bool) {
	name := strings.ToLower(strings.TrimSpace(text))
	return name, name != "" && !strings.ContainsAny(name, "/*@ ")
}

// Parse returns an origin in the form that browsers send. It reports false if text is not an
// origin.
func Parse(text string) (string, bool) {
	u, err := url.Parse(strings.ToLower(strings.TrimSpace(text)))
	if err != nil || u.Scheme == "" || u.Host == "" || u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil || strings.Contains(u.Host, "*") {
		return "", false
	}
	return u.Scheme + "://" + u.Host, true
}
