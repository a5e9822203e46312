package cli

import (
	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/cli/help"
)

// helpCommand returns the command help, for people who try it first. The help texts mention --help.
func helpCommand(env *console.Env) *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND | TOPIC]", Short: "Describe a command, or explain a topic", Hidden: true,
		Example: `  knack help serve
  knack help config check
  knack help roots`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				if t, found := help.Find(args[0]); found {
					return console.PrintText(env, t.Text(cmd.Root()))
				}
			}
			if len(args) > 1 {
				if t, found := help.Find(args[0]); found {
					if part := help.Settings(args[1]); t.Name == "settings" && len(args) == 2 && part != "" {
						return console.PrintText(env, part)
					}
					return command.UsageError("run 'knack help "+t.Name+"'", "%s is a topic, which has no part '%s'", t.Name, display.Echo(args[1]))
				}
			}
			about, rest, err := cmd.Root().Find(args)
			switch {
			case err != nil:
				return noCommand(cmd.Root(), args[0])
			case len(rest) > 0:
				return noCommand(about, rest[0])
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
		ValidArgsFunction: help.Complete,
	}
}
