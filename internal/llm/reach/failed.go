package reach

import (
	"net/url"
	"strings"
)

const redacted = "[redacted]"

// Failed returns the text of a failure to reach a server, without secrets. A URL can have a token
// in its userinfo, query or fragment, and the underlying error may repeat each.
func Failed(u *url.URL, err error) string {
	text := err.Error()
	hide := func(secret, suffix string) {
		if secret != "" {
			text = strings.ReplaceAll(text, secret+suffix, redacted+suffix)
		}
	}
	hide(u.RawQuery, "")
	hide(u.EscapedFragment(), "")
	safe, user := *u, ""
	if safe.User = nil; u.User != nil {
		user = redacted + "@"
		password, _ := u.User.Password()
		escaped, _, _ := strings.Cut(u.User.String(), ":")
		hide(u.User.String(), "@")
		hide(escaped, ":***@") // as net/http writes it
		hide(escaped, "@")
		for _, part := range []string{password, u.User.Username(), escaped} {
			if len(part) >= 4 { // a shorter one would match inside other words
				hide(part, "")
			}
		}
	}
	if safe.RawQuery != "" {
		safe.RawQuery = redacted
	}
	if safe.Fragment != "" {
		safe.Fragment, safe.RawFragment = redacted, redacted
	}
	return strings.Replace(safe.String(), "://", "://"+user, 1) + ": " + text
}
