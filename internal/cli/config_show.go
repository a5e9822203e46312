package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/workspace/config"
	"github.com/knack-dev/knack/internal/workspace/settings"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// configFiles lists the configuration files that apply here, and their settings. It is the result
// of config path and config show.
type configFiles struct {
	Version  int           `json:"version"`
	Files    []configFile  `json:"files"`
	Settings []settingLine `json:"settings,omitempty"`
	// Warnings are about files that look like settings and are not read.
	Warnings []string `json:"warnings,omitempty"`

	show bool // print the settings in place of the files
}

// configFile is a configuration file that applies here. The user's own file is listed even if it
// does not exist.
type configFile struct {
	File    string `json:"file"`
	Owner   string `json:"owner"` // "project", "user", or "given" on the command line
	Missing bool   `json:"missing,omitempty"`
	// Refused is the first problem of a refused file. Nothing in such a file is used.
	Refused string `json:"refused,omitempty"`

	onlyHTTP []string // the sections of the user's file that apply only over HTTP
}

// settingLine is a setting. Its key is written as in doc/configuration.md.
type settingLine struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	File   string `json:"file"`
	Line   int    `json:"line"`
	Unused bool   `json:"unused,omitempty"` // it has no effect in this file
}

func configPathCommand(env *console.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "path",
		Short: "Print which configuration files count here, and why",
		Long: `Print which configuration files count here, and why. The exit status is 1 if one
of them is refused, because it has a mistake: then nothing in it is used.`,
		Example: `  knack config path
  knack config path --json`,
		Args: command.ArgCount(0, 0, "no arguments"),
		RunE: command.Returning(env, func(*cobra.Command, []string) (command.Result, error) {
			return filesHere(env, "", false)
		}),
	}
	cmd.Flags().Bool("json", false, "print a JSON object")
	return cmd
}

func configShowCommand(env *console.Env) *cobra.Command {
	var given string
	cmd := &cobra.Command{
		Use:   "show [FILE]",
		Short: "Print the settings in effect here, each with its file and line",
		Long: `Print the settings in effect here, each with its file and line: of the project's
file and of your own. With FILE, print the settings of 'knack serve --config
FILE', which reads no other file. A setting that is in no file has its default
(knack help settings). One that does not count where it is says so. Of a file
with a mistake nothing is used, and the exit status is 1.`,
		Example: `  knack config show
  knack config show /etc/knack/knack.yaml   # of a server
  knack config show --json`,
		Args: command.ArgCount(0, 1, "one file, or nothing"),
		RunE: command.Returning(env, func(cmd *cobra.Command, args []string) (command.Result, error) {
			flag := cmd.Flags().Changed("config")
			switch {
			case flag && len(args) == 1:
				return nil, command.UsageError("leave out one of the two", "the file is given twice, as an argument and with --config")
			case len(args) == 1:
				given = args[0]
			}
			if given == "" && (flag || len(args) == 1) {
				return nil, command.UsageError("give a file, or none", "the file's name is empty")
			}
			return filesHere(env, given, true)
		}),
	}
	cmd.Flags().StringVar(&given, "config", "", "as FILE: the settings of a server with --config `FILE`")
	cmd.Flags().Bool("json", false, "print a JSON object")
	_ = cmd.MarkFlagFilename("config", "yaml")
	return cmd
}

// filesHere returns the given file, or those for the working directory. If show is set, it adds
// their settings. A refused file is also reported as an error.
func filesHere(env *console.Env, given string, show bool) (command.Result, error) {
	s := settings.New(env, given)
	files, err := s.Files(env.Dir)
	if err != nil {
		return nil, err
	}
	out := configFiles{Version: 1, Files: []configFile{}, Warnings: s.Unread(env.Dir), show: show}
	var failures []*command.Failure
	own := s.UserFile()
	for _, f := range files {
		one := configFile{File: f.Shown, Owner: "project"}
		switch {
		case given != "":
			one.Owner = "given"
		case f.Path == own:
			one.Owner = "user"
			_, one.onlyHTTP = config.Transports(f.Data, f.Kind)
		}
		if bad := command.FailureIn(f.Refused()); bad != nil {
			one.Refused = bad.Error()
			failures = append(failures, command.Fail(command.No, fmt.Errorf("nothing in %s is used: %w", f.Shown, bad.Err), bad.Hint))
		} else if show {
			out.add(f)
		}
		out.Files = append(out.Files, one)
	}
	if given == "" && own != "" && !slices.ContainsFunc(files, func(f *settings.File) bool { return f.Path == own }) {
		out.Files = append(out.Files, configFile{File: env.Shown(own), Owner: "user", Missing: true})
	}
	return out, command.Joined(failures, "error:")
}

// Print implements [command.Result].
func (c configFiles) Print(env *console.Env) {
	if c.show {
		if !slices.ContainsFunc(c.Files, func(f configFile) bool { return !f.Missing }) {
			env.Err().Line("there is no file, so all settings have their defaults; knack config init writes one")
		}
		for _, s := range c.Settings {
			text := s.Value
			if s.Unused {
				text += "  (does not count in this file)"
			}
			env.Out().Line("%s: %s  %s:%d", s.Key, text, s.File, s.Line)
		}
		return
	}
	for _, f := range c.Files {
		why := "of the project: 'check' and 'project' count, since it comes with a clone"
		switch {
		case f.Missing:
			why = "is not there; 'knack config init' writes it"
		case f.Refused != "" && f.Owner == "user":
			why = "your own: it is refused, and nothing in it is used"
		case f.Refused != "":
			why = "of the project: it is refused, and nothing in it is used"
		case f.Owner == "user":
			why = "your own: all sections count"
			if len(f.onlyHTTP) > 0 {
				why += ", " + strings.Join(f.onlyHTTP, ", ") + " only over HTTP"
			}
		}
		env.Out().Line("%s  %s", f.File, why)
	}
	for _, text := range c.Warnings {
		env.Err().Text(console.Warning, text)
	}
}

// add adds the settings of a file.
func (c *configFiles) add(f *settings.File) {
	unused := map[string]bool{}
	for _, p := range config.Misplaced(f.Data, f.Kind) {
		unused[p.Field] = true
	}
	v, _ := frontmatter.ParseYAML(strings.TrimPrefix(string(f.Data), "\ufeff"))
	for _, section := range v.Fields {
		c.addSetting(f, section.Key, section.Value, unused)
	}
}

// addSetting adds a setting or, for a section, each setting in it.
func (c *configFiles) addSetting(f *settings.File, path string, v frontmatter.Value, unused map[string]bool) {
	section, rest, _ := strings.Cut(path, ".")
	key, _, _ := strings.Cut(rest, ".")
	out := unused[section] || unused[section+"."+key]
	text := display.OneLine(v.Text)
	switch v.Kind {
	case frontmatter.Map:
		for _, field := range v.Fields {
			c.addSetting(f, path+"."+display.OneLine(field.Key), field.Value, unused)
		}
		return
	case frontmatter.List:
		var words []string
		for _, item := range v.Items {
			if item.Kind == frontmatter.Map || item.Kind == frontmatter.List {
				for i, item := range v.Items {
					c.addSetting(f, fmt.Sprintf("%s[%d]", path, i), item, unused)
				}
				return
			}
			words = append(words, display.OneLine(item.Text))
		}
		text = "[" + strings.Join(words, ", ") + "]"
	}
	if _, err := skill.ParseDigest(text); err != nil { // a digest is no secret
		text = display.RedactWords([]string{text})[0]
	}
	c.Settings = append(c.Settings, settingLine{path, text, f.Shown, v.Position.Line, out})
}
