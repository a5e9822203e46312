package cli

import (
	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/internal/console"
	"github.com/knack-dev/knack/internal/trial"
)

func evalCommand(env *console.Env) *cobra.Command {
	cmd := trial.Command(env, offeredOf(env))
	cmd.Flags().Lookup("config").Usage = modelsConfig
	return cmd
}
