package cli

import (
	"embed"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/workspace/config"
	"github.com/knack-dev/knack/internal/workspace/settings"
)

//go:embed templates
var templates embed.FS

var templateNames = []string{"person", "project", "server"}

func configInitCommand(env *console.Env) *cobra.Command {
	var kind, to string
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a commented knack.yaml to start from",
		Long: `Write a commented knack.yaml to start from: yours, the project's in the working
directory, or a server's, server.yaml. No file is overwritten.`,
		Example: `  knack config init                  # your own
  knack config init --for project
  knack config init --for server`,
		Args: command.ArgCount(0, 0, "no arguments"),
		RunE: command.Returning(env, func(cmd *cobra.Command, _ []string) (command.Result, error) {
			if !slices.Contains(templateNames, kind) {
				return nil, command.UsageError("give person, project or server", "--for %s: there is no such kind of file", display.Echo(kind))
			}
			data, err := templates.ReadFile("templates/" + kind + ".yaml")
			if err != nil {
				return nil, err
			}
			at := settings.New(env, "").UserFile()
			switch {
			case cmd.Flags().Changed("to"):
				if to == "" {
					return nil, command.UsageError("give a file, or leave --to out", "--to: the file's name is empty")
				}
				at = env.Absolute(to)
			case kind == "project":
				at = filepath.Join(settings.Root(*env, ""), config.Name)
			case kind == "server":
				at = env.Absolute("server.yaml") // a knack.yaml here would belong to a project
			case at == "":
				return nil, command.RunError("set HOME, or give --to", "the home folder is not known, so there is no place for your own file")
			}
			if kind == "project" && to == "" && settings.Root(*env, "") == "" {
				return nil, command.UsageError("go to the project's folder, or give --to", "the home folder is not a project")
			}
			if err := edit.MakeFolder(filepath.Dir(at), 0o755); err != nil {
				return nil, command.RunError("check the folder", "%s cannot be made: %w", env.Shown(filepath.Dir(at)), command.Cause(err))
			}
			err = edit.Create(at, data, 0o644)
			if errors.Is(err, edit.ErrExists) {
				return nil, command.Fail(command.No, fmt.Errorf("%s is there already", env.Shown(at)), "edit it, or give another file with --to")
			}
			if err != nil {
				return nil, command.Unwritten(env, at, err, "check the folder", "")
			}
			return command.Text(func(env *console.Env) {
				env.Out().Line("wrote %s", env.Shown(at))
				if kind == "server" {
					env.Err().Text(console.Hint, "knack serve --config "+console.ShellWord(env.Shown(at))+" starts it, once the folder of its root is there")
				} else {
					env.Err().Text(console.Hint, "edit it; knack config check finds mistakes")
				}
			}), nil
		}),
	}
	cmd.Flags().StringVar(&kind, "for", "person", "the file is for a `KIND`: person, project or server")
	cmd.Flags().StringVar(&to, "to", "", "write `FILE`")
	_ = cmd.MarkFlagFilename("to")
	_ = cmd.RegisterFlagCompletionFunc("for", cobra.FixedCompletions(templateNames, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}
