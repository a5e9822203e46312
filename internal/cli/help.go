package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/internal/console"
	"github.com/knack-dev/knack/internal/topic"
)

// helpWidth is the width of all help, whatever the terminal's is.
const helpWidth = 80

// helpCommand is the command that people try first; the help texts name --help.
func helpCommand(env *console.Env) *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND | TOPIC]", Short: "Describe a command, or explain a topic", Hidden: true,
		Example: `  knack help serve
  knack help config check
  knack help roots`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				if t, found := topic.Find(args[0]); found {
					return console.PrintText(env, t.Text)
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
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			about, _, _ := cmd.Root().Find(args)
			var words []string
			for _, c := range visible(about) {
				words = append(words, cobra.CompletionWithDesc(c.Name(), c.Short))
			}
			if len(args) == 0 {
				for _, t := range topic.All {
					words = append(words, cobra.CompletionWithDesc(t.Name, t.Short))
				}
			}
			return words, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// printUsage prints the part of a command's help below its description.
func printUsage(c *cobra.Command) error {
	w := c.OutOrStderr()
	use, subs := c.UseLine(), visible(c)
	if len(subs) > 0 {
		use = c.CommandPath() + " COMMAND [flags]"
	}
	fmt.Fprintf(w, "Usage:\n  %s\n", use)
	if c.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", c.Example)
	}
	if len(subs) > 0 {
		fmt.Fprint(w, "\nCommands:\n")
		for _, sub := range subs {
			fmt.Fprintf(w, "  %-10s  %s\n", sub.Name(), sub.Short)
		}
	}
	if !c.HasParent() {
		printTopics(w)
	}
	if c.HasAvailableLocalFlags() {
		fmt.Fprintf(w, "\nFlags:\n%s\n", strings.TrimRight(c.LocalFlags().FlagUsagesWrapped(helpWidth), " \n"))
	}
	if len(subs) > 0 {
		fmt.Fprintf(w, "\n'%s COMMAND --help' has examples and the flags of a command.\n", c.CommandPath())
	}
	return nil
}

func printTopics(w io.Writer) {
	fmt.Fprint(w, "\nTopics, for 'knack help TOPIC':\n")
	for _, t := range topic.All {
		fmt.Fprintf(w, "  %-10s  %s\n", t.Name, t.Short)
	}
}

// visible returns the commands below a command that its help lists.
func visible(c *cobra.Command) []*cobra.Command {
	return slices.DeleteFunc(slices.Clone(c.Commands()), func(sub *cobra.Command) bool { return !sub.IsAvailableCommand() })
}

// wrapped returns words in lines of at most [helpWidth] columns, separated by commas.
func wrapped(words []string) string {
	var b strings.Builder
	column := 0
	for i, w := range words {
		switch {
		case column+len(w)+4 > helpWidth: // with the separators
			b.WriteString(",\n")
			column = 0
		case i > 0:
			b.WriteString(", ")
			column += 2
		}
		b.WriteString(w)
		column += len(w)
	}
	return b.String()
}
