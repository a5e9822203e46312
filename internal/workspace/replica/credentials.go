package replica

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/httpfetch"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/workspace/config"
	"github.com/knack-dev/knack/internal/workspace/login"
	"github.com/knack-dev/knack/internal/workspace/settings"
)

// maxTokenFile limits the bytes of a file with a token.
const maxTokenFile = 64 << 10

// credentials are the headers to send to the origin of a source, with the messages about them.
type credentials struct {
	headers func(context.Context) (http.Header, error) // read again for each request
	lacks   func() error                               // returns a [*tokenError] if a token or variable is missing
	hint    string                                     // appended to the message about a refused access
}

// NoLogin is appended to the message about a source that refuses access if no file configures the
// source.
const NoLogin = ": name it under sources in a knack.yaml, with token-env or token-file"

// credentials returns the credentials of a source. The functions of the result add each secret
// value to sent.
func (o Options) credentials(s config.Source, ref origin.Ref, sent *secrets) credentials {
	key := "of the source " + s.Name.Text + " in " + o.File.Shown
	c := s.Credentials
	token := httpfetch.Token{Env: c.TokenEnv.Text, File: o.File.Resolve(c.TokenFile.Text), Getenv: o.Env.Getenv, ReadFile: func(path string) ([]byte, error) {
		data, err := settings.ReadNamed(path, maxTokenFile)
		if err != nil {
			err = errors.New(settings.ReasonOf(err))
		}
		return data, err
	}}
	var hint string
	switch {
	case token.Env != "":
		hint = ": it refuses the token of the variable " + token.Env + ", which is token-env " + key
	case token.File != "":
		hint = ": it refuses the token of the file that is token-file " + key
	case ref.Kind != origin.MCP:
		hint = ": set token-env or token-file " + key
	default:
		hint = ": run " + console.Quoted(o.Env.Command("login", s.Name.Text)) + ", or set token-env or token-file " + key
	}
	named := func() (http.Header, error) {
		all := http.Header{}
		text, err := token.Read()
		if bad := (*httpfetch.TokenError)(nil); errors.As(err, &bad) {
			return nil, &tokenError{bad.What, bad.Fix + " (token-env, token-file " + key + ")"}
		}
		if sent.add(text); text != "" {
			all.Set("Authorization", "Bearer "+text)
		}
		for _, h := range c.Headers {
			value := h.Value
			if name, ok := strings.CutPrefix(value, "$"); ok && config.IsVariable(name) {
				if value = strings.TrimSpace(o.Env.Getenv(name)); value == "" {
					return nil, &tokenError{"the variable " + name + ", which the header " + h.Name + " has, is not set", "set it (headers " + key + ")"}
				}
				sent.add(value)
			}
			all.Set(h.Name, value)
		}
		return all, nil
	}
	logins := Logins(o.Files)
	provider := httpfetch.New(httpfetch.Options{Proxy: o.Env.Proxy, Agent: "knack"})
	headers := func(ctx context.Context) (http.Header, error) {
		all, err := named()
		if err != nil || token.Env != "" || token.File != "" || ref.Kind != origin.MCP {
			return all, err
		}
		text, err := logins.Token(ctx, s.Name.Text, ref.Source, provider)
		if down := (*login.Error)(nil); errors.As(err, &down) {
			return nil, fmt.Errorf("%w: %s", err, down.Fix)
		}
		if err != nil {
			return nil, &tokenError{err.Error(), "run " + console.Quoted(o.Env.Command("login", s.Name.Text))}
		}
		if sent.add(text); text != "" && all.Get("Authorization") == "" {
			all.Set("Authorization", "Bearer "+text)
		}
		return all, nil
	}
	return credentials{headers, func() error { _, err := named(); return err }, hint}
}

// Named is a source that a configuration file names. Commands use it to read the source as a server
// would.
type Named struct {
	Ref   origin.Ref
	Fetch httpfetch.Options        // with the credentials of the source
	Clean func(text string) string // removes the credentials from a text
}

// NamedSource returns the source of the file to which a word refers. The word is the source's name,
// or its address if the source has credentials. ok is false without such a source.
func (o Options) NamedSource(word string) (found Named, ok bool) {
	sources, _ := o.sources() // none if the home folder is not known
	typed, _ := origin.ParseTyped(word, o.Env.Dir, o.Env.Home)
	for i, s := range sources {
		given := o.File.Config.Sources[i]
		if s.Name != word && (s.Ref.String() != typed.String() || !given.Credentials.Given()) {
			continue
		}
		sent := &secrets{}
		c := o.credentials(given, s.Ref, sent)
		return Named{s.Ref, httpfetch.Options{Proxy: o.Env.Proxy, Agent: "knack", Credentials: c.headers, Login: c.hint}, sent.hide}, true
	}
	return Named{}, false
}

// Logins returns the store of the user's logins.
func Logins(files *settings.Finder) login.Store {
	return login.Store{Dir: filepath.Join(filepath.Dir(files.UserFile()), "logins")}
}

// tokenError is the reason why there are no credentials to send.
type tokenError struct{ what, fix string }

func (e *tokenError) Error() string        { return e.what + ": " + e.fix }
func (e *tokenError) Is(target error) bool { return target == httpfetch.ErrAccess }

// secrets contains the secret values that were sent to a source. They are removed from messages,
// since a server may repeat them in its answers. Several values are recorded, since a token may
// change before an answer ends.
type secrets struct {
	mu   sync.Mutex
	sent []string
}

// maxSecrets limits the remembered values. leastPart is the shortest beginning of a value that is
// removed from a text: a text may be cut within a value.
const (
	maxSecrets = 16
	leastPart  = 8 // bytes
)

func (s *secrets) add(value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if value == "" || slices.Contains(s.sent, value) {
		return
	}
	s.sent = append(s.sent[max(0, len(s.sent)-maxSecrets+1):], value)
}

// hide replaces the secrets in a text, even if the text contains only the beginning of a secret.
func (s *secrets) hide(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, secret := range s.sent {
		begin := secret[:min(leastPart, len(secret))]
		for from := 0; ; {
			at := strings.Index(text[from:], begin)
			if at < 0 {
				break
			}
			at += from
			end := at + len(begin)
			for end < len(text) && end-at < len(secret) && text[end] == secret[end-at] {
				end++
			}
			text = text[:at] + redacted + text[end:]
			from = at + len(redacted)
		}
	}
	return text
}

const redacted = "[redacted]"
