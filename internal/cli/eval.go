package cli

import (
	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli/evalcmd"
)

func evalCommand(env *console.Env) *cobra.Command {
	cmd := evalcmd.Command(env, offeredOf(env))
	cmd.Flags().Lookup("config").Usage = modelsConfig
	return cmd
}
