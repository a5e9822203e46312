package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/internal/base/buildinfo"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli/command"
)

func versionCommand(env *console.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version", Hidden: true, // --version does the same
		Example: `  knack version
  knack version --json   # with the commit`,
		Args: command.ArgCount(0, 0, "no arguments"),
		RunE: command.Returning(env, func(*cobra.Command, []string) (command.Result, error) {
			b := buildinfo.Current()
			return command.Forms{Value: b, Text: func(env *console.Env) { fmt.Fprintln(env.Stdout, b) }}, nil
		}),
	}
	cmd.Flags().Bool("json", false, "print JSON, with the commit, the Go version and the platform")
	return cmd
}
