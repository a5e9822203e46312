package settings

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/knack-dev/knack/internal/server/openid"
	"github.com/knack-dev/knack/internal/workspace/config"
)

// maxSecret limits the bytes of a client's secret. Providers make far shorter ones.
const maxSecret = 4096

// SignIn returns the provider of the section sign-in, or nil without the section. It reads the file
// of the client's secret once, so that a wrong path is found at the start. Each sign-in reads the
// file again. path resolves a path of the configuration.
func SignIn(c config.SignIn, path func(string) string, log *slog.Logger) (*openid.Provider, error) {
	if c.Issuer == "" {
		return nil, nil
	}
	o := openid.Options{
		Issuer: c.Issuer, ClientID: c.ClientID, RedirectURL: c.RedirectURL, Scopes: c.Scopes, Audiences: c.Audiences,
		SubjectClaim: c.SubjectClaim, GroupsClaim: c.GroupsClaim, Session: c.Session, Log: log,
	}
	if file := c.ClientSecretFile; file != "" {
		o.Secret = func() (string, error) { return secretIn(path(file)) }
		if _, err := o.Secret(); err != nil {
			return nil, &Error{fmt.Errorf("sign-in.client-secret-file %s: %w", file, err), HintOf(err, "write into it the secret that the provider shows for this client, and nothing else"), false}
		}
	}
	return openid.New(o)
}

var errSecret = errors.New("it is empty, longer than 4 KiB, or has several lines")

func secretIn(file string) (string, error) {
	data, err := ReadUserFile(file)
	if err != nil {
		return "", readError{err}
	}
	secret := strings.TrimSpace(string(data))
	if secret == "" || len(secret) > maxSecret || strings.ContainsAny(secret, "\r\n") {
		return "", errSecret
	}
	return secret, nil
}
