package cli

import (
	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/internal/console"
)

func completionCommand(env *console.Env) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a completion script for bash, zsh, fish or powershell",
		Long: `Print a completion script. For example:

  bash        source <(knack completion bash)
  zsh         knack completion zsh > "${fpath[1]}/_knack"
  fish        knack completion fish > ~/.config/fish/completions/knack.fish
  powershell  knack completion powershell | Out-String | Invoke-Expression`,
		Args:      argCount(1, 1, "one shell: bash, zsh, fish or powershell"),
		ValidArgs: shells,
		RunE: func(cmd *cobra.Command, args []string) error {
			root, w := cmd.Root(), env.Stdout
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(w, true)
			case "zsh":
				return root.GenZshCompletion(w)
			case "fish":
				return root.GenFishCompletion(w, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(w)
			}
			return usageError(meant(args[0], shells, "the shells are bash, zsh, fish and powershell"), "there is no completion for '%s'", args[0])
		},
	}
}
