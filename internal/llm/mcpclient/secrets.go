package mcpclient

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/httpfetch"
	"github.com/knack-dev/knack/internal/base/rawjson"
)

// secrets are the user's secrets for one server.
type secrets struct {
	token  string
	env    []string // NAME=value
	values []string // the texts to hide, as withoutInvisible returns them, the longest first
}

// minHidden is the shortest hidden text, in bytes: a shorter one would be found inside other words.
const minHidden = 6

const redacted = "[redacted]"

// readSecrets reads the server's environment variables and its token.
func readSecrets(s Server, o Options) (secrets, error) {
	var all secrets
	var values []string
	for _, name := range s.EnvFrom {
		value := o.Getenv(name)
		if value == "" {
			return all, &Error{Server: s.Name, What: "the variable " + display.Echo(name) + " of env-from is not set", Fix: "set it, or leave it out of servers." + s.Name + ".env-from"}
		}
		all.env = append(all.env, name+"="+value)
		values = append(values, value)
	}
	file := filepath.FromSlash(s.TokenFile)
	if file != "" && !filepath.IsAbs(file) {
		file = filepath.Join(s.Dir, file)
	}
	var err error
	all.token, err = httpfetch.Token{Env: s.TokenEnv, File: file, Getenv: o.Getenv, ReadFile: o.ReadFile}.Read()
	if wrong := (*httpfetch.TokenError)(nil); errors.As(err, &wrong) {
		key := "token-file"
		if s.TokenEnv != "" {
			key = "token-env"
		}
		return all, &Error{Server: s.Name, What: wrong.What, Fix: wrong.Fix + ", or leave out servers." + s.Name + "." + key}
	}
	values = append(values, all.token)
	for _, value := range values {
		for _, form := range append(encoded(value), strings.FieldsFunc(value, isBreak)...) {
			if form, _ = withoutInvisible(form); len(form) >= minHidden {
				all.values = append(all.values, form)
			}
		}
	}
	slices.SortFunc(all.values, func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) }) // one may be a prefix of another
	all.values = slices.Compact(all.values)
	return all, nil
}

// encoders are the encodings in which a server is likely to repeat a secret: as a JSON string, in
// HTML, in a URL, and in base64.
var encoders = []func(string) string{
	func(text string) string { return inJSON(text, true) },
	func(text string) string { return inJSON(text, false) },
	html.EscapeString, url.QueryEscape, url.PathEscape, percentAll,
	func(text string) string { return base64.RawStdEncoding.EncodeToString([]byte(text)) },
	func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) },
	func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) },
}

// encoded returns a text, its encodings, and the encodings of these, since a server can send JSON
// as text within JSON.
func encoded(value string) []string {
	if value == "" {
		return nil
	}
	forms := []string{value}
	for range 2 {
		for _, form := range forms {
			for _, encode := range encoders {
				if text := encode(form); !slices.Contains(forms, text) {
					forms = append(forms, text)
				}
			}
		}
	}
	return forms
}

// inJSON returns a string as it is written within a JSON string.
func inJSON(text string, escapeHTML bool) string {
	data, _ := json.Marshal(text) // a string always encodes
	if !escapeHTML {
		data, _ = rawjson.Marshal(text)
	}
	return string(data[1 : len(data)-1])
}

// percentAll returns a string with every byte percent-encoded.
func percentAll(text string) string {
	var b strings.Builder
	for i := range len(text) {
		fmt.Fprintf(&b, "%%%02X", text[i])
	}
	return b.String()
}

func isBreak(r rune) bool { return r == '\n' || r == '\r' }

// isSkipped reports whether a character can be invisible to a reader, and so split a secret.
func isSkipped(r rune) bool { return display.IsUnseen(r) || unicode.IsControl(r) }

// withoutInvisible returns a string without the characters that can split a secret, and the
// original offset of each byte. The offsets are nil if nothing was removed.
func withoutInvisible(text string) (string, []int) {
	if strings.IndexFunc(text, isSkipped) < 0 {
		return text, nil
	}
	out, at := make([]byte, 0, len(text)), make([]int, 0, len(text))
	for i, r := range text {
		if isSkipped(r) {
			continue
		}
		for n := range max(1, utf8.RuneLen(r)) {
			if i+n < len(text) {
				out, at = append(out, text[i+n]), append(at, i+n)
			}
			if r == utf8.RuneError && text[i] < 0xe0 { // an invalid byte
				break
			}
		}
	}
	return string(out), at
}

// hide returns a string without the secrets, even if invisible characters or line breaks split
// them.
func (s secrets) hide(text string) string {
	plain, at := withoutInvisible(text)
	var b strings.Builder
	done := 0                          // offset in text
	next := make([]int, len(s.values)) // the next position of each value, when it was last searched
	for from := 0; from < len(plain); {
		begin, end := len(plain), 0
		for i, value := range s.values {
			if from == 0 || next[i] < from {
				next[i] = len(plain)
				if at := strings.Index(plain[from:], value); at >= 0 {
					next[i] = from + at
				}
			}
			if next[i] < begin {
				begin, end = next[i], next[i]+len(value)
			}
		}
		if begin == len(plain) {
			break
		}
		from = end
		if at != nil {
			begin, end = at[begin], at[end-1]+1
		}
		b.WriteString(text[done:begin])
		b.WriteString(redacted)
		done = end
	}
	if done == 0 {
		return text
	}
	b.WriteString(text[done:])
	return b.String()
}

// hideIn applies hide to each string of a decoded JSON value, including object keys. In encoded
// JSON a secret could be escaped.
func (s secrets) hideIn(value any) any {
	switch v := value.(type) {
	case string:
		return s.hide(v)
	case []any:
		out := make([]any, len(v))
		for i, one := range v {
			out[i] = s.hideIn(one)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, one := range v {
			out[s.hide(key)] = s.hideIn(one)
		}
		return out
	}
	return value
}

// maxShown bounds a message, in characters.
const maxShown = 400

// safeLine returns a string as one line that is safe to show in a message.
func safeLine(text string) string {
	return display.Visible(display.Cut(display.OneLine(strings.ToValidUTF8(display.CutBytes(text, 8*maxShown), "\ufffd")), maxShown), display.Escaped)
}
