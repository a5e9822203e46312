package origins

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/httpfetch"
	"github.com/knack-dev/knack/internal/clientconfig"
	"github.com/knack-dev/knack/internal/distribution/install"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/origin/mcp"
)

// Token returns the token for an MCP server whose address a person typed, or "". Its error is an
// [*httpfetch.TokenError].
func Token(env *console.Env) (string, error) {
	if env.Variable(clientconfig.TokenVariable) == "" {
		return "", nil
	}
	return httpfetch.Token{Env: clientconfig.TokenVariable, Getenv: env.Variable}.Read()
}

// servers returns the reader of MCP servers.
func servers(o Options) (origin.Origin, error) {
	m := mcp.Options{Offline: o.Offline, Progress: o.Progress, Warn: o.Warn, HTTP: o.client, Login: o.Login}
	if len(o.Typed) == 0 {
		m.Login = cmp.Or(o.Login, ": the token in "+clientconfig.TokenVariable+" is sent only to a server that you type, such as with 'knack add'")
		return mcp.New(m), nil
	}
	token, err := Token(o.Env)
	if bad := (*httpfetch.TokenError)(nil); errors.As(err, &bad) {
		return nil, &install.Problem{Err: errors.New(clientconfig.TokenVariable + ": " + bad.What), Fix: bad.Fix}
	}
	m.Login = ": set " + clientconfig.TokenVariable + " to the token that it gave you"
	if token == "" {
		return mcp.New(m), nil
	}
	m.Login = ": it refuses the token in " + clientconfig.TokenVariable
	fetch := o.Fetch.With(func(context.Context) (http.Header, error) {
		return http.Header{"Authorization": {"Bearer " + token}}, nil
	})
	m.HTTP = func(address string) (*http.Client, error) {
		if !slices.Contains(o.Typed, address) {
			return o.client(address)
		}
		server, err := fetch.For(address)
		if err != nil {
			return nil, err
		}
		return server.HTTP(), nil
	}
	return mcp.New(m), nil
}
