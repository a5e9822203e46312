// Package selection has the flags that choose the skills of a command. It finds the skills that
// arguments name, and completes these names.
package selection

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/workspace"
	"github.com/knack-dev/knack/tool"
)

// Flags are the flags of a command that choose skills. [workspace.Options] defines their meaning.
type Flags struct {
	workspace.Options
	// Unguarded is set by a command that also reads the skills that the operator's policy holds
	// back.
	Unguarded bool

	cmd *cobra.Command
}

// Register registers the flags that every command with skills has.
func (f *Flags) Register(cmd *cobra.Command, env *console.Env) {
	f.Env, f.cmd = env, cmd
	flags := cmd.Flags()
	flags.Var((*command.Repeated)(&f.Dirs), "dir", "serve the skills below `DIR` instead of the well-known folders (repeatable)")
	flags.StringVar(&f.Project, "project", "", command.ProjectUsage)
	flags.BoolVar(&f.Below, "below", false, "also the skills of the project's sub-packages, such as those in packages/web/.claude/skills")
	flags.Var((*command.Repeated)(&f.Exclude), "exclude", "do not list the skills of the root with this `LABEL`, for example claude-user; by name they still load (repeatable)")
	flags.BoolVar(&f.NoBuiltin, "no-builtin", false, "leave out the skills that are built into knack")
	_ = cmd.RegisterFlagCompletionFunc("exclude", f.completeLabel)
	_ = cmd.MarkFlagDirname("dir")
	_ = cmd.MarkFlagDirname("project")
}

// RootsUsage describes the flag --config of a command that reads only the roots and sources of the
// file.
const RootsUsage = "read the skills of the roots that `FILE` names, as 'knack serve --config' does, and what the store has of its sources"

// RegisterConfig registers --config.
func (f *Flags) RegisterConfig(usage string) {
	f.cmd.Flags().StringVar(&f.Config, "config", "", usage)
	_ = f.cmd.MarkFlagFilename("config")
}

// RegisterTools registers --tools. verb is put before "the tools" in the usage text, and may be "".
func (f *Flags) RegisterTools(verb string) {
	f.Tools = &workspace.Tools{}
	f.cmd.Flags().StringVar(&f.Tools.Set, "tools", tool.DefaultSet, verb+"the tools of `SET`: "+strings.Join(tool.SetNames(), ", ")+"; several separated by commas")
	_ = f.cmd.RegisterFlagCompletionFunc("tools", cobra.FixedCompletions(tool.SetNames(), cobra.ShellCompDirectiveNoFileComp))
}

// Given reports whether a flag was given.
func (f *Flags) Given(flag string) bool { return f.cmd != nil && f.cmd.Flags().Changed(flag) }

// Open opens the workspace that the flags choose, and prints its warnings. It returns an error for
// an empty value, which usually comes from an unset shell variable.
func (f *Flags) Open() (*workspace.Workspace, error) {
	for _, e := range [][3]string{
		{"project", "a folder", "the folder's name"},
		{"config", "a file", "the file's name"},
		{"source", "a source", "the source"},
		{"http", "a port or host:port", "the address"},
	} {
		if !f.Given(e[0]) {
			continue
		}
		if err := command.GivenEmpty(f.cmd, e[0], e[1], e[2]); err != nil {
			return nil, err
		}
	}
	o := f.Options
	o.Warn = func(text string) { f.Env.Err().Text(console.Warning, text) }
	if f.Tools != nil {
		t := *f.Tools
		t.Given = f.Given("tools")
		o.Tools = &t
	}
	return f.open(o)
}

func (f *Flags) open(o workspace.Options) (*workspace.Workspace, error) {
	if f.Unguarded {
		return workspace.OpenUnguarded(o)
	}
	return workspace.Open(o)
}
