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

// maxLeads bounds the addresses to which a repository leads one after the other.
const maxLeads = 5

// errElsewhere says that a server leads to something else than a repository.
var errElsewhere = errors.New("its server leads to another address, which is none of a repository")

// askFollowing lets git ask a server for its refs, since settings of the user say how it is
// reached. git follows no redirect by itself, not even the first one as it does by default: it
// would follow that into a private network. Here each is judged, and git asked there. said is why
// git failed, and err why the server may not be asked at all.
func (g *Origin) askFollowing(ctx context.Context, at place) (_ place, r *refs, said, err error) {
	for range maxLeads {
		r, said = g.ask(ctx, at)
		if said == nil {
			return at, r, nil, nil
		}
		if !errors.Is(said, errRedirect) || g.opts.Judge == nil {
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

// leadsTo returns the repository to which the server of a place leads, if it may lead there. It
// is "" if git does not say where.
func (g *Origin) leadsTo(ctx context.Context, at place) (string, error) {
	var from strings.Builder // with insteadOf of the user's settings
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
	asked.User = nil // they are the user's, and for this server
	location := ""
	err = g.run(ctx, call{place: at, dir: noRepository, args: []string{"ls-remote", "--quiet", "--", at.url}, location: &location})
	if ctx.Err() != nil {
		return "", err
	}
	to, err := asked.Parse(location)
	if location == "" || err != nil {
		return "", nil
	}
	if err := g.opts.Judge(ctx, asked.String(), to.String()); err != nil {
		return "", fmt.Errorf("its server leads elsewhere, where knack does not go: %w", httpfetch.Plain(err))
	}
	repository, ok := strings.CutSuffix(to.String(), infoRefs)
	if !ok {
		return "", errElsewhere
	}
	return repository, nil
}
