package help

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Width is the width of all help texts in columns. It does not depend on the terminal.
const Width = 80

// Usage prints the part of a command's help below its description.
func Usage(c *cobra.Command) error {
	w := c.OutOrStderr()
	use, subs := c.UseLine(), Commands(c)
	if len(subs) > 0 {
		use = c.CommandPath() + " COMMAND [flags]"
	}
	fmt.Fprintf(w, "Usage:\n  %s\n", use)
	if c.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", c.Example)
	}
	switch {
	case !c.HasParent():
		printGroups(w, subs)
		printTopics(w)
	case len(subs) > 0:
		fmt.Fprint(w, "\nCommands:\n")
		for _, sub := range subs {
			fmt.Fprintf(w, "  %-10s  %s\n", sub.Name(), sub.Short)
		}
	}
	if c.HasAvailableLocalFlags() {
		own, shared := Split(c)
		fmt.Fprintf(w, "\nFlags:\n%s\n", strings.TrimRight(own.FlagUsagesWrapped(Width), " \n"))
		if shared.HasAvailableFlags() {
			fmt.Fprintf(w, "\nFlags that many commands have ('knack help flags'):\n%s\n", namesOf(shared))
		}
	}
	if len(subs) > 0 {
		fmt.Fprintf(w, "\n'%s COMMAND --help' has examples and the flags of a command.\n", c.CommandPath())
	}
	return nil
}

// Groups are the commands by purpose, in the order of the help. A command outside the groups is
// hidden.
var Groups = []struct {
	Title    string
	Commands []string
}{
	{"Look", []string{"list", "search", "show", "doctor"}},
	{"Connect", []string{"connect", "serve", "login", "logout"}},
	{"Install", []string{"add", "update", "remove", "sync", "verify"}},
	{"Write", []string{"new", "check", "eval"}},
	{"Trust", []string{"scan", "approve"}},
	{"Share", []string{"publish", "pull"}},
	{"Build", []string{"tools", "call", "chat"}},
	{"Settings", []string{"config", "token", "completion"}},
}

func printGroups(w io.Writer, subs []*cobra.Command) {
	for _, g := range Groups {
		fmt.Fprintf(w, "\n%s:\n", g.Title)
		for _, name := range g.Commands {
			if i := slices.IndexFunc(subs, func(c *cobra.Command) bool { return c.Name() == name }); i >= 0 {
				fmt.Fprintf(w, "  %-10s  %s\n", name, subs[i].Short)
			}
		}
	}
}

func printTopics(w io.Writer) {
	fmt.Fprint(w, "\nTopics, for 'knack help TOPIC':\n")
	for _, t := range Topics {
		fmt.Fprintf(w, "  %-10s  %s\n", t.Name, t.Short)
	}
}

// Complete completes the name of a command or a topic.
func Complete(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	about, _, _ := cmd.Root().Find(args)
	var words []string
	for _, c := range Commands(about) {
		words = append(words, cobra.CompletionWithDesc(c.Name(), c.Short))
	}
	if len(args) == 0 {
		for _, t := range Topics {
			words = append(words, cobra.CompletionWithDesc(t.Name, t.Short))
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// Commands returns the subcommands that the help of a command lists.
func Commands(c *cobra.Command) []*cobra.Command {
	return slices.DeleteFunc(slices.Clone(c.Commands()), func(sub *cobra.Command) bool { return !sub.IsAvailableCommand() })
}

// Wrapped joins words with commas, in lines of at most [Width] columns.
func Wrapped(words []string) string {
	var b strings.Builder
	column := 0
	for i, w := range words {
		switch {
		case column+len(w)+6 > Width: // with the separators and a margin
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
