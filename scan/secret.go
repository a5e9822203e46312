package scan

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"math"
	"slices"
	"strings"
)

// secrets notes private keys and tokens of known issuers.
func (s *scanner) secrets(p part) {
	for _, found := range secretsIn(p.text) {
		hidden := p.text[found.body:found.to]
		s.find(RuleSecret, p, found.from, found.to, fmt.Sprintf("%s: '%s…', %d characters", found.what, hidden[:shown], len(hidden)))
	}
}

// shown is how many characters of a secret a finding has.
const shown = 4

// secret is a private key or a token in a text.
type secret struct {
	what     string
	from, to int
	body     int // from here on it is secret: a key has a header in front
}

// hideSecrets cuts each secret of a text to its first characters.
func hideSecrets(text string) string {
	found := secretsIn(text)
	if len(found) == 0 {
		return text
	}
	var b strings.Builder
	at := 0
	for _, f := range found {
		if f.body < at {
			continue
		}
		b.WriteString(text[at : f.body+shown])
		b.WriteString("…")
		at = f.to
	}
	b.WriteString(text[at:])
	return b.String()
}

// secretsIn returns the secrets of a text in their order, without those in another.
func secretsIn(text string) (found []secret) {
	for i := range tokens {
		found = tokens[i].in(text, found)
	}
	found = keysIn(text, found)
	slices.SortFunc(found, func(a, b secret) int { return cmp.Or(a.from-b.from, b.to-a.to) })
	end := 0
	return slices.DeleteFunc(found, func(f secret) bool {
		inner := f.from < end
		end = max(end, f.to)
		return inner
	})
}

// token is the form of an issuer's tokens.
type token struct {
	issuer, prefix string
	least, most    int // characters behind the prefix
	alphabet       string
	has            string // is in the token
	digits         bool   // 8 to 10 digits before the prefix are part of the token
}

const (
	letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	digits  = "0123456789"
	alnum   = letters + digits
	hexes   = digits + "abcdef"
)

// tokens lists forms that issuers document, or that their own secret scanning looks for.
var tokens = []token{
	// AWS, IAM identifiers: AKIA is a key for a long time and ASIA one for a session; base32.
	{issuer: "AWS", prefix: "AKIA", least: 16, most: 16, alphabet: "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"},
	{issuer: "AWS", prefix: "ASIA", least: 16, most: 16, alphabet: "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"},
	// GitHub, authentication token formats.
	{issuer: "GitHub", prefix: "ghp_", least: 36, most: 36, alphabet: alnum},
	{issuer: "GitHub", prefix: "gho_", least: 36, most: 36, alphabet: alnum},
	{issuer: "GitHub", prefix: "ghu_", least: 36, most: 36, alphabet: alnum},
	{issuer: "GitHub", prefix: "ghs_", least: 36, most: 36, alphabet: alnum},
	{issuer: "GitHub", prefix: "ghr_", least: 36, most: 76, alphabet: alnum},
	{issuer: "GitHub", prefix: "github_pat_", least: 82, most: 82, alphabet: alnum + "_"},
	// GitLab, token prefixes. Routable tokens are longer, and have points.
	{issuer: "GitLab", prefix: "glpat-", least: 20, most: 300, alphabet: alnum + "_-."},
	// Slack, token types.
	{issuer: "Slack", prefix: "xoxb-", least: 36, most: 200, alphabet: alnum + "-"},
	{issuer: "Slack", prefix: "xoxp-", least: 36, most: 200, alphabet: alnum + "-"},
	{issuer: "Slack", prefix: "xoxa-", least: 36, most: 200, alphabet: alnum + "-"},
	{issuer: "Slack", prefix: "xoxe-", least: 36, most: 300, alphabet: alnum + "-"},
	{issuer: "Slack", prefix: "xoxr-", least: 36, most: 200, alphabet: alnum + "-"},
	{issuer: "Slack", prefix: "xoxs-", least: 36, most: 200, alphabet: alnum + "-"},
	{issuer: "Slack", prefix: "xapp-", least: 60, most: 200, alphabet: alnum + "-"},
	// Stripe, API keys: live ones alone.
	{issuer: "Stripe", prefix: "sk_live_", least: 24, most: 250, alphabet: alnum},
	{issuer: "Stripe", prefix: "rk_live_", least: 24, most: 250, alphabet: alnum},
	// Google Cloud, API keys.
	{issuer: "Google", prefix: "AIza", least: 35, most: 35, alphabet: alnum + "_-"},
	// OpenAI: each key has the base64 of "OpenAI" in its middle.
	{issuer: "OpenAI", prefix: "sk-", least: 40, most: 250, alphabet: alnum + "_-", has: "T3BlbkFJ"},
	{issuer: "Anthropic", prefix: "sk-ant-", least: 80, most: 150, alphabet: alnum + "_-"},
	// npm, the format of access tokens of 2021.
	{issuer: "npm", prefix: "npm_", least: 36, most: 36, alphabet: alnum},
	// PyPI: a macaroon whose location is pypi.org.
	{issuer: "PyPI", prefix: "pypi-AgEIcHlwaS5vcmc", least: 50, most: 1000, alphabet: alnum + "_-"},
	// SendGrid: 22 characters, a point, and 43.
	{issuer: "SendGrid", prefix: "SG.", least: 66, most: 66, alphabet: alnum + "_-.", has: "."},
	// Twilio: the identifier of an API key.
	{issuer: "Twilio", prefix: "SK", least: 32, most: 32, alphabet: hexes},
	// Telegram: the number of the bot, a colon, and 35 characters.
	{issuer: "Telegram", prefix: ":AA", least: 33, most: 33, alphabet: alnum + "_-", digits: true},
}

