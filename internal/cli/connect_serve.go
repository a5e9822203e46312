package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/clientconfig"
	"github.com/knack-dev/knack/internal/workspace/settings"
	"github.com/knack-dev/knack/tool"
)

// splitDash splits the arguments at --. Without --, after is nil.
func splitDash(cmd *cobra.Command, args []string) (before, after []string) {
	at := cmd.ArgsLenAtDash()
	if at < 0 {
		return args, nil
	}
	return args[:at], append([]string{}, args[at:]...)
}

// argumentsOfServe checks flags of serve as serve does, and returns them in the form for an entry.
// Tools outside the default set list the same skills for every client. An entry with only such
// tools therefore excludes the roots that the client reads itself.
func (f *connectFlags) argumentsOfServe(env *console.Env, c clientconfig.Client, words []string) ([]string, error) {
	if f.url != "" {
		return nil, command.UsageError("give them to the knack serve behind that URL", "flags of serve after -- are for a server that the client starts, and --url names one that runs already")
	}
	var serve serveFlags
	cmd := serve.command(env)
	(&cobra.Command{Use: "knack"}).AddCommand(cmd) // so that hints have the command's full name
	switch err := cmd.Flags().Parse(words); {
	case errors.Is(err, pflag.ErrHelp):
		return nil, command.UsageError("run 'knack serve --help'", "after --: the flags of an entry have no help")
	case err != nil:
		return nil, command.UsageError(flagHint(cmd, err), "after --: %w", command.FlagError(err))
	}
	if rest := cmd.Flags().Args(); len(rest) > 0 {
		return nil, command.UsageError("give flags of serve alone, for example: -- --dir ~/skills", "after --: '%s' is not a flag", display.Echo(rest[0]))
	}
	if serve.entry != "" {
		return nil, command.UsageError("leave --entry out", "after --: connect adds --entry itself if the entry has another name")
	}
	overHTTP := new(cobra.Command)
	new(httpFlags).register(overHTTP)
	flag := ""
	overHTTP.Flags().VisitAll(func(f *pflag.Flag) {
		if cmd.Flags().Changed(f.Name) {
			flag = "--" + f.Name + ": "
		}
	})
	if flag == "" {
		if err := serve.check(env); err != nil {
			return nil, after(err)
		}
	}
	if flag != "" || serve.web.addr != "" {
		return nil, command.UsageError("leave it out; 'knack serve --http' is started by hand, and 'knack connect CLIENT --url URL' connects to it",
			"after --: %sa server that a client starts does not serve over HTTP", flag)
	}
	out := f.entryArguments(*env, cmd.Flags())
	if set := serve.from.Tools.Set; f.scope != clientconfig.Project && !cmd.Flags().Changed("dir") && !slices.Contains(strings.Split(set, ","), tool.DefaultSet) {
		for _, label := range c.Reads {
			if !slices.Contains(out, label) {
				out = append(out, "--exclude", label)
			}
		}
	}
	return out, nil
}

// entryArguments returns the given flags of serve in the form for an entry. Package clientconfig
// adds the flag --entry.
func (f *connectFlags) entryArguments(env console.Env, flags *pflag.FlagSet) []string {
	out := []string{}
	flags.Visit(func(flag *pflag.Flag) {
		values := []string{flag.Value.String()}
		if all, ok := flag.Value.(*command.Repeated); ok {
			values = *all
		}
		for _, v := range values {
			switch {
			case flag.Name == "entry":
			case flag.NoOptDefVal == "":
				out = append(out, "--"+flag.Name, f.pathInEntry(env, flag.Name, v))
			case v == flag.NoOptDefVal:
				out = append(out, "--"+flag.Name)
			default:
				out = append(out, "--"+flag.Name+"="+v)
			}
		}
	})
	return out
}

// afterDash returns arguments of serve in the form for connect: "--" and the words, or "" if there
// are no words.
func afterDash(words []string) string {
	if len(words) == 0 {
		return ""
	}
	out := " --"
	for _, word := range words {
		out += " " + console.ShellWord(word)
	}
	return out
}

// after adds the prefix "after --" to an error about serve's flags.
func after(err error) error {
	if f := command.FailureIn(err); f != nil {
		return command.Fail(f.Code, fmt.Errorf("after --: %w", f.Err), f.Hint)
	}
	return err
}

// pathInEntry returns the value of a flag of serve for an entry. A path is made absolute, since a
// client may start knack in any folder. In a project's file, which many machines share, it is made
// relative to the project's folder.
func (f *connectFlags) pathInEntry(env console.Env, flag, value string) string {
	switch {
	case flag != "dir" && flag != "project" && flag != "config" && flag != "audit", value == "", filepath.IsAbs(value),
		flag == "audit" && isStream(value):
		return value
	}
	path := env.Absolute(value)
	if f.scope == clientconfig.Project {
		if rel, err := filepath.Rel(settings.Root(env, f.project), path); err == nil {
			return filepath.ToSlash(rel)
		}
	}
	return path
}
