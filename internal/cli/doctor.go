package cli

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/doctor"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/cli/listing"
	"github.com/knack-dev/knack/internal/cli/observe"
)

func doctorCommand(env *console.Env) *cobra.Command {
	from := sourceFlags{vets: vetsOnce}
	var verbose, asJSON bool
	cmd := &cobra.Command{
		Use:        "doctor [SKILL]",
		SuggestFor: []string{"diagnose", "status", "why", "debug"},
		Short:      "Explain what became of each skill, and why one is missing",
		Long: `Explain where skills are looked for, what became of each one found, and what
clients see of them.

With SKILL, explain that name alone: every skill with that name or a similar
one, its faults, and what to write instead. SKILL is a name, a folder's name,
LABEL:NAME, a skill:// URI or a path. The exit status is 1 if no agent can load
it.`,
		Example: `  knack doctor
  knack doctor review                    # what has this name, and what loads
  knack doctor ~/.claude/skills/review   # the skill in this folder`,
		Args: command.ArgCount(0, 1, "the name of one skill, or nothing"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := from.check(*env); err != nil {
				return err
			}
			sources, err := from.sources(*env, nil)
			if err != nil {
				return err
			}
			// Without the server's time limit, since the user wants the complete report.
			_, v, err := scanned(cmd.Context(), env, sources, from.options(*env))
			if err != nil {
				return err
			}
			from.warnMissing(*env, v)
			o := from.doctorOptions(*env, sources)
			o.Verbose = verbose
			if len(args) == 0 {
				ctx, done := showJudging(cmd.Context(), env, v)
				r, err := doctor.Examine(ctx, v, o)
				done()
				switch {
				case err != nil:
					return interrupted(err)
				case asJSON:
					return console.PrintJSON(env.Stdout, r)
				}
				listing.PrintReport(env.Out(), r)
				return nil
			}
			return explainSkill(cmd, env, v, o, args[0], asJSON)
		},
		ValidArgsFunction: from.completeSkill(env, nextNothing),
	}
	from.register(cmd, env)
	from.registerConfig(cmd)
	cmd.Flags().BoolVar(&verbose, "verbose", false, "also list the roots that are not there")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// explainSkill explains one name.
func explainSkill(cmd *cobra.Command, env *console.Env, v catalog.View, o doctor.Options, asked string, asJSON bool) error {
	name := asked
	if bare := strings.TrimRight(name, "/"); bare != "" && !strings.Contains(bare, "/") {
		name = bare // a folder's name, as a shell completes it
	}
	s, err := doctor.Explain(cmd.Context(), v, o, name)
	switch {
	case err != nil:
		return interrupted(err)
	case asJSON:
		err = console.PrintJSON(env.Stdout, s)
	default:
		listing.PrintExplanation(env.Out(), s)
	}
	if say := s.Failure(); err == nil && say != "" {
		err = command.Fail(command.No, errors.New(say), "")
	}
	return err
}

func (f *sourceFlags) doctorOptions(env console.Env, sources []catalog.Source) doctor.Options {
	o := doctor.Options{Sources: sources, Dir: env.Dir, Project: env.Dir, Home: env.Home, Getenv: f.getenv(env), Settings: f.projects.Lines(), Followed: f.stored}
	if f.project != "" {
		o.Project = absolute(env, f.project)
	}
	o.Shown = func(path string) string { return atHome(env, path) }
	o.Judge = observe.JudgeOf(f.judge)
	o.Serving = func(folder string) string { return serveCommandLine(env, folder) }
	return o
}

// serveCommandLine returns the command that serves a folder in addition to all others, including
// those in KNACK_DIRS.
func serveCommandLine(env console.Env, folder string) string {
	at := atHome(env, folder)
	if strings.ContainsRune(at, filepath.ListSeparator) {
		return "not while there is a " + string(filepath.ListSeparator) + " in its path; rename it first"
	}
	kept := ""
	if env.Getenv(dirsVariable) != "" {
		kept = `"$` + dirsVariable + `"` + string(filepath.ListSeparator)
	}
	return dirsVariable + "=" + kept + shellWord(at) + " knack serve"
}