// in appends the tokens of this form in a text.
func (t *token) in(text string, found []secret) []secret {
	var is [256]bool
	ready := false
	for at := 0; ; {
		n := strings.Index(text[at:], t.prefix)
		if n < 0 {
			return found
		}
		from := at + n
		at = from + len(t.prefix)
		if !ready {
			for _, c := range []byte(t.alphabet) {
				is[c] = true
			}
			ready = true
		}
		end := at
		for end < len(text) && end-at <= t.most+1 && is[text[end]] {
			end++
		}
		if end-at > t.most+1 {
			at = end // none of the beginnings in it has an end of its own
			continue
		}
		random := strings.TrimRight(text[at:end], ".-_") // of a sentence or a table
		if len(random) < t.least {
			random = text[at:end]
		}
		if len(random) < t.least || len(random) > t.most || !strings.Contains(random, t.has) || isSample(random) {
			continue
		}
		end = at + len(random)
		if t.digits {
			start := from
			for start > 0 && from-start <= 10 && strings.IndexByte(digits, text[start-1]) >= 0 {
				start--
			}
			if from-start < 8 || from-start > 10 {
				continue
			}
			from = start
		}
		if from > 0 && strings.IndexByte(alnum+"_", text[from-1]) >= 0 {
			continue // the end of another word
		}
		found = append(found, secret{what: "a token of " + t.issuer, from: from, to: end, body: from})
	}
}

// sampleSecrets lists words of made-up tokens, in lower case.
var sampleSecrets = []string{
	"example", "sample", "dummy", "fake", "test", "demo", "your", "here", "token", "secret", "insert", "replace", "changeme", "redacted", "placeholder",
	"xxx", "1234", "4321", "a1b2", "1a2b", "abcd", "0000", "deadbeef", "foobar",
}

// isSample reports whether the random part of a token is a placeholder, or too regular.
func isSample(random string) bool {
	low := strings.ToLower(random)
	if slices.ContainsFunc(sampleSecrets, func(word string) bool { return strings.Contains(low, word) }) {
		return true
	}
	same := 0
	for i := 1; i < len(random); i++ {
		if random[i] != random[i-1] {
			same = 0
		} else if same++; same == 3 {
			return true
		}
	}
	return entropy(random) < leastEntropy
}

