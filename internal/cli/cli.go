// Package cli implements the command line: flags, wiring and text for people. Each command has its
// own file, and the parts of a large command begin with its name: check_fix.go, connect_report.go,
// serve_http.go. Package selection has the flags that choose skills, and package internal/workspace
// opens them. Package internal/base/console handles terminals, the environment and the display of
// paths.
package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/internal/base/buildinfo"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/cli/approvecmd"
	"github.com/knack-dev/knack/internal/cli/chatcmd"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/cli/distcmd"
	"github.com/knack-dev/knack/internal/cli/evalcmd"
	"github.com/knack-dev/knack/internal/cli/help"
)

// Main runs the command line and returns the exit status. Data goes to
// env.Stdout, everything else to env.Stderr.
func Main(ctx context.Context, env console.Env, args []string) int {
	out, end := console.Start(&env)
	root := newRoot(&env)
	root.SetArgs(args)
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	f := failureOf(root.ExecuteContext(ctx), out)
	report := func() {
		end()
		if f == nil {
			return
		}
		p := env.Err()
		for _, other := range f.Others {
			if other.Word == (console.Painted{}) {
				p.Line("%s", other.Text)
			} else {
				p.Text(other.Word, other.Text)
			}
		}
		if f.Err == command.ErrPrinted {
			return
		}
		p.Text(console.Error, f.Err.Error())
		if f.Hint != "" {
			p.Text(console.Hint, f.Hint)
		}
	}
	if _, ok := console.InterruptOf(ctx); ok {
		inTime(report)
	} else {
		report()
	}
	if f == nil {
		return command.Done
	}
	return f.Code
}

// failureOf returns the failure of a command that ended with an error and wrote to out, or nil.
func failureOf(err error, out *console.Output) *command.Failure {
	f := command.FailureIn(err)
	switch failed := out.Failed(); {
	case failed != nil && (f == nil || f.Code == command.No):
		return command.Fail(command.Error, fmt.Errorf("the output cannot be written: %w", command.Cause(failed)), "")
	case f == nil && err != nil:
		return command.Fail(command.Usage, err, "run 'knack --help'") // cobra's own errors are usage errors
	}
	return f
}

func newRoot(env *console.Env) *cobra.Command {
	root := &cobra.Command{
		Use:   "knack",
		Short: "One skills server for every agent",
		Long: `knack finds the skills on this machine (folders with a SKILL.md) and serves them
to any agent.`,
		Example: `  knack list      # the skills that there are
  knack doctor    # where they are looked for, and what became of each
  knack connect   # how the clients on this machine are connected`,
		SilenceErrors: true, SilenceUsage: true,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return noCommand(cmd, args[0])
			}
			if env.StdoutTerminal {
				return printHome(cmd.Context(), env)
			}
			return cmd.Help()
		},
	}
	root.PersistentPreRun = func(cmd *cobra.Command, _ []string) {
		for name, value := range map[string]*string{"config": &env.Config, "project": &env.Project} {
			if f := cmd.Flags().Lookup(name); f != nil {
				*value = f.Value.String()
			}
		}
		if cmd.Flags().Lookup("below") != nil {
			env.Below, _ = cmd.Flags().GetBool("below")
			env.Dirs = *cmd.Flags().Lookup("dir").Value.(*command.Repeated)
			env.Exclude = *cmd.Flags().Lookup("exclude").Value.(*command.Repeated)
		}
	}
	env.Takes = command.Takes(root)
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(helpCommand(env))
	root.SetUsageFunc(help.Usage)
	root.Version = buildinfo.Current().Version
	root.Flags().Bool("version", false, "print the version")
	root.SetVersionTemplate(buildinfo.Current().String() + "\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if words := cmd.Flags().Args(); cmd.HasSubCommands() && len(words) > 0 {
			return noCommand(cmd, words[0]) // the flags may belong to another command
		}
		return command.UsageError(flagHint(cmd, err), "%w", command.FlagError(err))
	})
	root.AddCommand(serveCommand(env), listCommand(env), showCommand(env), checkCommand(env), scanCommand(env), configCommand(env), tokensCommand(env), versionCommand(env), completionCommand(env))
	root.AddCommand(toolsCommand(env), callCommand(env), chatcmd.Command(env), evalcmd.Command(env))
	root.AddCommand(doctorCommand(env))
	root.AddCommand(searchCommand(env))
	root.AddCommand(newCommand(env))
	root.AddCommand(connectCommand(env), loginCommand(env), logoutCommand(env))
	root.AddCommand(approvecmd.Commands(env)...)
	root.AddCommand(distcmd.Commands(env, distcmd.Surroundings{Withheld: withheld, Held: heldBack, Clients: clientsHere, Named: namedHere, Unlocked: unlockedHere})...)
	completeRest(root)
	endOnSignal(root, edit.Settle)
	return root
}
