package cli

import (
	"context"
	"os"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/cli/report"
	"github.com/knack-dev/knack/internal/cli/selection"
	"github.com/knack-dev/knack/internal/workspace"
	"github.com/knack-dev/knack/skill"
)

// compared implements [approvecmd.Scanner] for scan --against.
type compared struct {
	*namedSkills
	f *scanFlags
}

// Scan implements [approvecmd.Scanner]. The lanes that the operator configured apply to both sides.
func (c compared) Scan(ctx context.Context, entries []*catalog.Entry) ([]*report.Scanned, error) {
	return c.f.scan(ctx, c.env, entries, func(*catalog.Entry) bool { return true })
}

// Entries implements [approvecmd.Scanner].
func (c compared) Entries(ctx context.Context, words []string) ([]*catalog.Entry, error, error) {
	all, _, unread, err := c.f.entries(ctx, c.env, words)
	return all, unread, err
}

// InFolder implements [approvecmd.Scanner].
func (c compared) InFolder(ctx context.Context, folder string) (all []*catalog.Entry, err error) {
	if _, err := os.Stat(c.env.Absolute(folder)); err != nil {
		return nil, command.RunError("give a folder, or the word approved", "--against %s: %s", display.Echo(folder), skill.Reason(err))
	}
	named := &namedSkills{env: c.env, from: &selection.Flags{Options: workspace.Options{Env: c.env}, Unguarded: true}}
	defer named.close()
	places, _, _, err := targets(ctx, c.env, named, []string{folder})
	if err != nil {
		return nil, err
	}
	run, err := scanTargets(ctx, c.env, places, named)
	if err != nil {
		return nil, err
	}
	if len(run.unread) > 0 {
		return nil, run.unread[0]
	}
	for _, s := range run.skills {
		all = append(all, s.Entry)
	}
	return all, nil
}
