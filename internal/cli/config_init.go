package cli

import (
	"embed"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/workspace/config"
	"github.com/knack-dev/knack/internal/workspace/settings"
	"github.com/knack-dev/knack/skill/frontmatter"
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
				return nil, command.UsageError("give person, project or server", "--for %s is no kind of file", display.Echo(kind))
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
				at = env.Absolute("server.yaml") // a knack.yaml here is a project's
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

func configPathCommand(env *console.Env) *cobra.Command {
	return &cobra.Command{
		Use:     "path",
		Short:   "Print which configuration files count here, and why",
		Example: `  knack config path`,
		Args:    command.ArgCount(0, 0, "no arguments"),
		RunE: command.Returning(env, func(*cobra.Command, []string) (command.Result, error) {
			s := settings.New(env, "")
			files, err := s.Files(env.Dir)
			if err != nil {
				return nil, err
			}
			return command.Text(func(env *console.Env) {
				own := s.UserFile()
				for _, f := range files {
					why := "of the project: 'check' and 'project' count, since it comes with a clone"
					if f.Path == own {
						why = "your own: all sections count, for a server over standard input and output those that 'knack config check' names"
					}
					env.Out().Line("%s  %s", env.Shown(f.Path), why)
				}
				if !slices.ContainsFunc(files, func(f *settings.File) bool { return f.Path == own }) && own != "" {
					env.Out().Line("%s  is not there; 'knack config init' writes it", env.Shown(own))
				}
				for _, text := range s.Unread(env.Dir) {
					env.Err().Text(console.Warning, text)
				}
			}), nil
		}),
	}
}

func configShowCommand(env *console.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "show",
		Short: "Print the settings in effect here, each with its file and line",
		Long: `Print the settings in effect here, each with its file and line: of the project's
file and of your own. A setting that is in no file has its default
(knack help settings). One that does not count where it is says so.`,
		Example: `  knack config show`,
		Args:    command.ArgCount(0, 0, "no arguments"),
		RunE: command.Returning(env, func(*cobra.Command, []string) (command.Result, error) {
			files, err := settings.New(env, "").Files(env.Dir)
			if err != nil {
				return nil, err
			}
			return command.Text(func(env *console.Env) {
				if len(files) == 0 {
					env.Err().Line("there is no file, so all settings have their defaults; knack config init writes one")
				}
				for _, f := range files {
					out := map[string]bool{}
					for _, p := range config.Misplaced(f.Data, f.Kind) {
						out[p.Field] = true
					}
					v, _ := frontmatter.ParseYAML(strings.TrimPrefix(string(f.Data), "\ufeff"))
					for _, section := range v.Fields {
						printSetting(env, f.Shown, section.Key, section.Value, out[section.Key])
					}
				}
			}), nil
		}),
	}
}

// printSetting prints a setting, or each one in a section, in the form of doc/configuration.md.
func printSetting(env *console.Env, file, path string, v frontmatter.Value, out bool) {
	text := display.OneLine(v.Text)
	switch v.Kind {
	case frontmatter.Map:
		for _, f := range v.Fields {
			printSetting(env, file, path+"."+display.OneLine(f.Key), f.Value, out)
		}
		return
	case frontmatter.List:
		var words []string
		for _, item := range v.Items {
			if item.Kind == frontmatter.Map || item.Kind == frontmatter.List {
				for i, item := range v.Items {
					printSetting(env, file, fmt.Sprintf("%s[%d]", path, i), item, out)
				}
				return
			}
			words = append(words, display.OneLine(item.Text))
		}
		text = "[" + strings.Join(words, ", ") + "]"
	}
	if text = display.RedactWords([]string{text})[0]; out {
		text += "  (does not count in this file)"
	}
	env.Out().Line("%s: %s  %s:%d", path, text, file, v.Position.Line)
}
