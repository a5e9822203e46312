package model

import (
	"encoding/base64"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/base/display"
)

const (
	redacted = "[redacted]"
	// prefix is the number of a key's first characters that mark a word as part of the key. Some
	// endpoints repeat the beginning of a wrong key.
	prefix = 8
	// shortest is the minimum length of a secret in an address.
	shortest = 4
	// quoteLength is the length of a repeated text that counts as a quote of the request.
	quoteLength = 30 // letters and digits
)

// redactor returns a function that removes the key and the address's secrets from a text.
func redactor(key string, at *url.URL) func(string) string {
	secrets := []string{key}
	if password, ok := at.User.Password(); ok {
		basic := base64.StdEncoding.EncodeToString([]byte(at.User.Username() + ":" + password))
		secrets = append(secrets, password, url.QueryEscape(password), url.PathEscape(password), basic)
	}
	if name := at.User.Username(); name != "" {
		secrets = append(secrets, name)
	}
	for part := range strings.SplitSeq(at.Path, "/") {
		if display.RedactURI(part) != part {
			secrets = append(secrets, part)
		}
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
			} else if len(secret) >= shortest || secret == key && key != "" {
				s = strings.ReplaceAll(s, secret, redacted)
			}
		}
		return s
	}
}

// redactWords removes the secret, and each word that contains its beginning.
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

// withoutRequest cuts a message before the first text that it quotes from the request, even if the
// quotation is escaped.
func withoutRequest(message string, r Request) string {
	cut := func(text string) {
		letters, at := lettersOf(message)
		want, _ := lettersOf(display.CutBytes(text, 16*quoteLength))
		if len(want) < quoteLength {
			return
		}
		if i := strings.Index(letters, want[:quoteLength]); i >= 0 {
			message = strings.TrimSpace(message[:at[i]]) + "…"
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

// lettersOf returns the letters and digits of a string, and their positions. It skips JSON escapes.
func lettersOf(s string) (letters string, at []int) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '\\' && i+1 < len(s) && strings.IndexByte("nrt", s[i+1]) >= 0 {
			i++
		} else if c >= utf8.RuneSelf || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' {
			b.WriteByte(c)
			at = append(at, i)
		}
	}
	return b.String(), at
}
