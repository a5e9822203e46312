package words

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Kind is the class of a host. It depends only on the name of the host.
type Kind int

// The kinds.
const (
	Named     Kind = iota
	Transient      // a host of pastes, gists, dropped files, tunnels or short links
	Address        // a public IP address
	Punycode
	Nobody // an example, a placeholder, or this machine or network; see doc/scan.md
)

// maxHost is the length of the longest name that DNS can have.
const maxHost = 253

// Of returns the host of a URL or of a command's destination, and its kind. The host is "" if the
// text has no host, or if the host is a variable with an unknown value.
func Of(url string) (host string, kind Kind) {
	host = strings.ToLower(authority(url))
	if host == "" || len(host) > maxHost {
		return "", Named
	}
	if name, ok := variable(host); ok {
		if placeholderHosts.Has(strings.Trim(strings.ReplaceAll(name, "_", "-"), "-")) || strings.HasPrefix(name, "your") {
			return host, Nobody
		}
		return "", Named
	}
	if strings.ContainsAny(host, "<>{}[]%|\"'` ") {
		return host, Nobody
	}
	if addr, ok := address(host); ok {
		if unroutable(addr) {
			return addr.String(), Nobody
		}
		return addr.String(), Address
	}
	return host, kindOfName(host)
}

// IsLocal reports whether a host is this machine.
func IsLocal(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, ok := address(host)
	return ok && (addr.IsLoopback() || addr.IsUnspecified())
}

// IsPaste reports whether a URL leads to a single text at a paste host.
func IsPaste(host, url string) bool {
	if !pasteHosts.Has(strings.TrimPrefix(host, "www.")) {
		return false
	}
	_, rest, _ := strings.Cut(url, "://")
	_, file, _ := strings.Cut(rest, "/")
	return strings.Trim(file, "/") != "" && !strings.HasPrefix(file, "api") && !strings.HasPrefix(file, "doc")
}

// authority returns the host of a URL, of an scp address or of a bare name, as written.
func authority(text string) string {
	text = strings.Trim(text, " \t\r\n\"'")
	if scheme, rest, ok := strings.Cut(text, "://"); ok && !strings.ContainsAny(scheme, "/?#@") {
		if strings.EqualFold(scheme, "file") {
			return ""
		}
		text = rest
	} else if rest, ok := strings.CutPrefix(text, "//"); ok {
		text = rest
	} else if text == "" || strings.ContainsAny(text[:1], "/.~-") || strings.HasPrefix(text, "data:") || strings.HasPrefix(text, "mailto:") {
		return ""
	}
	if i := strings.IndexAny(text, "/?#\\"); i >= 0 {
		text = text[:i]
	}
	if i := strings.LastIndexByte(text, '@'); i >= 0 {
		text = text[i+1:]
	}
	if strings.HasPrefix(text, "[") {
		if inner, _, ok := strings.Cut(text[1:], "]"); ok && strings.Contains(inner, ":") {
			return inner
		}
	}
	if addr, err := netip.ParseAddr(text); err == nil {
		return addr.String()
	}
	if i := strings.IndexByte(text, ':'); i >= 0 && !strings.HasPrefix(text, "${") {
		text = text[:i]
	}
	if strings.Contains(text, "%") {
		if plain, err := url.PathUnescape(text); err == nil {
			text = plain
		}
	}
	return strings.TrimRight(text, ".")
}

// variable returns the name of the variable with which a host begins, in lower case, and whether
// the host contains a variable.
func variable(host string) (string, bool) {
	name, ok := strings.CutPrefix(host, "$")
	if !ok {
		return "", strings.Contains(host, "$")
	}
	name = strings.TrimLeft(name, "{(")
	if i := strings.IndexFunc(name, func(r rune) bool { return r != '_' && !('a' <= r && r <= 'z') && !('0' <= r && r <= '9') }); i >= 0 {
		name = name[:i]
	}
	return name, true
}

func kindOfName(host string) Kind {
	if isPlaceholderName(host) {
		return Nobody
	}
	if strings.IndexFunc(host, func(r rune) bool { return r >= 0x80 }) >= 0 || strings.HasPrefix(host, "xn--") || strings.Contains(host, ".xn--") {
		return Punycode
	}
	for rest := host; rest != ""; {
		if transient.Has(rest) {
			return Transient
		}
		if reserved.Has(rest) {
			return Nobody
		}
		_, rest, _ = strings.Cut(rest, ".")
	}
	labels := strings.Split(host, ".")
	if len(labels) == 1 {
		return Nobody // a name without a dot exists only in a local network
	}
	owner := labels[len(labels)-2]
	if len(labels) > 2 && secondLevel.Has(owner) {
		owner = labels[len(labels)-3]
	}
	owner = strings.ReplaceAll(owner, "_", "-")
	if placeholderHosts.Has(owner) || strings.HasPrefix(owner, "your-") || strings.HasPrefix(owner, "attacker-") || strings.Trim(owner, "x") == "" {
		return Nobody
	}
	return Named
}

// isPlaceholderName reports whether a name that is not ASCII cannot be a host: it contains quotes,
// brackets or an ellipsis, or neither a dot nor a number. Full-width digits and dots count, since
// programs read them as plain ones.
func isPlaceholderName(host string) bool {
	other, dot := false, false
	for _, r := range host {
		switch {
		case r == '…' || r >= 0x80 && unicode.In(r, unicode.Ps, unicode.Pe, unicode.Pi, unicode.Pf):
			return true
		case r == '.' || r == '。' || r == '．' || r == '｡' || unicode.IsNumber(r):
			dot = true
		}
		other = other || r >= 0x80
	}
	return other && !dot
}

// address parses an IP address in any form that programs accept. IPv4 may be written as one to four
// numbers, each decimal, octal or hexadecimal (inet_aton of POSIX).
func address(host string) (netip.Addr, bool) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return embedded(addr.WithZone("")), true
	}
	numbers := strings.Split(host, ".")
	if len(numbers) > 4 {
		return netip.Addr{}, false
	}
	var value uint64
	for i, number := range numbers {
		n, ok := addressNumber(number)
		last := i == len(numbers)-1
		if !ok || !last && n > 255 || last && n >= 1<<(8*(5-len(numbers))) {
			return netip.Addr{}, false
		}
		if last {
			value |= n
		} else {
			value |= n << (8 * (3 - i))
		}
	}
	return netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}), true
}

func addressNumber(text string) (uint64, bool) {
	base := 10
	if rest, ok := strings.CutPrefix(text, "0x"); ok {
		text, base = rest, 16
	} else if len(text) > 1 && text[0] == '0' {
		text, base = text[1:], 8
	}
	n, err := strconv.ParseUint(text, base, 32)
	return n, err == nil
}

// embedded returns the IPv4 address that an IPv6 address embeds: as a mapped address, or as an
// address of NAT64 (RFC 6052). Without one, it returns addr.
func embedded(addr netip.Addr) netip.Addr {
	if nat64.Contains(addr) {
		b := addr.As16()
		return netip.AddrFrom4([4]byte(b[12:]))
	}
	return addr.Unmap()
}

func unroutable(addr netip.Addr) bool {
	if addr.IsPrivate() || addr.IsLoopback() || addr.IsUnspecified() || addr.IsMulticast() || addr.IsLinkLocalUnicast() {
		return true
	}
	return slices.ContainsFunc(specialAddresses(), func(p netip.Prefix) bool { return p.Contains(addr) })
}
