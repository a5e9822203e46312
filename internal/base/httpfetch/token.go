package httpfetch

import (
	"strings"

	"github.com/knack-dev/knack/internal/base/display"
)

// Token names the environment variable or the file that contains the token for one server. Both
// names may be empty.
type Token struct {
	Env, File string
	Getenv    func(string) string
	ReadFile  func(path string) ([]byte, error) // its error has no path
}

// TokenError is the error for a token that cannot be used. It does not contain the token.
type TokenError struct{ What, Fix string }

// Error implements error.
func (e *TokenError) Error() string { return e.What + ": " + e.Fix }

// maxToken bounds a token, in bytes. Tokens of providers are far shorter.
const maxToken = 16 << 10

// Read returns the token, or "" if Env and File are empty. The error is a [*TokenError].
func (t Token) Read() (string, error) {
	var token string
	switch {
	case t.Env != "":
		if token = strings.TrimSpace(t.Getenv(t.Env)); token == "" {
			return "", &TokenError{"the variable " + display.Echo(t.Env) + ", which has its token, is not set", "set it"}
		}
	case t.File != "":
		data, err := t.ReadFile(t.File)
		if err != nil {
			return "", &TokenError{"the file of its token cannot be read: " + display.Excerpt(err.Error()), "check the path and its permissions"}
		}
		token = strings.TrimSpace(string(data))
	default:
		return "", nil
	}
	if token == "" || len(token) > maxToken || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", &TokenError{"its token is empty, too long, or has characters that no token has", "write the token alone, in one line, into the variable or the file"}
	}
	return token, nil
}
