package model

import (
	"net/url"
	"strings"
)

const (
	redacted = "[redacted]"
	// prefix is how much of a key makes a word of a message one of it: some endpoints repeat the
	// beginning of a wrong key.
	prefix = 8
	// quoteLength is how much of a request's text in a message makes it a quote.
	quoteLength = 40
)

// redactor returns what takes the key, and the secrets of an address, out of a text.
func redactor(key string, at *url.URL) func(string) string {
	secrets := []string{key}
	if password, ok := at.User.Password(); ok {
		secrets = append(secrets, password, url.QueryEscape(password), url.PathEscape(password))
	}
	if name := at.User.Username(); name != "" {
		secrets = append(secrets, name)
	}
	for _, values := range at.Query() {
		for _, v := range values {
			secrets = append(secrets, v, url.QueryEscape(v))
		}
	}
	return func(s string) string {
		for _, secret := range secrets {
			if len(secret) >= prefix {
				s = redactWords(s, secret)
			} else if secret == key && key != "" {
				s = strings.ReplaceAll(s, key, redacted)
			}
		}
		return s
	}
}

// redactWords takes out the secret, and each word in which its beginning is.
func redactWords(s, secret string) string {
	s = strings.ReplaceAll(s, secret, redacted)
	for from := 0; ; {
		i := strings.Index(s[from:], secret[:prefix])
		if i < 0 {
			return s
		}
		i += from
		end := strings.IndexAny(s[i:], " \t\r\n\"'`,;<>")
		if end < 0 {
			end = len(s) - i
		}
		s = s[:i] + redacted + s[i+end:]
		from = i + len(redacted)
	}
}

// withoutRequest cuts a message where it begins to repeat a text of the request.
func withoutRequest(message string, r Request) string {
	if message == "" {
		return ""
	}
	cut := func(text string) {
		text = oneLine(text)
		for _, form := range []string{text, strings.Trim(string(quoted(text)), `"`)} {
			if len(form) < quoteLength {
				continue
			}
			if i := strings.Index(message, form[:quoteLength]); i >= 0 {
				message = message[:i] + "…"
			}
		}
	}
	cut(r.System)
	for _, m := range r.Messages {
		cut(m.Text)
		for _, result := range m.Results {
			cut(result.Text)
		}
	}
	return message
}
