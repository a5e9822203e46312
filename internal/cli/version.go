package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/internal/base/buildinfo"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli/command"
)

func versionCommand(env *console.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Example: `  knack version
  knack version --json   # with the commit`,
		Args: command.ArgCount(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			b := buildinfo.Current()
			if asJSON {
				return console.PrintJSON(env.Stdout, b)
			}
			_, err := fmt.Fprintln(env.Stdout, b)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, with the commit, the Go version and the platform")
	return cmd
}
