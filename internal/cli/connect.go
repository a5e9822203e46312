package cli

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/typo"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/cli/help"
	"github.com/knack-dev/knack/internal/clientconfig"
	"github.com/knack-dev/knack/internal/clientconfig/connection"
	locate "github.com/knack-dev/knack/internal/workspace/settings"
)

type connectFlags struct {
	write, token, trust bool
	http, project       string
	scope               clientconfig.Scope
	command, file       string
	chosen              []string // arguments for serve; nil without --
}

func connectCommand(env *console.Env) *cobra.Command {
	var f connectFlags
	var ids []string
	for _, c := range clientconfig.Clients {
		ids = append(ids, c.ID)
	}
	cmd := &cobra.Command{
		Use:        "connect [CLIENT] [flags] [-- FLAGS OF SERVE]",
		SuggestFor: []string{"setup"},
		Short:      "Print the configuration that a client needs, or write it",
		Long: `List the clients on this machine, and how each is connected; with CLIENT, print
the entry that it needs in its configuration file.

With --write the entry goes into that file: into the one of yours that has an
entry already, or else into your own for all projects. Comments, formatting and
everything else in the file stay, and the previous file is kept beside it
(.bak). A file that cannot be parsed is not changed.

Flags of serve for the entry follow --. They replace the arguments of an
existing entry, which otherwise keeps its own; -- alone restores knack's. Its
changes are printed first as a difference, without values that may be secret.

The server leaves the skills that the client shows itself out of its list. The
clients are:

` + help.Wrapped(ids) + `.`,
		Example: `  knack connect cursor           # print the entry
  knack connect cursor --write   # write it into the client's file
  knack connect codex --write -- --dir ~/skills --tools runner`,
		Args: func(cmd *cobra.Command, args []string) error {
			args, _ = splitDash(cmd, args)
			return command.ArgCount(0, 1, "the name of one client, or nothing")(cmd, args)
		},
		RunE: command.Returning(env, func(cmd *cobra.Command, args []string) (command.Result, error) {
			args, words := splitDash(cmd, args)
			if len(args) == 0 {
				if words != nil {
					return nil, command.UsageError("for example: knack connect codex -- --dir ~/skills", "flags of serve after -- need the name of a client before it")
				}
				for _, flag := range []string{"write", "http", "token", "trust", "scope", "file"} {
					if cmd.Flags().Changed(flag) {
						return nil, command.UsageError("the clients are: "+strings.Join(ids, ", "), "--%s needs the name of a client", flag)
					}
				}
				return f.list(env)
			}
			c, ok := clientconfig.Find(args[0])
			if !ok {
				return nil, command.UsageError(typo.Hint(args[0], ids, "the clients are: "+strings.Join(ids, ", ")), "there is no client '%s'", args[0])
			}
			if err := f.check(*env, c); err != nil {
				return nil, err
			}
			if words != nil {
				var err error
				if f.chosen, err = f.argumentsOfServe(env, c, words); err != nil {
					return nil, err
				}
			}
			return f.connect(env, c, command.IsJSON(cmd))
		}),
		ValidArgs: ids,
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.write, "write", false, "write the entry into the client's file")
	flags.StringVar((*string)(&f.scope), "scope", "", "add the entry in this `SCOPE`: user, for you in all projects, or project, for all users of this project")
	flags.BoolVar(&f.trust, "trust", false, "the client calls knack's tools without asking (gemini-cli, qwen-code)")
	flags.StringVar(&f.http, "http", "", "connect to the knack server at `URL`, instead of starting one")
	flags.BoolVar(&f.token, "token", false, "the server requires a token: the client reads it from KNACK_TOKEN, or the entry has a placeholder")
	flags.StringVar(&f.project, "project", "", "the project's folder is `DIR`, not the working directory")
	flags.StringVar(&f.file, "file", "", "the client's file is `FILE`, wherever it is")
	flags.StringVar(&f.command, "command", "", "the client starts the knack at `PATH`, or the program of this name on PATH, not this one")
	flags.Bool("json", false, "print JSON")
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		var unknown *pflag.NotExistError
		if errors.As(err, &unknown) {
			if serves := serveCommand(env).Flags().Lookup(unknown.GetSpecifiedName()); serves != nil {
				value, _ := pflag.UnquoteUsage(serves)
				return command.UsageError(strings.TrimSpace("flags of serve follow --, for example: knack connect codex -- --"+serves.Name+" "+value), "%w", err)
			}
		}
		return cmd.Root().FlagErrorFunc()(cmd, err)
	})
	_ = cmd.MarkFlagDirname("project")
	_ = cmd.RegisterFlagCompletionFunc("scope", cobra.FixedCompletions([]string{"user", "project"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// check refuses flags that the client cannot use.
func (f *connectFlags) check(env console.Env, c clientconfig.Client) error {
	scopes := c.Scopes()
	switch {
	case f.token && f.http == "":
		return command.UsageError("for example: --http https://skills.example.com/mcp --token", "--token is for a server behind a URL: --http is missing")
	case f.scope != "" && f.scope != clientconfig.User && f.scope != clientconfig.Project:
		return command.UsageError("give user, for all your projects, or project, for all users of this one", "--scope %s: there is no such scope", f.scope)
	case f.scope != "" && !slices.Contains(scopes, f.scope):
		return command.UsageError("leave --scope out", "%s has no project file", c.Name)
	case f.scope == clientconfig.Project && f.file == "" && f.clientEnv(env).Project == "":
		return command.UsageError("give it with --project; without --scope the entry is for all projects", "the project's folder is not known, and the home folder is no project")
	case f.trust && !c.CanTrust():
		return command.UsageError("leave --trust out, and allow the tools in the application", "the file of %s has no setting for --trust", c.Name)
	}
	return nil
}

func (f *connectFlags) clientEnv(env console.Env) clientconfig.Env {
	return clientconfig.Env{
		OS: runtime.GOOS, Home: env.Home, Project: locate.Root(env, f.project),
		AppData: env.Getenv("APPDATA"), Path: env.Getenv("PATH"), Getenv: env.Getenv,
	}
}

// server returns the content of a client's entry.
func (f *connectFlags) server(env console.Env, c clientconfig.Client) (clientconfig.Server, error) {
	if f.http != "" {
		u, err := url.Parse(f.http)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return clientconfig.Server{}, command.UsageError("for example: --http http://127.0.0.1:8080/mcp", "--http %s: it is not a URL with http:// or https://", f.http)
		}
		return clientconfig.Server{URL: f.http, Token: f.token, Trust: f.trust}, nil
	}
	s := ownServer()
	if f.command != "" {
		s = clientconfig.Server{Command: env.Absolute(f.command), Args: []string{"serve"}, ReplaceURL: true}
	}
	s.Chosen, s.Trust = f.chosen, f.trust
	if bare := filepath.Base(f.command) == f.command && f.command != ""; bare {
		at := f.clientEnv(env).Program(f.command)
		switch {
		case f.scope == clientconfig.Project: // each user has their own path
			s.Command = f.command
		case at == "":
			return s, command.UsageError("give its path", "--command %s: no folder of PATH has this program", f.command)
		default:
			s.Command = at
		}
	} else if s.Command == "" {
		return s, command.RunError("give its path with --command", "the path of this executable is not known")
	}
	return s, nil
}

// state reads the client's files and returns the state of its entry.
func (f *connectFlags) state(env console.Env, c clientconfig.Client, s clientconfig.Server) (connection.Connection, clientconfig.Change, error) {
	p := f.clientEnv(env)
	choice := clientconfig.Choice{Scope: f.scope}
	if f.file != "" {
		choice.File = env.Absolute(f.file)
	}
	ch, err := c.Plan(p, s, choice)
	out := connection.Of(c, p, ch, func(path string) string { return env.Shown(path) })
	if err != nil {
		out.State, out.Why = connection.Refused, command.Cause(err).Error()
	}
	return out, ch, err
}

// all returns the connection of each client.
func (f *connectFlags) all(env console.Env) ([]connection.Connection, error) {
	all := []connection.Connection{}
	for _, c := range clientconfig.Clients {
		s, err := f.server(env, c)
		if err != nil {
			return nil, err
		}
		s.ReplaceURL = false // an entry with a URL counts as connected
		state, _, _ := f.state(env, c, s)
		all = append(all, state)
	}
	return all, nil
}

func (f *connectFlags) list(env *console.Env) (command.Result, error) {
	all, err := f.all(*env)
	if err != nil {
		return nil, err
	}
	return command.Forms{Value: all, Text: func(env *console.Env) {
		var rest []string
		for _, c := range all {
			if !c.Here && c.State != clientconfig.Connected && c.State != clientconfig.Outdated {
				rest = append(rest, c.Client)
				continue
			}
			env.Out().Item(16, "%s%s  %s", console.Bold.Of(c.Client), strings.Repeat(" ", max(14-len(c.Client), 0)), c.Status())
		}
		if len(rest) > 0 {
			env.Out().Line("not found: %s", strings.Join(rest, ", "))
		}
		env.Err().Text(console.Hint, "knack connect CLIENT prints the entry; with --write it goes into the file")
	}}, nil
}

func (f *connectFlags) connect(env *console.Env, c clientconfig.Client, asJSON bool) (command.Result, error) {
	s, err := f.server(*env, c)
	if err != nil {
		return nil, err
	}
	state, ch, planErr := f.state(*env, c, s)
	entry, err := c.Entry(c.ServerIn(f.clientEnv(*env), state.File, s))
	if errors.Is(err, clientconfig.ErrNoRemote) {
		return nil, command.Fail(command.No, fmt.Errorf("%s: %w", c.Name, err), "add the URL in the application's own settings")
	} else if err != nil {
		return nil, command.RunError("", "%s: %w", c.Name, err)
	}
	state.Entry = entry
	file := env.Shown(state.File)
	for _, err := range ch.Unreadable {
		env.Err().Text(console.Warning, fmt.Sprintf("%s, where %s looks too, cannot be read: %s", env.Shown(err.Path), c.Name, command.Cause(err.Err).Error()))
	}
	if err := f.checkCommand(env, c, s, ch); err != nil {
		return nil, err
	}
	if f.write {
		if p := state.Refusal(planErr); p != nil {
			return nil, command.Fail(command.No, p.Why, p.Fix)
		}
		if !asJSON && ch.Changed() {
			_ = env.Out().Patch(console.Clean(state.Diff))
		}
		if err := ch.Write(); err != nil {
			return nil, command.Fail(command.Error, fmt.Errorf("%s is unchanged: %w", file, command.Cause(err)), state.WriteFix(err))
		}
		state.Written, state.Backup = ch.Changed(), ch.Backup
	}
	r := command.Forms{Value: state, Text: func(env *console.Env) {
		if f.write {
			printResult(env, c, s, state, ch)
		} else {
			fmt.Fprint(env.Stdout, console.Clean(entry))
			printDestination(env, c, s, state, ch, file)
			if missing := (*clientconfig.MissingError)(nil); errors.As(planErr, &missing) {
				env.Err().Text(console.Hint, missing.Fix)
			}
		}
		f.printAdvice(env, c, s, ch)
	}}
	if f.write {
		if p := state.Obstacle(func(scope clientconfig.Scope) string { return f.rerunCommand(c, scope) }); p != nil {
			return r, command.Fail(command.No, p.Why, p.Fix)
		}
	}
	return r, nil
}
