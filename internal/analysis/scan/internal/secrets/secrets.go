// Package secrets finds private keys and tokens, and keeps them out of output.
package secrets

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/knack-dev/knack/internal/base/display"
)

// Shown is the number of characters of a secret that a message may contain.
const Shown = 4

// Secret is a private key or a token in a text.
type Secret struct {
	What     string
	From, To int
	Body     int // where the secret itself begins, after the header of a key
}

// Hide replaces the characters of each secret in a text with an ellipsis, except the first [Shown].
func Hide(text string) string {
	found := In(text)
	if len(found) == 0 {
		return text
	}
	var b strings.Builder
	at := 0
	for _, f := range found {
		if f.Body < at {
			continue
		}
		b.WriteString(text[at : f.Body+Shown])
		b.WriteString("…")
		at = f.To
	}
	b.WriteString(text[at:])
	return b.String()
}

// Mask replaces the characters of each secret with asterisks, except its first [Shown] characters
// and line ends. Text after the secret keeps its line and column.
func Mask(text string) string {
	found := In(text)
	if len(found) == 0 {
		return text
	}
	var b strings.Builder
	at := 0
	for _, f := range found {
		from := max(f.Body+Shown, at)
		b.WriteString(text[at:from])
		for _, r := range text[from:max(f.To, from)] {
			if r != '\n' && r != '\r' {
				r = '*'
			}
			b.WriteRune(r)
		}
		at = max(f.To, from)
	}
	b.WriteString(text[at:])
	return b.String()
}

// Quote returns a text of the skill for a message: in quotes, without secrets, escaped, and cut to
// 160 characters.
func Quote(text string) string {
	text = Hide(display.CutBytes(text, maxQuoted))
	return "'" + display.Echo(display.Cut(text, maxQuote)) + "'"
}

// maxQuoted limits the bytes that Quote searches for secrets. It is larger than maxQuote, the limit
// on the text that Quote returns.
const maxQuoted = 4096

const maxQuote = 160

// In returns the secrets of a text in order, without those inside another secret.
func In(text string) (found []Secret) {
	for i := range Forms {
		found = Forms[i].appendTokens(text, found)
	}
	found = keysIn(text, found)
	sort.Slice(found, func(i, j int) bool {
		a, b := found[i], found[j]
		return cmp.Or(a.From-b.From, b.To-a.To) < 0
	})
	end := 0
	return slices.DeleteFunc(found, func(f Secret) bool {
		inner := f.From < end
		end = max(end, f.To)
		return inner
	})
}

// Form is the form of an issuer's tokens.
type Form struct {
	Issuer, Prefix string
	Least, Most    int // number of characters after the prefix
	Alphabet       string
	Has            string // a text that the token contains
	Digits         bool   // 8 to 10 digits before the prefix are part of the token
}

const (
	letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	digits  = "0123456789"
	alnum   = letters + digits
	hexes   = digits + "abcdef"
)

// Forms lists the forms of tokens that issuers document, or that the issuers' own scanners search
// for.
var Forms = []Form{
	// AWS, IAM identifiers: AKIA marks a long-term key and ASIA a session's key; base32.
	{Issuer: "AWS", Prefix: "AKIA", Least: 16, Most: 16, Alphabet: "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"},
	{Issuer: "AWS", Prefix: "ASIA", Least: 16, Most: 16, Alphabet: "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"},
	// GitHub, authentication token formats.
	{Issuer: "GitHub", Prefix: "ghp_", Least: 36, Most: 36, Alphabet: alnum},
	{Issuer: "GitHub", Prefix: "gho_", Least: 36, Most: 36, Alphabet: alnum},
	{Issuer: "GitHub", Prefix: "ghu_", Least: 36, Most: 36, Alphabet: alnum},
	{Issuer: "GitHub", Prefix: "ghs_", Least: 36, Most: 36, Alphabet: alnum},
	{Issuer: "GitHub", Prefix: "ghr_", Least: 36, Most: 76, Alphabet: alnum},
	{Issuer: "GitHub", Prefix: "github_pat_", Least: 82, Most: 82, Alphabet: alnum + "_"},
	// GitLab, token prefixes. Routable tokens are longer, and contain dots.
	{Issuer: "GitLab", Prefix: "glpat-", Least: 20, Most: 300, Alphabet: alnum + "_-."},
	// Slack, token types.
	{Issuer: "Slack", Prefix: "xoxb-", Least: 36, Most: 200, Alphabet: alnum + "-"},
	{Issuer: "Slack", Prefix: "xoxp-", Least: 36, Most: 200, Alphabet: alnum + "-"},
	{Issuer: "Slack", Prefix: "xoxa-", Least: 36, Most: 200, Alphabet: alnum + "-"},
	{Issuer: "Slack", Prefix: "xoxe-", Least: 36, Most: 300, Alphabet: alnum + "-"},
	{Issuer: "Slack", Prefix: "xoxr-", Least: 36, Most: 200, Alphabet: alnum + "-"},
	{Issuer: "Slack", Prefix: "xoxs-", Least: 36, Most: 200, Alphabet: alnum + "-"},
	{Issuer: "Slack", Prefix: "xapp-", Least: 60, Most: 200, Alphabet: alnum + "-"},
	// Stripe, API keys: only live keys.
	{Issuer: "Stripe", Prefix: "sk_live_", Least: 24, Most: 250, Alphabet: alnum},
	{Issuer: "Stripe", Prefix: "rk_live_", Least: 24, Most: 250, Alphabet: alnum},
	// Google Cloud, API keys.
	{Issuer: "Google", Prefix: "AIza", Least: 35, Most: 35, Alphabet: alnum + "_-"},
	// OpenAI: each key has the base64 of "OpenAI" in its middle.
	{Issuer: "OpenAI", Prefix: "sk-", Least: 40, Most: 250, Alphabet: alnum + "_-", Has: "T3BlbkFJ"},
	{Issuer: "Anthropic", Prefix: "sk-ant-", Least: 80, Most: 150, Alphabet: alnum + "_-"},
	// npm, the format of access tokens of 2021.
	{Issuer: "npm", Prefix: "npm_", Least: 36, Most: 36, Alphabet: alnum},
	// PyPI: a macaroon whose location is pypi.org.
	{Issuer: "PyPI", Prefix: "pypi-AgEIcHlwaS5vcmc", Least: 50, Most: 1000, Alphabet: alnum + "_-"},
	// SendGrid: 22 characters, a dot, and 43 characters.
	{Issuer: "SendGrid", Prefix: "SG.", Least: 66, Most: 66, Alphabet: alnum + "_-.", Has: "."},
	// Twilio: the identifier of an API key.
	{Issuer: "Twilio", Prefix: "SK", Least: 32, Most: 32, Alphabet: hexes},
	// Telegram: the number of the bot, a colon, and 35 characters.
	{Issuer: "Telegram", Prefix: ":AA", Least: 33, Most: 33, Alphabet: alnum + "_-", Digits: true},
}

