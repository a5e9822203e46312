package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/doctor"
	"github.com/knack-dev/knack/internal/analysis/judgement"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/cli/distcmd"
	"github.com/knack-dev/knack/internal/cli/listing"
	"github.com/knack-dev/knack/internal/cli/selection"
	"github.com/knack-dev/knack/internal/workspace"
)

func listCommand(env *console.Env) *cobra.Command {
	var from selection.Flags
	var all bool
	cmd := &cobra.Command{
		Use:   "list [SOURCE]",
		Short: "List the available skills, and with --all the others too",
		Long: `List the available skills of each root, with descriptions.

With --all, also those that are shadowed, skipped, held back or not read, with
reasons, the roots, and what knack.lock says about each skill ('knack help
roots', 'knack help names').

With SOURCE, as knack add takes it, list the skills of that source, and the
plugins that it lists with the skills of each. Nothing is installed.`,
		Example: `  knack list
  knack list acme/plugins            # what knack add could install
  knack list --all                   # also what is not available, and why
  knack list --exclude claude-user   # without the skills of one root`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && (strings.ContainsAny(args[0], `/:\`) || args[0] == ".") {
				return nil
			}
			return command.ArgCount(0, 0, "nothing, or a source such as OWNER/REPO or ./FOLDER; knack search finds skills by words")(cmd, args)
		},
		RunE: command.Returning(env, func(cmd *cobra.Command, args []string) (command.Result, error) {
			if len(args) > 0 {
				return distcmd.ListSource(cmd.Context(), env, from.Config, args[0])
			}
			w, err := from.Open()
			if err != nil {
				return nil, err
			}
			defer w.Close()
			v, err := w.View(cmd.Context())
			if err != nil {
				return nil, err
			}
			var plugins []doctor.Plugin
			if all {
				plugins = w.Plugins()
			}
			if command.IsJSON(cmd) {
				ctx, done := showJudging(cmd.Context(), env, v)
				defer done()
				out, err := listJSON(ctx, v, quickly(w), all)
				out.Settings, out.Sources, out.Plugins = w.Settings(), w.Stored(), plugins
				return command.Forms{Value: out}, err
			}
			locked := map[*catalog.Entry]catalog.Locked{}
			for _, e := range v.Entries {
				if all {
					locked[e] = v.Locked(cmd.Context(), e)
				}
			}
			return command.Text(func(env *console.Env) {
				listing.Print(env.Out(), v, all, w.Settings(), plugins, locked)
				if len(v.Entries) == 0 && !all {
					env.Err().Text(console.Hint, env.Command("list", "--all")+" shows where skills are looked for")
				}
			}), nil
		}),
	}
	from.Register(cmd, env)
	from.RegisterConfig(selection.RootsUsage)
	cmd.Flags().BoolVar(&all, "all", false, "also show shadowed, skipped and held back skills, with reasons, and the roots")
	cmd.Flags().Bool("json", false, "print a JSON object")
	return cmd
}

// quickly returns a judge for commands that must answer fast. It uses the stored results of the
// operator's policy, and judges only the format of other skills.
func quickly(w *workspace.Workspace) judgement.Judge {
	j := w.Judge()
	j.Quick = true
	return j
}

// listResult is the JSON form of list. Skills contains every available and every shadowed skill,
// each with its status. With --all it contains the skipped ones too. Count covers all skills found.
type listResult struct {
	Count  judgement.Count     `json:"count"`
	Skills []doctor.Skill      `json:"skills"`
	Roots  []doctor.RootStatus `json:"roots"`
	// Settings describes the settings in the knack.yaml files of the project, with the files.
	Settings []string `json:"projectSettings,omitempty"`
	// Sources are the sources in the file of --config, with their state in the store.
	Sources []doctor.Followed `json:"sources,omitempty"`
	// Plugins are the plugins of the clients on this machine. It is set with --all.
	Plugins []doctor.Plugin `json:"plugins,omitempty"`
	// Locks are the lock files of the roots, with the skills that are missing.
	Locks []doctor.LockStatus `json:"locks,omitempty"`
}

func listJSON(ctx context.Context, v catalog.View, judge judgement.Judge, all bool) (listResult, error) {
	judged, err := judge.All(ctx, v)
	if err != nil {
		return listResult{}, workspace.Interrupted(err)
	}
	out := listResult{Count: judgement.CountOf(v, judged), Skills: []doctor.Skill{}, Roots: []doctor.RootStatus{}, Locks: doctor.Locks(v)}
	for _, d := range judged {
		if d.Entry.Status != catalog.Skipped && d.Entry.Status != catalog.Unlisted || all {
			out.Skills = append(out.Skills, doctor.SkillOf(d))
		}
	}
	for _, r := range doctor.Roots(v) {
		if all || r.Notable() {
			out.Roots = append(out.Roots, r)
		}
	}
	return out, nil
}
