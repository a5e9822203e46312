package replica

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/knack-dev/knack/internal/base/httpfetch"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/workspace/config"
	"github.com/knack-dev/knack/internal/workspace/login"
	"github.com/knack-dev/knack/internal/workspace/settings"
)

// maxTokenFile bounds a file with a token, in bytes.
const maxTokenFile = 64 << 10

// credentials returns the headers for the origin of a source, read anew for each request, or nil
// without any. hint follows the message of a refused access.
func (o Options) credentials(s config.Source, ref origin.Ref) (headers func(context.Context) (http.Header, error), hint string) {
	key := "of the source " + s.Name.Text + " in " + o.File.Shown
	c := s.Credentials
	token := httpfetch.Token{Env: c.TokenEnv.Text, File: o.File.Resolve(c.TokenFile.Text), Getenv: o.Env.Getenv, ReadFile: func(path string) ([]byte, error) {
		data, err := settings.ReadNamed(path, maxTokenFile)
		if err != nil {
			err = errors.New(settings.ReasonOf(err))
		}
		return data, err
	}}
	switch {
	case token.Env != "":
		hint = ": it refuses the token of the variable " + token.Env + ", which is token-env " + key
	case token.File != "":
		hint = ": it refuses the token of the file that is token-file " + key
	default:
		hint = ": run 'knack login " + s.Name.Text + "', or set token-env or token-file " + key
	}
	logins := Logins(o.Files)
	provider := httpfetch.New(httpfetch.Options{Proxy: o.Env.Proxy, Agent: "knack"})
	return func(ctx context.Context) (http.Header, error) {
		all := http.Header{}
		text, err := token.Read()
		if err != nil {
			return nil, &tokenError{fmt.Sprintf("%s (token-env, token-file %s)", err, key)}
		}
		if token.Env == "" && token.File == "" && ref.Kind == origin.MCP {
			text, err = logins.Token(ctx, s.Name.Text, ref.Source, func(address string) (*http.Client, error) {
				c, err := provider.For(address)
				if err != nil {
					return nil, err
				}
				return c.HTTP(), nil
			})
			if err != nil {
				return nil, &tokenError{fmt.Sprintf("%s: run 'knack login %s'", err, s.Name.Text)}
			}
		}
		if text != "" {
			all.Set("Authorization", "Bearer "+text)
		}
		for _, h := range c.Headers {
			value := h.Value
			if name, ok := strings.CutPrefix(value, "$"); ok && config.IsVariable(name) {
				if value = strings.TrimSpace(o.Env.Getenv(name)); value == "" {
					return nil, &tokenError{fmt.Sprintf("the variable %s, which the header %s has, is not set: set it (headers %s)", name, h.Name, key)}
				}
			}
			all.Set(h.Name, value)
		}
		return all, nil
	}, hint
}

// Logins returns the logins of the user.
func Logins(files *settings.Finder) login.Store {
	return login.Store{Dir: filepath.Join(filepath.Dir(files.UserFile()), "logins")}
}

// tokenError is the reason that there are no credentials to send.
type tokenError struct{ message string }

func (e *tokenError) Error() string        { return e.message }
func (e *tokenError) Is(target error) bool { return target == httpfetch.ErrAccess }

// hide returns a function that removes the secrets of a source from a text of its server.
func hide(headers func(context.Context) (http.Header, error), s config.Source) func(text string) string {
	return func(text string) string {
		all, err := headers(context.Background())
		if err != nil {
			return text
		}
		for _, h := range append(s.Credentials.Headers, config.Setting{Name: "Authorization"}) {
			if secret := strings.TrimPrefix(all.Get(h.Name), "Bearer "); secret != "" && secret != h.Value {
				text = strings.ReplaceAll(text, secret, "[redacted]")
			}
		}
		return text
	}
}
