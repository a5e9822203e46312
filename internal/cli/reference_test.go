package cli

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/knack-dev/knack/internal/base/agents"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli/help"
)

// TestCommandReference checks that doc/cli.md describes each command with the text of its help.
func TestCommandReference(t *testing.T) {
	var b strings.Builder
	root := newRoot(&console.Env{})
	describe(&b, root)
	shared := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, f := range help.Shared(root) {
		shared.AddFlag(f)
	}
	b.WriteString("## Flags that many commands have\n\n")
	tabulate(&b, shared)
	compareSection(t, "../../doc/cli.md", "commands", b.String())
}

// TestRootsReference checks that doc/roots.md lists the folders of the table of agents in their
// order.
func TestRootsReference(t *testing.T) {
	b := strings.Builder{}
	b.WriteString("| below the project | yours | labels | moved by |\n|---|---|---|---|\n")
	for _, p := range agents.Pairs() {
		var labels []string
		project, home, moved := quoted(p.Project), quoted(agents.Homes{Home: "~"}.Path(p.Home)), ""
		if p.Common {
			project += ", if " + p.Agent.Name + " is there"
		}
		if p.Project != "" {
			labels = append(labels, quoted(p.InProject))
		}
		if p.Home != "" {
			labels = append(labels, quoted(p.AtHome))
		}
		if strings.HasPrefix(p.Home, "$") {
			moved = quoted(p.Home)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", project, home, strings.Join(labels, ", "), moved)
	}
	compareSection(t, "../../doc/roots.md", "roots", b.String())
}

// TestAgentsReference checks that the README lists every agent of the table with the folders that
// it reads, as its first sentence promises; see [TestEveryPlace].
func TestAgentsReference(t *testing.T) {
	const first = "\nknack finds the skills in every folder that agents read, and serves them to any agent that speaks MCP.\n"
	if readme, err := os.ReadFile("../../README.md"); err != nil || !strings.Contains(string(readme), first) {
		t.Errorf("the README does not say %q: %v", first, err)
	}
	b := strings.Builder{}
	b.WriteString("| agent | in a project | at home |\n|---|---|---|\n")
	for _, a := range agents.All() {
		var project, home []string
		for _, p := range agents.Pairs() {
			if slices.Contains(a.Reads, p.InProject) {
				project = append(project, quoted(p.Project))
			}
			if slices.Contains(a.Reads, p.AtHome) {
				at := agents.Homes{Home: "~"}.Path(p.Home)
				if at == "" {
					at = p.Home
				}
				home = append(home, quoted(at))
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", a.Name, strings.Join(project, " "), strings.Join(slices.Compact(home), " "))
	}
	compareSection(t, "../../README.md", "agents", b.String())
}

// quoted returns a word as Markdown code, or "" for "".
func quoted(word string) string {
	if word == "" {
		return ""
	}
	return "`" + word + "`"
}

// compareSection checks that the part of a page between <!-- name --> and <!-- /name --> is want.
// With -update it writes want there.
func compareSection(t *testing.T, page, name, want string) {
	t.Helper()
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(data), "<!-- "+name+" -->\n")
	got, after, closed := strings.Cut(rest, "<!-- /"+name+" -->\n")
	if !found || !closed {
		t.Fatalf("%s has no section <!-- %s -->", page, name)
	}
	diff := cmp.Diff(want, got)
	if diff == "" {
		return
	}
	if !updating() {
		t.Fatalf("%s is out of date; go test ./internal/cli -run Reference -update rewrites it\n%s", page, diff)
	}
	if err := os.WriteFile(page, []byte(before+"<!-- "+name+" -->\n"+want+"<!-- /"+name+" -->\n"+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// updating reports whether the tests write their expected files.
func updating() bool { return flag.Lookup("update").Value.String() == "true" }

// describe writes the sections of a command and its subcommands. For the root command it writes
// only the list.
func describe(b *strings.Builder, c *cobra.Command) {
	if c.Runnable() && c.HasParent() {
		c.InitDefaultHelpFlag()
		fmt.Fprintf(b, "## %s\n\n```text\n%s\n```\n\n", c.CommandPath(), c.UseLine())
		fmt.Fprintf(b, "```text\n%s\n```\n\n", longText(c))
		if c.HasExample() {
			fmt.Fprintf(b, "```sh\n%s\n```\n\n", strings.TrimPrefix(strings.ReplaceAll(c.Example, "\n  ", "\n"), "  "))
		}
		own, shared := help.Split(c)
		tabulate(b, own)
		var names []string
		shared.VisitAll(func(f *pflag.Flag) { names = append(names, "`--"+f.Name+"`") })
		if len(names) > 0 {
			fmt.Fprintf(b, "[Flags that many commands have](#flags-that-many-commands-have): %s\n\n", strings.Join(names, ", "))
		}
	}
	for _, sub := range subcommands(c) {
		describe(b, sub)
	}
}

// tabulate writes a table of flags. It writes nothing if there are no flags.
func tabulate(b *strings.Builder, all *pflag.FlagSet) {
	var rows strings.Builder
	all.VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" || f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		if value != "" {
			name += " " + value
		}
		fmt.Fprintf(&rows, "| %s | %s |\n", name, strings.ReplaceAll(usage, "|", `\|`))
	})
	if rows.Len() > 0 {
		fmt.Fprintf(b, "| flag | meaning |\n|---|---|\n%s\n", rows.String())
	}
}

// subcommands returns the commands below a command that its help lists.
func subcommands(c *cobra.Command) []*cobra.Command {
	return slices.DeleteFunc(slices.Clone(c.Commands()), func(sub *cobra.Command) bool { return sub.Name() == "help" || sub.Hidden })
}

// longText returns the long description in a command's help.
func longText(c *cobra.Command) string {
	if c.Long == "" {
		return c.Short + "."
	}
	return c.Long
}

// flags calls visit for each flag of a command, with the name of its value and its meaning.
func flags(c *cobra.Command, visit func(f *pflag.Flag, value, usage string)) {
	c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && !f.Hidden {
			value, usage := pflag.UnquoteUsage(f)
			visit(f, value, usage)
		}
	})
}
