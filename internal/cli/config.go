package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli/command"
)

func configCommand(env *console.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Write, show and check knack.yaml",
		Example: `  knack config path
  knack config show
  knack config check`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return noCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(configInitCommand(env), configPathCommand(env), configShowCommand(env), configCheckCommand(env), tokenCommand(env))
	return cmd
}

func tokenCommand(env *console.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Print a new access token, and its line for a token file", Hidden: true, // token new does the same
		Long: `Print a new access token, and its line for a token file.

Give the token to the client. It is sent in the header "Authorization: Bearer",
shown this once and kept nowhere. Add the line to the file that is given to
'knack serve --token-file', with a remark after it if you like.`,
		Example: `  knack config token
  knack config token --json   # for a program that writes the token file`,
		Args: command.ArgCount(0, 0, "no arguments"),
		RunE: command.Returning(env, func(*cobra.Command, []string) (command.Result, error) {
			token, line := access.NewToken()
			return newToken{token, line}, nil
		}),
	}
	cmd.Flags().Bool("json", false, "print a JSON object")
	return cmd
}

type newToken struct {
	Token string `json:"token"`
	Line  string `json:"line"` // for a token file
}

// Print implements [command.Result].
func (t newToken) Print(env *console.Env) {
	fmt.Fprintf(env.Stdout, "token: %s\nline:  %s\n", t.Token, t.Line)
}
