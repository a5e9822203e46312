package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/scan"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/internal/cli/approvecmd"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/cli/report"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool"
)

// approvals has the skills for the commands of package approval.
type approvals struct {
	*sourceFlags
	env *console.Env
}

func approvalsOf(env *console.Env) approvecmd.Skills { return approvals{&sourceFlags{}, env} }

// Register implements [approval.Skills].
func (a approvals) Register(cmd *cobra.Command) {
	a.register(cmd, a.env)
	a.registerConfig(cmd)
	cmd.ValidArgsFunction = a.completeSkill(a.env, nextSkill)
}

// Config implements [approval.Skills].
func (a approvals) Config() string { return a.config }

// View implements [approval.Skills].
func (a approvals) View(ctx context.Context) (catalog.View, error) { return a.view(ctx, *a.env) }

// Named implements [approval.Skills].
func (a approvals) Named(v catalog.View, words []string) ([]*catalog.Entry, error) {
	return listedSkills(a.env, v, words)
}

// compared implements [approval.Scanner].
type compared struct {
	approvals
	f *scanFlags
}

// Scan implements [approval.Scanner].
func (c compared) Scan(ctx context.Context, entries []*catalog.Entry) ([]*report.Scanned, error) {
	return scanEntries(ctx, c.env, entries, scan.Lane(c.f.lane))
}

// Entries implements [approval.Scanner].
func (c compared) Entries(ctx context.Context, words []string) ([]*catalog.Entry, error, error) {
	all, _, unread, err := c.f.entries(ctx, c.env, words)
	return all, unread, err
}

// InFolder implements [approval.Scanner].
func (c compared) InFolder(ctx context.Context, folder string) (all []*catalog.Entry, err error) {
	if _, err := os.Stat(absolute(*c.env, folder)); err != nil {
		return nil, command.RunError("give a folder, or the word approved", "--against %s: %s", display.Echo(folder), skill.Reason(err))
	}
	from := sourceFlags{given: func(string) bool { return false }}
	places, _, _, err := targets(ctx, c.env, &from, []string{folder}, func(string) string { return "" })
	if err != nil {
		return nil, err
	}
	run, err := scanTargets(ctx, c.env, places, &namedSkills{env: c.env, from: &from})
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

// IsName implements [approval.Scanner].
func (c compared) IsName(word string) bool {
	_, err := os.Lstat(absolute(*c.env, word))
	return isName(word, err)
}

// listedSkills returns the skills of a view that words name: by a path, which may have several, or
// as other commands name one. Each of them has a URI.
func listedSkills(env *console.Env, v catalog.View, words []string) (all []*catalog.Entry, err error) {
	add := func(e *catalog.Entry) {
		if !slices.Contains(all, e) {
			all = append(all, e)
		}
	}
	for _, word := range words {
		at := absolute(*env, word)
		_, found := os.Lstat(at)
		switch {
		case word == "":
			return nil, command.UsageError("give a folder or the name of a skill", "the name is empty")
		case isName(word, found):
			e, _, err := findSkill(v, word, nil)
			if err != nil {
				return nil, err
			}
			if !approvecmd.HasURI(e) {
				return nil, command.Fail(command.No, fmt.Errorf("%s is not served: %s", display.Quote(word), tool.Reason(e)), "")
			}
			add(e)
			continue
		case found != nil:
			return nil, command.RunError("check the path", "%s: %s", display.Echo(word), skill.Reason(found))
		}
		if strings.EqualFold(filepath.Base(at), skill.MainFile) {
			at = filepath.Dir(at)
		}
		any := false
		for _, e := range v.Entries {
			if _, below := console.Below(realpath.Of(e.Dir()), realpath.Of(at)); e.Dir() != "" && below && approvecmd.HasURI(e) {
				add(e)
				any = true
			}
		}
		if !any {
			return nil, command.Fail(command.No, fmt.Errorf("%s has no skill that list knows", display.Echo(word)), "give the --dir or the --config with which the skill is served")
		}
	}
	return all, nil
}
