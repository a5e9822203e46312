// Package reference defines the normal form of references to sources. Trust rules, locks,
// credentials and the store compare this form. Two spellings of one place have one normal form.
package reference

import (
	"net/netip"
	"strings"

	"github.com/knack-dev/knack/internal/base/hosts"
	"github.com/knack-dev/knack/internal/base/lazyregexp"
)

var repository = lazyregexp.New(`^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*$`)

// IsRepository reports whether a registry can have a repository of this name.
func IsRepository(name string) bool { return repository().MatchString(name) }

// defaults are the default ports of the schemes.
var defaults = map[string]string{"oci": "443", "https": "443", "http": "80", "ssh": "22"}

// hub is the name of Docker Hub, and hubs has all of its hosts.
const hub = "docker.io"

var hubs = map[string]bool{hub: true, "index.docker.io": true, "registry-1.docker.io": true}

// Normal returns the normal form of a source, with its folder, tag or digest. In this form, a host
// is in lower case and has no final dot. A port has no leading zeros, and a default port is left
// out. A path encodes only the characters that need it. Docker Hub is docker.io, and its
// repositories without an owner are below library. A path of this machine stays unchanged.
func Normal(source string) string {
	prefix, rest := "", source
	if len(rest) > 4 && strings.EqualFold(rest[:4], "mcp:") {
		prefix, rest = "mcp:", rest[4:]
	}
	scheme, rest, ok := strings.Cut(rest, "://")
	switch scheme = strings.ToLower(scheme); {
	case !ok:
		prefix, scheme, rest = "", "", source
	case scheme == "file", scheme == "git+file":
		return source
	case scheme == "git+ssh":
		scheme = "ssh"
		prefix += "ssh://"
	default:
		prefix += scheme + "://"
		scheme = strings.TrimPrefix(scheme, "git+")
	}
	host, path, slash := strings.Cut(rest, "/")
	if scheme == "" { // HOST/PATH of git, git@HOST:PATH, or a path of this machine
		user, name, path, ok := scp(source)
		if ok {
			return user + "@" + Host("ssh", name) + ":" + path
		}
		if !slash || !isHost(host) {
			return source
		}
		scheme = "https"
	}
	user := ""
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		user, host = host[:i+1], host[i+1:]
	}
	host = Host(scheme, host)
	if !slash {
		return prefix + user + host
	}
	if scheme == "oci" {
		if name, _, _ := strings.Cut(path, "@"); host == hub && !strings.Contains(name, "/") && name != "**" {
			path = "library/" + path
		}
		return prefix + user + host + "/" + path
	}
	// The folder and the reference after a repository are not part of its address.
	end := len(path)
	if i := strings.Index(path, "//"); i >= 0 {
		end = i
	}
	for i := 1; i < end; i++ {
		if path[i] == '@' && path[i-1] != '/' {
			end = i
		}
	}
	return prefix + user + host + "/" + decoded(path[:end]) + path[end:]
}

// Host returns the normal form of a host with or without a port, for a scheme.
func Host(scheme, host string) string {
	name, port := strings.TrimRight(strings.ToLower(host), "."), ""
	if i := strings.LastIndexByte(name, ':'); i >= 0 && i+1 < len(name) && strings.Trim(name[i+1:], "0123456789") == "" && (strings.Count(name, ":") == 1 || strings.HasPrefix(name, "[") && name[i-1] == ']') {
		name, port = name[:i], name[i+1:]
		port = strings.TrimLeft(port[:len(port)-1], "0") + port[len(port)-1:]
	}
	name = strings.TrimRight(name, ".")
	if inner, ok := strings.CutPrefix(name, "["); ok {
		if ip, err := netip.ParseAddr(strings.TrimSuffix(inner, "]")); err == nil {
			if name = ip.Unmap().String(); strings.Contains(name, ":") {
				name = "[" + name + "]"
			}
		}
	}
	standard := defaults[scheme]
	if scheme == "oci" && hosts.IsLoopback(name) { // a registry on this machine answers http
		standard = defaults["http"]
	}
	if scheme == "oci" && hubs[name] && (port == "" || port == standard) {
		name = hub
	}
	if port == "" || port == standard {
		return name
	}
	return name + ":" + port
}

// IsOddAddress reports whether a host, with or without a port, is an IP address in another spelling
// than the usual one, such as 127.1, 0x7f000001 or 0177.0.0.1. Some programs connect to such an
// address, although a rule for its usual spelling does not match it. Only the names of IP addresses
// end in a number.
func IsOddAddress(host string) bool {
	name, _, _ := strings.Cut(host, ":")
	if inner, ok := strings.CutPrefix(host, "["); ok {
		name, _, _ = strings.Cut(inner, "]")
	} else {
		name = strings.TrimRight(name, ".")
		last := strings.ToLower(name[strings.LastIndexByte(name, '.')+1:])
		if digits, hex := strings.CutPrefix(last, "0x"); last == "" || strings.Trim(last, "0123456789") != "" && (!hex || strings.Trim(digits, "0123456789abcdef") != "") {
			return false
		}
	}
	_, err := netip.ParseAddr(name)
	return err != nil
}

// isHost reports whether the first part of HOST/PATH is a host, not part of a path.
func isHost(text string) bool {
	_, port, has := strings.Cut(strings.TrimPrefix(text, "["), ":")
	if text == "" || text[0] == '.' || text[0] == '~' || strings.Contains(text, `\`) {
		return false
	}
	if text[0] == '[' {
		return true
	}
	return has && port != "" && strings.Trim(port, "0123456789") == "" || !has && strings.Contains(text, ".")
}

// scp splits git@HOST:PATH into its parts.
func scp(source string) (user, host, path string, ok bool) {
	before, path, ok := strings.Cut(source, ":")
	user, host, at := strings.Cut(before, "@")
	if !ok || !at || user == "" || strings.Contains(before, "/") {
		return "", "", "", false
	}
	return user, host, path, true
}

// decoded returns a path in which only the characters that need it are encoded, with capital
// digits.
func decoded(path string) string {
	if !strings.Contains(path, "%") {
		return path
	}
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		high, low := -1, -1
		if path[i] == '%' && i+2 < len(path) {
			high, low = digit(path[i+1]), digit(path[i+2])
		}
		switch {
		case path[i] != '%':
			b.WriteByte(path[i])
			continue
		case high < 0 || low < 0:
			return path // it is not encoded
		}
		if c := byte(high<<4 | low); isUnreserved(c) {
			b.WriteByte(c)
		} else {
			b.WriteString(strings.ToUpper(path[i : i+3]))
		}
		i += 2
	}
	return b.String()
}

// digit returns the value of a hexadecimal digit, or -1.
func digit(c byte) int {
	if c >= 'A' && c <= 'F' {
		c += 'a' - 'A'
	}
	return strings.IndexByte("0123456789abcdef", c)
}

// isUnreserved reports whether a character means the same with and without encoding (RFC 3986,
// section 2.3).
func isUnreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0
}