// leastEntropy bounds the bits a character of a token. 16 random characters of 32 have 3.6, and
// fewer than 2.75 once in 100,000.
const leastEntropy = 2.75

// entropy returns the bits that a character of a text has, by how often each occurs.
func entropy(text string) (bits float64) {
	var count [256]int
	for i := range len(text) {
		count[text[i]]++
	}
	for _, n := range count {
		if n > 0 {
			share := float64(n) / float64(len(text))
			bits -= share * math.Log2(share)
		}
	}
	return bits
}

const (
	keyBegins = "-----BEGIN "
	keyEnds   = "PRIVATE KEY" // and "-----", or " BLOCK-----" of OpenPGP
	maxKey    = 32 << 10
	// A key of OpenSSL or OpenPGP can have a few headers.
	maxHeaders = 5
	maxHeader  = 100
	leastKey   = 60 // characters of base64: an Ed25519 key in PKCS #8 has 64
)

// keysIn appends the private keys of a text (RFC 7468, and OpenSSH's PROTOCOL.key).
func keysIn(text string, found []secret) []secret {
	for at := 0; ; {
		n := strings.Index(text[at:], keyBegins)
		if n < 0 {
			return found
		}
		from := at + n
		at = from + len(keyBegins)
		title, _, ok := strings.Cut(text[at:min(at+80, len(text))], "-----")
		if !ok || !strings.Contains(title, keyEnds) {
			continue
		}
		at += len(title) + len("-----")
		body, base64ed := keyBody(text[at:min(at+maxKey, len(text))])
		end := at + body[1]
		if len(base64ed) < leastKey || entropy(base64ed) < 4 || !isKey(base64ed) && !strings.Contains(text[at:at+body[0]], "ENCRYPTED") {
			continue
		}
		found = append(found, secret{what: "a private key (" + strings.TrimSpace(title) + ")", from: from, to: end, body: at + body[0]})
		at = end
	}
}

// keyBody returns where the base64 of a key is behind its title, and the base64 without white
// space and headers. A line end may be written as \n.
func keyBody(text string) (at [2]int, base64ed string) {
	i := 0
	for range maxHeaders {
		for i < len(text) && strings.IndexByte(" \t\r\n", text[i]) >= 0 || escapedEnd(text[i:]) {
			i++
			if text[i-1] == '\\' {
				i++
			}
		}
		line, _, ok := strings.Cut(text[i:min(i+maxHeader, len(text))], "\n")
		if !ok || !strings.Contains(line, ": ") {
			break
		}
		i += len(line) // a header: "DEK-Info: …"
	}
	at[0] = i
	var b strings.Builder
	for ; i < len(text); i++ {
		switch c := text[i]; {
		case escapedEnd(text[i:]):
			i++
			continue
		case strings.IndexByte(" \t\r\n", c) >= 0:
			continue
		case strings.IndexByte(alnum+"+/=", c) < 0:
			return at, b.String()
		default:
			b.WriteByte(c)
			at[1] = i + 1
		}
	}
	return at, b.String()
}

func escapedEnd(text string) bool {
	return len(text) >= 2 && text[0] == '\\' && (text[1] == 'n' || text[1] == 'r')
}

// isKey reports whether base64 begins with a structure that private keys have: DER, OpenSSH's or
// OpenPGP's. The end may be cut off.
func isKey(base64ed string) bool {
	base64ed = base64ed[:min(len(base64ed), 64)/4*4]
	data, err := base64.StdEncoding.DecodeString(base64ed)
	if err != nil || len(data) < 32 {
		return false
	}
	return bytes.HasPrefix(data, []byte("openssh-key-v1\x00")) ||
		data[0] == 0x30 && (data[1] < 0x80 || data[1] == 0x81 || data[1] == 0x82) ||
		data[0] == 0x94 || data[0] == 0x95 || data[0] == 0xc5 // OpenPGP's packet of a secret key (RFC 9580, 5.5.1.3)
}
