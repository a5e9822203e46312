package skill

import (
	"errors"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Scheme is the scheme of every skill URI (SEP-2640).
const Scheme = "skill://"

// MainFile is the name under which a skill's main file is served, in any spelling on disk.
const MainFile = "SKILL.md"

// URI addresses one file or folder of one skill: skill://<path>/<file>. A URI value is always
// valid, because it is checked when it is made. The zero URI addresses nothing.
type URI struct{ text, path string }

// errURI is returned for a text that is not a skill URI.
var errURI = errors.New("not a skill:// URI")

// NewURI returns the URI of a slash-separated path. The path must satisfy [CleanPath].
func NewURI(path string) (URI, error) {
	if err := CleanPath(path); err != nil {
		return URI{}, err
	}
	if isPlainPath(path) {
		text := Scheme + path
		return URI{text, text[len(Scheme):]}, nil
	}
	var b strings.Builder
	b.Grow(len(Scheme) + len(path)) // nearly always the exact size, which saves memory because URIs are kept
	b.WriteString(Scheme)
	keep := inAuthority
	for seg := range strings.SplitSeq(path, "/") {
		if b.Len() > len(Scheme) { // no segment is empty
			b.WriteByte('/')
			keep = inSegment
		}
		escapeInto(&b, seg, keep)
	}
	text := b.String()
	if text[len(Scheme):] == path {
		path = text[len(Scheme):] // nearly always the case; text and path then share memory
	}
	return URI{text, path}, nil
}

// MainURI returns the URI of SKILL.md in the folder at a path after a prefix, which may be
// empty. Both together must satisfy [CleanPath].
func MainURI(prefix, path string) (URI, error) {
	slash := "/"
	if prefix == "" {
		slash = ""
	}
	text := Scheme + prefix + slash + path + "/" + MainFile
	if isPlainPath(text[len(Scheme):]) {
		return URI{text, text[len(Scheme):]}, nil // nearly always
	}
	return NewURI(text[len(Scheme):])
}

// ParseURI parses a client's URI. It decodes percent-encoding once, and the result must be a clean
// path. So it refuses an encoded slash, a dot segment, and a second layer of encoding that would
// decode to one of these. It also refuses query, fragment and userinfo.
func ParseURI(s string) (URI, error) {
	if len(s) < len(Scheme) || !strings.EqualFold(s[:len(Scheme)], Scheme) {
		return URI{}, errURI
	}
	rest := s[len(Scheme):]
	if strings.ContainsAny(rest, "?#\\") || !utf8.ValidString(rest) {
		return URI{}, errURI
	}
	if authority, _, _ := strings.Cut(rest, "/"); strings.Contains(authority, "@") {
		return URI{}, errURI
	}
	segments := strings.Split(rest, "/")
	for i, seg := range segments {
		dec, err := url.PathUnescape(seg)
		if err != nil || strings.Contains(dec, "/") {
			return URI{}, errURI
		}
		segments[i] = dec
	}
	u, err := NewURI(strings.Join(segments, "/"))
	if err != nil {
		return URI{}, errURI
	}
	return u, nil
}

// PlainURI removes from a text the parts that a skill's URI never has: user information, query and
// fragment. fault names the removed part, and the fix. Both results are "" if the rest is not a
// skill's URI, or if the text has no such part.
func PlainURI(s string) (plain, fault string) {
	if i := strings.IndexAny(s, "?#"); i >= 0 {
		if _, err := ParseURI(s[:i]); err == nil {
			if s[i] == '#' {
				return s[:i], "a skill's URI has no fragment: leave out # and the text after it, or write %23 where it belongs to a name"
			}
			return s[:i], "a skill's URI has no query: leave out ? and the text after it, or write %3F where it belongs to a name"
		}
	}
	if len(s) > len(Scheme) && strings.EqualFold(s[:len(Scheme)], Scheme) {
		authority, rest, _ := strings.Cut(s[len(Scheme):], "/")
		plain = Scheme + authority[strings.LastIndexByte(authority, '@')+1:] + "/" + rest
		if _, err := ParseURI(plain); err == nil && strings.Contains(authority, "@") {
			return plain, "a skill's URI has no user: leave out @ and the text before it, or write %40 where it belongs to a name"
		}
	}
	return "", ""
}

// String returns the canonical text. It is percent-encoded as RFC 3986 requires for an authority in
// the first segment, and for path segments in the others.
func (u URI) String() string { return u.text }

// Path returns the decoded path.
func (u URI) Path() string { return u.path }

// Plain reports whether a clean path needs no encoding in a URI.
func Plain(path string) bool {
	for i := range len(path) {
		if c := path[i]; c != '/' && !unreserved[c] {
			return false
		}
	}
	return true
}

// CleanPath returns an error if a slash-separated path cannot name a skill or a file in one. It
// refuses empty or dot segments, a backslash, NUL, a drive letter, and bytes that are not UTF-8. It
// also refuses percent-encoding that would become one of these when decoded twice.
func CleanPath(p string) error {
	if isPlainPath(p) {
		return nil
	}
	if p == "" || !utf8.ValidString(p) || strings.ContainsAny(p, "\\\x00") || hasDrive(p) {
		return ErrOutside
	}
	for seg := range strings.SplitSeq(p, "/") {
		if !cleanSegment(seg) {
			return ErrOutside
		}
		again, more := unescape(seg)
		for layer := 0; more; layer++ {
			if !cleanSegment(again) || strings.ContainsAny(again, "/\\\x00") || layer == maxLayers {
				return ErrOutside
			}
			again, more = unescape(again)
		}
	}
	return nil
}

// isPlainPath reports whether a path is made of unreserved characters (RFC 3986) and single inner
// slashes, and no segment begins with a dot. Such a path is clean, and needs no encoding in a URI.
func isPlainPath(p string) bool {
	before := byte('/')
	for i := range len(p) {
		c := p[i]
		if !inPlainPath[c] || before == '/' && (c == '/' || c == '.') {
			return false
		}
		before = c
	}
	return before != '/'
}

var inPlainPath = byteSet("/")

// maxLayers bounds the layers of percent-encoding of a segment. Only an attack has more layers.
const maxLayers = 4

func cleanSegment(seg string) bool { return seg != "" && seg != "." && seg != ".." }

// unescape removes one layer of percent-encoding, and reports whether there was one. Like a
// careless reader, it keeps invalid encoding.
func unescape(s string) (string, bool) {
	if !strings.Contains(s, "%") {
		return s, false
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(c))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String(), b.Len() < len(s)
}

func escapeInto(b *strings.Builder, seg string, keep *[256]bool) {
	const hex = "0123456789ABCDEF"
	from := 0
	for i := range len(seg) {
		if c := seg[i]; !keep[c] {
			b.WriteString(seg[from:i])
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
			from = i + 1
		}
	}
	b.WriteString(seg[from:])
}

var (
	// inSegment reports whether a byte is a pchar of RFC 3986.
	inSegment = byteSet("!$&'()*+,;=:@")
	// inAuthority reports whether a byte needs no encoding in the first segment, which generic URI
	// parsers read as a host. Such a byte is an unreserved character, or a sub-delimiter without a
	// meaning there.
	inAuthority = byteSet("!*'()")
	unreserved  = byteSet("")
)

// byteSet marks the unreserved characters of RFC 3986, and some others.
func byteSet(others string) *[256]bool {
	var t [256]bool
	for _, c := range []byte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~" + others) {
		t[c] = true
	}
	return &t
}
