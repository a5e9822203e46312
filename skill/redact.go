package skill

import (
	"net/url"
	"strings"
)

// The secret boundary of contract 004: what is repeated of a text that a caller
// gave where a URI belongs.

const redacted = "[redacted]"

// tokenLike finds what looks like a secret: the common prefixes of access tokens,
// whatever follows; what is named as a credential; and long runs, of which [hasSecret] wants letters and digits.
var (
	tokenLike = later(`(?i:gh[pousr]_|github_pat_|glpat-|xox[a-z]-|ya29\.|(?:^|[^a-z0-9])(?:sk-|hf_|npm_)).|(?:AKIA|ASIA|AIza)[A-Za-z0-9]|knack_[A-Za-z0-9_-]{43}|(?:^|[^A-Za-z0-9])eyJ.`)
	named     = later(`(?i)(?:api[_-]?key|access[_-]?key|private[_-]?key|secret|token|password|passwd|passphrase|pwd|credentials?|auth|authorization|bearer|basic)["']?[\s+]*[:=][\s+]*[^\s]|(?:^|[^a-z])(?:bearer|basic)[\s+]+[^\s]`)
	percent   = later(`%[0-9A-Fa-f]{2}`)
	longRun   = later(`[A-Za-z0-9_+=]{24,}`)
	anyScheme = later(`^[A-Za-z][A-Za-z0-9+.-]*$`)
)

// RedactURI is what an answer, an error or a log repeats of a URI: without
// userinfo, query and fragment, "[redacted]" for each segment with anything like
// a token in it, cut at [EchoLimit] bytes and fit for one line. What could
// be userinfo is taken for it: everything up to the last "@".
func RedactURI(s string) string {
	head, rest, ok := strings.Cut(s, "://")
	if head += "://"; !ok || !anyScheme().MatchString(strings.TrimSuffix(strings.TrimSpace(head), "://")) {
		head, rest = "", s
	}
	at, end := strings.LastIndexByte(rest, '@'), strings.IndexAny(rest, "?#")
	switch {
	case end >= 0 && at > end: // of userinfo, or of a query: nothing is sure to be neither
		rest = redacted
	case end >= 0:
		rest = rest[at+1 : end]
	default:
		rest = rest[at+1:]
	}
	segments := strings.Split(CutBytes(head+rest, 16*EchoLimit), "/")
	for i, text := range segments {
		if hasSecret(text) || hasSecret(decoded(text)) {
			segments[i] = redacted
		}
	}
	return Echo(strings.Join(segments, "/"))
}

// decoded decodes what is well encoded and leaves the rest, whatever it is.
func decoded(text string) string {
	return percent().ReplaceAllStringFunc(text, func(code string) string {
		plain, _ := url.PathUnescape(code)
		return plain
	})
}

func hasSecret(text string) bool {
	if tokenLike().MatchString(text) || named().MatchString(text) {
		return true
	}
	for _, run := range longRun().FindAllString(text, -1) {
		if strings.ContainsAny(run, "0123456789") && strings.IndexFunc(run, isASCIILetter) >= 0 {
			return true
		}
	}
	return false
}

func isASCIILetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
