package cli

import (
	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/typo"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/cli/selection"
)

func completionCommand(env *console.Env) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a completion script for bash, zsh, fish or powershell",
		Long: `Print a completion script. It completes commands, flags and their values, and
the names and files of skills. It leaves out names with characters that mean
something to a shell, and gives up after a second if a disk does not answer.

In bash, with its package bash-completion, add the first example below to
~/.bashrc. In zsh, the script is called _knack, in a folder of $fpath. In
PowerShell, run 'knack completion powershell | Out-String | Invoke-Expression'.`,
		Example: `  source <(knack completion bash)
  knack completion zsh >~/.zfunc/_knack
  knack completion fish >~/.config/fish/completions/knack.fish`,
		Args:      command.ArgCount(1, 1, "one shell: bash, zsh, fish or powershell"),
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
			return command.UsageError(typo.Hint(args[0], shells, "the shells are bash, zsh, fish and powershell"), "there is no completion for '%s'", args[0])
		},
	}
}

// completeRest registers the completion of check --ignore, and turns off file names for commands
// that take no file.
func completeRest(root *cobra.Command) {
	for _, c := range root.Commands() {
		if c.Name() == "check" {
			_ = c.RegisterFlagCompletionFunc("ignore", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
				return selection.Rules(), cobra.ShellCompDirectiveNoFileComp
			})
		} else if c.ValidArgs == nil && c.ValidArgsFunction == nil {
			c.ValidArgsFunction = cobra.NoFileCompletions
		}
	}
}
