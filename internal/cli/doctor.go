package cli

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/doctor"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/cli/listing"
	"github.com/knack-dev/knack/internal/cli/selection"
	"github.com/knack-dev/knack/internal/clientconfig/connection"
	"github.com/knack-dev/knack/internal/workspace"
	"github.com/knack-dev/knack/internal/workspace/settings"
)

func doctorCommand(env *console.Env) *cobra.Command {
	var from selection.Flags
	var all, verbose bool
	cmd := &cobra.Command{
		Use:   "doctor [SKILL]",
		Short: "Explain what became of each skill, and why one is missing",
		Long: `Report the problems of the skills here, the worst first, each with its fix, and
where skills are looked for. With --all, also explain what became of each skill
and what clients see of them.

With SKILL, explain that name alone: every skill with that name or a similar
one, its faults, and what to write instead. SKILL is a name, a folder's name,
LABEL:NAME, a skill:// URI or a path.

The exit status is 0, whatever the problems are: 'knack check' has a status for
CI. With SKILL it is 1 if no agent can load it.`,
		Example: `  knack doctor
  knack doctor --all                     # every skill, root and list
  knack doctor review                    # what has this name, and what loads
  knack doctor ~/.claude/skills/review   # the skill in this folder`,
		Args: command.ArgCount(0, 1, "the name of one skill, or nothing"),
		RunE: command.Returning(env, func(cmd *cobra.Command, args []string) (command.Result, error) {
			w, err := from.Open()
			if err != nil {
				return nil, err
			}
			defer w.Close()
			scan := w.Survey
			if len(args) == 1 {
				scan = w.Scan // the policy decides whether a client can load the skill
			}
			v, err := scan(cmd.Context())
			if err != nil {
				return nil, err
			}
			o := doctorOptions(env, w, from.Project)
			o.Verbose = verbose
			if len(args) == 1 {
				w.WarnUnused()
				return explainSkill(cmd.Context(), v, o, args[0])
			}
			var unread []string
			o.Clients, unread = doctorClients(cmd.Context(), env, w, from.Project)
			o.Unused = append(w.Unused(), unread...)
			ctx, done := showJudging(cmd.Context(), env, v)
			defer done()
			r, err := doctor.Examine(ctx, v, o)
			if err != nil {
				return nil, workspace.Interrupted(err)
			}
			if command.IsJSON(cmd) && !verbose {
				r.Roots = slices.DeleteFunc(r.Roots, func(root doctor.Root) bool { return !root.Notable() })
			}
			return command.Forms{Value: r, Text: func(env *console.Env) {
				if all || verbose {
					listing.PrintReport(env.Out(), r)
				} else {
					listing.PrintBrief(env.Out(), r)
				}
			}}, nil
		}),
		ValidArgsFunction: from.CompleteSkill(selection.Nothing),
	}
	from.Register(cmd, env)
	from.RegisterConfig(selection.RootsUsage)
	cmd.Flags().BoolVar(&all, "all", false, "every skill, and what each client is shown")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "as --all, and also list the roots that are not there")
	cmd.Flags().Bool("json", false, "print a JSON object")
	return cmd
}

// explainSkill explains the skill that a name refers to.
func explainSkill(ctx context.Context, v catalog.View, o doctor.Options, name string) (command.Result, error) {
	if bare := strings.TrimRight(name, "/"); bare != "" && !strings.Contains(bare, "/") {
		name = bare // a folder name with the slash of shell completion
	}
	s, err := doctor.Explain(ctx, v, o, name)
	if err != nil {
		return nil, workspace.Interrupted(err)
	}
	if s.Answer != doctor.Loads {
		err = command.Fail(command.No, command.ErrPrinted, "")
	}
	return command.Forms{Value: s, Text: func(env *console.Env) { listing.PrintExplanation(env.Out(), s) }}, err
}

// doctorClients returns the clients on this machine, each with the command that connects it if it
// lacks skills. unread reports the files of clients that cannot be read.
func doctorClients(ctx context.Context, env *console.Env, w *workspace.Workspace, project string) (out []doctor.Client, unread []string) {
	f := connectFlags{project: project}
	all, err := f.all(*env)
	if err != nil {
		return nil, nil
	}
	addGains(ctx, env, w, all)
	for _, c := range all {
		if !c.Here && !c.Works() {
			continue
		}
		one := doctor.Client{Client: c.Client, Name: c.Name, Connected: c.Works(), Status: c.Status(), Skills: c.Gain.String()}
		if !c.Works() && c.State != connection.Refused && c.Gain != nil && c.Gain.Adds > 0 {
			one.Fix = env.Command("connect", c.Client, "--write")
		}
		out = append(out, one)
		if c.State == connection.Refused && c.File != "" {
			unread = append(unread, fmt.Sprintf("%s: %s", env.Shown(c.File), c.Why))
		}
		for _, err := range c.Unreadable() {
			unread = append(unread, unreadableFile(env, c.Name, err))
		}
	}
	return out, unread
}

// unreadableFile returns the warning about a further file of a client that cannot be read.
func unreadableFile(env *console.Env, client string, err *fs.PathError) string {
	return fmt.Sprintf("%s, where %s looks too, cannot be read: %s", env.Shown(err.Path), client, command.Cause(err.Err).Error())
}

func doctorOptions(env *console.Env, w *workspace.Workspace, project string) doctor.Options {
	return doctor.Options{
		Sources: w.Sources(), Dir: env.Dir, Project: settings.Folder(*env, project), Home: env.Home, Getenv: w.Getenv(), Settings: w.Settings(), Followed: w.Stored(), Plugins: w.Plugins(),
		Shown: env.Shown, Command: env.Command, CommandAt: env.CommandAt, Judge: w.Judge(),
		Serving: func(folder string) string { return serveCommandLine(*env, folder) }, AddRoot: w.AddRoot,
	}
}

// serveCommandLine returns the command that serves a folder in addition to all others, including
// the folders in KNACK_DIRS.
func serveCommandLine(env console.Env, folder string) string {
	at := env.Shown(folder)
	if strings.ContainsRune(at, filepath.ListSeparator) {
		return "not while there is a " + string(filepath.ListSeparator) + " in its path; rename it first"
	}
	inherited := ""
	if env.Getenv(workspace.DirsVariable) != "" {
		inherited = `"$` + workspace.DirsVariable + `"` + string(filepath.ListSeparator)
	}
	return workspace.DirsVariable + "=" + inherited + console.ShellWord(at) + " knack serve"
}
