package cli

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/typo"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/cli/help"
)

// noCommand returns the error for a word that is not a subcommand of parent.
func noCommand(parent *cobra.Command, typed string) error {
	var names []string
	best := ""
	for _, c := range parent.Commands() {
		if slices.Contains(c.SuggestFor, strings.ToLower(typed)) {
			best = c.Name()
		}
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	if !parent.HasParent() {
		for _, t := range help.Topics {
			names = append(names, t.Name)
		}
	}
	if best == "" {
		best = typo.Nearest(typed, names)
	}
	hint := "run '" + parent.CommandPath() + " --help' for the commands"
	if len(names) == 0 {
		hint = "run '" + parent.CommandPath() + " --help' for its use"
	}
	if _, found := help.Find(best); found {
		hint = "did you mean 'knack help " + best + "'?"
	} else if best != "" {
		hint = "did you mean '" + parent.CommandPath() + " " + best + "'?"
	}
	of := strings.TrimPrefix(parent.CommandPath()+" ", parent.Root().Name()+" ")
	return command.UsageError(hint, "there is no command '%s%s'", of, display.Echo(typed))
}

// flagHint returns the hint for an error in a command's flags.
func flagHint(cmd *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		typed := unknown.GetSpecifiedName()
		if group := unknown.GetSpecifiedShortnames(); group != "" {
			typed, _, _ = strings.Cut(group, "=") // -dir for --dir
			if strings.EqualFold(typed, "v") {
				typed = "version"
			}
		}
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, f.Name)
			}
		})
		if best := typo.Nearest(typed, names); best != "" {
			return "did you mean --" + best + "?"
		}
	}
	return "run '" + cmd.CommandPath() + " --help' for its flags"
}
