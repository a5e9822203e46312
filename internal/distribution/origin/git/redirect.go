package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/knack-dev/knack/internal/base/httpfetch"
)

// maxLeads is the maximum number of consecutive redirects of a repository.
const maxLeads = 5

// errElsewhere is the error of a redirect to an address that is not a repository.
var errElsewhere = errors.New("its server leads to another address, which is not a repository")

// askFollowing runs git to request a server's refs, since the user's settings determine the
// connection. git follows no redirect itself, because one could lead into a private network.
// Instead, askFollowing checks each redirect, and git sends a request to its target. said is the
// error of git, and err the reason why the server must not be asked.
func (g *Origin) askFollowing(ctx context.Context, at address) (_ address, r *refs, said, err error) {
	for range maxLeads {
		r, said = g.ask(ctx, at)
		if said == nil {
			return at, r, nil, nil
		}
		if !errors.Is(said, errRedirect) || g.opts.CheckTarget == nil {
			return at, nil, said, nil
		}
		to, err := g.leadsTo(ctx, at)
		if err != nil {
			return at, nil, nil, err
		}
		if to == "" {
			return at, nil, said, nil
		}
		if at, err = locate(to); err != nil {
			return at, nil, nil, errElsewhere
		}
	}
	return at, nil, nil, fmt.Errorf("its server leads to more than %d addresses, one after the other", maxLeads)
}

// leadsTo returns the repository that an address redirects to, after checking it. It is "" if git
// does not report the target.
func (g *Origin) leadsTo(ctx context.Context, at address) (string, error) {
	var from strings.Builder // the address after the user's insteadOf settings
	args := []string{"ls-remote", "--quiet", "--get-url", "--", at.url}
	if err := g.run(ctx, call{dir: noRepository, args: args, stdout: func(r io.Reader) error {
		_, err := io.Copy(&from, io.LimitReader(r, maxLine))
		return err
	}}); err != nil {
		return "", err
	}
	asked, err := url.Parse(strings.TrimRight(from.String(), "\n/") + infoRefs)
	if err != nil {
		return "", nil
	}
	asked.User = nil // the credentials are for this server only
	location := ""
	err = g.run(ctx, call{address: at, dir: noRepository, args: []string{"ls-remote", "--quiet", "--", at.url}, location: &location})
	if ctx.Err() != nil {
		return "", err
	}
	to, err := asked.Parse(location)
	if location == "" || err != nil {
		return "", nil
	}
	if err := g.opts.CheckTarget(ctx, asked.String(), to.String()); err != nil {
		return "", fmt.Errorf("its server leads elsewhere, where knack does not go: %w", httpfetch.Plain(err))
	}
	repository, ok := strings.CutSuffix(to.String(), infoRefs)
	if !ok {
		return "", errElsewhere
	}
	return repository, nil
}