// appendTokens appends the tokens of this form in a text.
func (t *Form) appendTokens(text string, found []Secret) []Secret {
	var allowed [256]bool
	ready := false
	for at := 0; ; {
		n := strings.Index(text[at:], t.Prefix)
		if n < 0 {
			return found
		}
		from := at + n
		at = from + len(t.Prefix)
		if !ready {
			for _, c := range []byte(t.Alphabet) {
				allowed[c] = true
			}
			ready = true
		}
		end := at
		for end < len(text) && end-at <= t.Most+1 && allowed[text[end]] {
			end++
		}
		if end-at > t.Most && text[at+t.Most] == '.' {
			end = at + t.Most // the extension of a file, or the next sentence, follows
		}
		if end-at > t.Most+1 {
			at = end // a prefix inside this long run cannot begin a token either
			continue
		}
		random := strings.TrimRight(text[at:end], ".-_") // punctuation of a sentence or a table
		if len(random) < t.Least {
			random = text[at:end]
		}
		if len(random) < t.Least || len(random) > t.Most || !strings.Contains(random, t.Has) || IsSample(random) {
			continue
		}
		end = at + len(random)
		if t.Digits {
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
			continue // the prefix is inside another word
		}
		found = append(found, Secret{What: "a token of " + t.Issuer, From: from, To: end, Body: from})
	}
}

// sampleSecrets lists strings, in lower case, that only made-up tokens contain.
var sampleSecrets = []string{
	"example", "sample", "dummy", "fake", "test", "demo", "your", "here", "token", "secret", "insert", "replace", "changeme", "redacted", "placeholder",
	"xxx", "1234", "4321", "a1b2", "1a2b", "abcd", "0000", "deadbeef", "foobar",
}

// IsSample reports whether the random part of a token is a placeholder or too regular.
func IsSample(random string) bool {
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

// leastEntropy is the lowest entropy of a token, in bits per character. 16 random characters of an
// alphabet of 32 have 3.6 on average, and less than 2.75 only once in 100,000 times.
const leastEntropy = 2.75

// entropy returns the entropy of a text in bits per character, computed from the frequency of each
// byte.
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
	keyEnds   = "PRIVATE KEY" // followed by "-----", or by " BLOCK-----" in OpenPGP
	maxKey    = 32 << 10
	// maxHeaders limits the headers of a key in the formats of OpenSSL and OpenPGP.
	maxHeaders = 5
	maxHeader  = 100
	leastKey   = 60 // characters of base64: an Ed25519 key in PKCS #8 has 64
)

// keysIn appends the private keys of a text (RFC 7468, and OpenSSH's PROTOCOL.key).
func keysIn(text string, found []Secret) []Secret {
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
		found = append(found, Secret{What: "a private key (" + strings.TrimSpace(title) + ")", From: from, To: end, Body: at + body[0]})
		at = end
	}
}

// keyBody returns the range of a key's base64 after its title, and the base64 without white space
// and headers. A line end may also be written as \n.
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
		i += len(line) // a header, such as "DEK-Info: …"
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

// isKey reports whether base64 begins with the structure of a private key in DER, or in the format
// of OpenSSH or OpenPGP. The end may be cut off.
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
