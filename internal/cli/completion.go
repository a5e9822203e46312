package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/source/builtin"
)

func completionCommand(env *console.Env) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a completion script for bash, zsh, fish or powershell",
		Long: `Print a completion script. It completes commands, flags and their values, and
the names and files of skills. It leaves out names with characters that mean
something to a shell, and gives up after a second if a disk does not answer.

In bash, add the first example below to ~/.bashrc. In zsh, the script is called
_knack, in a folder of $fpath. In PowerShell, run
'knack completion powershell | Out-String | Invoke-Expression'.`,
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
			return command.UsageError(meant(args[0], shells, "the shells are bash, zsh, fish and powershell"), "there is no completion for '%s'", args[0])
		},
	}
}

// next is what follows the name of a skill in a command line.
type next int

const (
	nextNothing next = iota
	nextFile         // one of the skill's files
	nextSkill        // another skill
)

// completeSkill completes the name of a skill and what follows it. Unless files of skills follow,
// an argument may be a path, too.
func (f *sourceFlags) completeSkill(env *console.Env, follows next) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		isSkill := len(args) == 0 || follows == nextSkill
		if !isSkill && (follows == nextNothing || len(args) > 1) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		words, _ := InTime(cmd.Context(), func(ctx context.Context) []string {
			v, err := f.viewSoon(ctx, *env)
			if err != nil {
				return nil
			}
			if isSkill {
				return Skills(v, typed)
			}
			e, _, err := findSkill(v, args[0], nil)
			if err != nil {
				return nil
			}
			return Files(ctx, e, typed)
		})
		if follows == nextFile {
			return words, cobra.ShellCompDirectiveNoFileComp
		}
		return words, cobra.ShellCompDirectiveDefault
	}
}

// completeLabel completes the label of a root.
func (f *sourceFlags) completeLabel(env *console.Env) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		words, _ := InTime(cmd.Context(), func(context.Context) []string {
			_ = f.load(*env) // a file that cannot be read names no root
			return append(labels(f.roots(*env, nil)), builtin.Label)
		})
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

// viewSoon returns what can be read in a moment, and prints no warning: the user is in the
// middle of a line.
func (f *sourceFlags) viewSoon(ctx context.Context, env console.Env) (catalog.View, error) {
	env.Stderr = io.Discard
	if err := f.load(env); err != nil {
		return catalog.View{}, err
	}
	sources, err := f.sources(env, nil)
	if err != nil {
		return catalog.View{}, err
	}
	o := f.options(env)
	o.Patience = RootPatience
	c := catalog.New(sources, o)
	if err := c.Refresh(ctx); err != nil {
		return catalog.View{}, err
	}
	return c.View(ctx)
}

// completeRest completes the rules of check. Commands that take no file get no file names.
func completeRest(root *cobra.Command) {
	for _, c := range root.Commands() {
		if c.Name() == "check" {
			_ = c.RegisterFlagCompletionFunc("ignore", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
				return Rules(), cobra.ShellCompDirectiveNoFileComp
			})
		} else if c.ValidArgs == nil && c.ValidArgsFunction == nil {
			c.ValidArgsFunction = cobra.NoFileCompletions
		}
	}
}
