package mcpclient

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/base/display"
)

// secrets are the texts of the user that go to one server, and nowhere else.
type secrets struct {
	token string
	env   []string // NAME=value
	hides *strings.Replacer
}

// Bounds of a secret, in bytes: providers make far shorter tokens. A text that is shorter than
// minHidden is part of other words.
const (
	maxToken  = 16 << 10
	minHidden = 6
)

const redacted = "[redacted]"

// readSecrets reads what the server is told of the environment, and its token.
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
	switch {
	case s.TokenEnv != "":
		if all.token = strings.TrimSpace(o.Getenv(s.TokenEnv)); all.token == "" {
			return all, &Error{Server: s.Name, What: "the variable " + display.Echo(s.TokenEnv) + ", which has its token, is not set", Fix: "set it, or leave out servers." + s.Name + ".token-env"}
		}
	case s.TokenFile != "":
		path := filepath.FromSlash(s.TokenFile)
		if !filepath.IsAbs(path) {
			path = filepath.Join(s.Dir, path)
		}
		data, err := o.ReadFile(path)
		if err != nil {
			return all, &Error{Server: s.Name, What: "the file of its token cannot be read: " + shown(err.Error()), Fix: "check servers." + s.Name + ".token-file"}
		}
		all.token = strings.TrimSpace(string(data))
	}
	if (s.TokenEnv != "" || s.TokenFile != "") && (all.token == "" || len(all.token) > maxToken || strings.ContainsFunc(all.token, func(r rune) bool { return r <= ' ' || r > '~' })) {
		return all, &Error{Server: s.Name, What: "its token is empty, too long, or has characters that no token has", Fix: "write the token alone, in one line, into the variable or the file"}
	}
	values = append(values, all.token)
	slices.SortFunc(values, func(a, b string) int { return len(b) - len(a) }) // one may begin with another
	var hides []string
	for _, value := range values {
		if len(value) >= minHidden {
			hides = append(hides, value, redacted)
		}
	}
	all.hides = strings.NewReplacer(hides...)
	return all, nil
}

// hide returns a text without the secrets.
func (s secrets) hide(text string) string {
	if s.hides == nil {
		return text
	}
	return s.hides.Replace(text)
}

// maxShown bounds a message, in characters.
const maxShown = 400

// shown returns a text in one line, fit to be shown and to be part of a message.
func shown(text string) string {
	return display.Visible(display.Cut(display.OneLine(strings.ToValidUTF8(display.CutBytes(text, 8*maxShown), "\ufffd")), maxShown), display.Escaped)
}
