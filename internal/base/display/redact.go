package display

import (
	"net/url"
	"strings"

	"github.com/knack-dev/knack/internal/base/lazyregexp"
)

// This file implements the secret boundary of contract 004. The contract states which parts of a
// caller's URI an answer may repeat.

const redacted = "[redacted]"

// tokenLike and named match text that looks like a secret: known prefixes of access tokens, and
// named credentials. longRun matches a long run of characters. The run counts as a secret if it has
// letters and digits.
var (
	tokenLike = lazyregexp.New(`(?i:gh[pousr]_|github_pat_|glpat-|xox[a-z]-|ya29\.|(?:^|[^a-z0-9])(?:sk-|hf_|npm_)).|(?:AKIA|ASIA|AIza)[A-Za-z0-9]|knack_[A-Za-z0-9_-]{43}|(?:^|[^A-Za-z0-9])eyJ.`)
	named     = lazyregexp.New(`(?i)(?:api[_-]?key|access[_-]?key|private[_-]?key|secret|token|password|passwd|passphrase|pwd|credentials?|auth|authorization|bearer|basic)["']?[\s+]*[:=][\s+]*[^\s]|(?:^|[^a-z])(?:bearer|basic)[\s+]+[^\s]`)
	percent   = lazyregexp.New(`%[0-9A-Fa-f]{2}`)
	longRun   = lazyregexp.New(`[A-Za-z0-9_+=]{24,}`)
	anyScheme = lazyregexp.New(`^[A-Za-z][A-Za-z0-9+.-]*$`)
)

// RedactURI returns a URI in a form for answers, errors and logs. The result is one line of at most
// [EchoLimit] bytes, without userinfo, query and fragment. "[redacted]" replaces each segment that
// may have a token. Everything up to the last "@" counts as userinfo.
func RedactURI(s string) string {
	head, rest, ok := strings.Cut(s, "://")
	if head += "://"; !ok || !anyScheme().MatchString(strings.TrimSuffix(strings.TrimSpace(head), "://")) {
		head, rest = "", s
	}
	at, end := strings.LastIndexByte(rest, '@'), strings.IndexAny(rest, "?#")
	switch {
	case end >= 0 && at > end: // the @ may belong to userinfo or to a query
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

// RedactWords returns the words of a command line with "[redacted]" for each secret. A word counts
// as a secret if it looks like one, follows a flag such as --token, or has a URI that [RedactURI]
// changes.
func RedactWords(words []string) []string {
	out := make([]string, len(words))
	flag := ""
	for i, w := range words {
		isPath := strings.ContainsAny(w, `/\`) // a long run in a path need not be a secret
		isURI := strings.Contains(w, "://")
		switch out[i] = w; {
		case tokenLike().MatchString(w), named().MatchString(w), flag != "" && named().MatchString(flag+"="+w),
			isURI && RedactURI(w) != w, !isPath && hasSecret(w):
			out[i] = redacted
		}
		if flag = ""; strings.HasPrefix(w, "-") && !strings.Contains(w, "=") {
			flag = w
		}
	}
	return out
}

// decoded decodes valid percent-encoding and leaves the rest of a text unchanged.
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
