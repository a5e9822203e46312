package help

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manyCommands is the minimum number of commands that share a flag with the same meaning. The topic
// flags describes such a flag, and the help of each command only names it.
const manyCommands = 6

// Shared returns the shared flags of all commands, in alphabetical order.
func Shared(root *cobra.Command) (all []*pflag.Flag) {
	type meaning struct{ name, usage string }
	uses := map[meaning]int{}
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	visit(root, func(c *cobra.Command) {
		c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
			m := meaning{f.Name, f.Usage}
			if uses[m]++; uses[m] == manyCommands && !f.Hidden && f.Name != "help" {
				set.AddFlag(f)
			}
		})
	})
	set.VisitAll(func(f *pflag.Flag) { all = append(all, f) })
	return all
}

// visit calls f for a command and all commands below it that help lists.
func visit(c *cobra.Command, f func(*cobra.Command)) {
	f(c)
	for _, sub := range Commands(c) {
		visit(sub, f)
	}
}

// Split returns the flags of a command: those that are specific to it, and the shared ones.
func Split(c *cobra.Command) (own, shared *pflag.FlagSet) {
	own, shared = pflag.NewFlagSet("", pflag.ContinueOnError), pflag.NewFlagSet("", pflag.ContinueOnError)
	all := Shared(c.Root())
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		to := own
		for _, s := range all {
			if s.Name == f.Name && s.Usage == f.Usage {
				to = shared
			}
		}
		to.AddFlag(f)
	})
	return own, shared
}

// namesOf returns the names of flags and of their values, in lines of at most [Width] columns.
func namesOf(flags *pflag.FlagSet) string {
	var names []string
	flags.VisitAll(func(f *pflag.Flag) {
		if value, _ := pflag.UnquoteUsage(f); !f.Hidden {
			names = append(names, strings.TrimSpace("--"+f.Name+" "+value))
		}
	})
	lines := strings.Split(Wrapped(names), "\n")
	return "  " + strings.Join(lines, "\n  ")
}

// sharedFlags returns the text of the topic flags.
func sharedFlags(root *cobra.Command) string {
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, f := range Shared(root) {
		set.AddFlag(f)
	}
	return "The flags that many commands have. 'knack COMMAND --help' names those of a\ncommand, after its own.\n\n" +
		strings.TrimRight(set.FlagUsagesWrapped(Width), " \n") + "\n"
}
