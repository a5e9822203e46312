package cli

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/source/dir"
)

// doc/cli.md describes each command in the words of its help.
func TestCommandReference(t *testing.T) {
	var b strings.Builder
	describe(&b, newRoot(&console.Env{}))
	compareSection(t, "../../doc/cli.md", "commands", b.String())
}

// doc/roots.md lists the well-known folders in their order.
func TestRootsReference(t *testing.T) {
	rel := func(folder, path string) string {
		below, err := filepath.Rel(folder, path)
		if err != nil {
			t.Fatal(err)
		}
		return "`" + filepath.ToSlash(below) + "`"
	}
	project, home := filepath.Join(t.TempDir(), "project"), t.TempDir()
	var order []string
	type row struct{ project, user, labels []string } // of one client
	rows := map[string]*row{}
	for _, root := range dir.WellKnown([]string{project}, home, nil) {
		name, scope := root.Label[:strings.LastIndex(root.Label, "-")], root.Label[strings.LastIndex(root.Label, "-"):]
		if rows[name] == nil {
			rows[name], order = &row{}, append(order, name)
		}
		r := rows[name]
		r.labels = append(r.labels, "`"+root.Label+"`")
		if scope == "-project" {
			r.project = append(r.project, rel(project, root.Dir))
		} else {
			r.user = append(r.user, rel(home, root.Dir))
		}
	}
	b := strings.Builder{}
	b.WriteString("| below the project | below the home folder | labels |\n|---|---|---|\n")
	for _, name := range order {
		r := rows[name]
		fmt.Fprintf(&b, "| %s | %s | %s |\n", strings.Join(r.project, ", "), strings.Join(r.user, ", "), strings.Join(r.labels, ", "))
	}
	compareSection(t, "../../doc/roots.md", "roots", b.String())
}

// compareSection compares the part of a page between <!-- name --> and <!-- /name -->
// with want. With -update it writes want there.
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

// updating reports whether the tests rewrite what they compare.
func updating() bool { return flag.Lookup("update").Value.String() == "true" }

// describe writes the sections of a command and its subcommands. Of the root command
// it writes the list alone.
func describe(b *strings.Builder, c *cobra.Command) {
	if c.Runnable() && c.HasParent() {
		c.InitDefaultHelpFlag()
		fmt.Fprintf(b, "## %s\n\n```text\n%s\n```\n\n", c.CommandPath(), c.UseLine())
		fmt.Fprintf(b, "```text\n%s\n```\n\n", longText(c))
		if c.HasExample() {
			fmt.Fprintf(b, "```sh\n%s\n```\n\n", strings.TrimPrefix(strings.ReplaceAll(c.Example, "\n  ", "\n"), "  "))
		}
		var rows strings.Builder
		flags(c, func(f *pflag.Flag, value, usage string) {
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
	for _, sub := range subcommands(c) {
		describe(b, sub)
	}
}

// subcommands returns the commands below a command that its help lists.
func subcommands(c *cobra.Command) []*cobra.Command {
	return slices.DeleteFunc(slices.Clone(c.Commands()), func(sub *cobra.Command) bool { return sub.Name() == "help" || sub.Hidden })
}

// longText returns what a command's help says about it.
func longText(c *cobra.Command) string {
	if c.Long == "" {
		return c.Short + "."
	}
	return c.Long
}

// flags visits the flags of a command, each with the name of its value and its meaning.
func flags(c *cobra.Command, visit func(f *pflag.Flag, value, usage string)) {
	c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && !f.Hidden {
			value, usage := pflag.UnquoteUsage(f)
			visit(f, value, usage)
		}
	})
}
