package cli

import (
	"context"
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
	"github.com/knack-dev/knack/internal/base/diff"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/typo"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/cli/help"
	"github.com/knack-dev/knack/internal/cli/selection"
	"github.com/knack-dev/knack/internal/clientconfig"
	"github.com/knack-dev/knack/internal/clientconfig/connection"
	"github.com/knack-dev/knack/internal/workspace"
	"github.com/knack-dev/knack/internal/workspace/settings"
)

type connectFlags struct {
	write, token, trust bool
	every, remove, dry  bool
	url, project        string
	scope               clientconfig.Scope
	command, file       string
	clientID            string
	chosen              []string // arguments for serve after --; nil without --
}

// orAll has the end of the error for a flag that may also be used with --all.
var orAll = map[string]string{"write": ", or --all", "remove": ", or --all"}

func connectCommand(env *console.Env) *cobra.Command {
	var f connectFlags
	var ids []string
	for _, c := range clientconfig.Clients() {
		ids = append(ids, c.ID)
	}
	cmd := &cobra.Command{
		Use:   "connect [CLIENT...] [flags] [-- FLAGS OF SERVE]",
		Short: "Print the configuration that a client needs, or write it",
		Long: `List the clients on this machine, how each is connected, how many skills it
reads itself, and how many knack adds. With CLIENT, print the entry that it
needs in its configuration file.

With --write the entry goes into that file: into the one of yours that has an
entry already, or else into your own for all projects. Comments, formatting and
everything else in the file stay, and the previous file is kept beside it
(.bak). A file that cannot be parsed is not changed.

--all --write connects all clients here that gain skills. --remove takes the
entry out again, and what --trust allowed.

Flags of serve for the entry follow --. They replace the arguments of an
existing entry, which otherwise keeps its own; -- alone restores knack's. Its
changes are printed first as a difference, without values that may be secret.

The server leaves the skills that the client shows itself out of its list. The
clients are:

` + help.Wrapped(ids) + `.`,
		Example: `  knack connect cursor           # print the entry
  knack connect cursor --write   # write it into the client's file
  knack connect cursor --remove  # take it out again
  knack connect codex --write -- --dir ~/skills --tools runner`,
		Args: func(cmd *cobra.Command, args []string) error {
			args, _ = splitDash(cmd, args)
			return command.ArgCount(0, len(ids), "the names of clients, or nothing")(cmd, args)
		},
		RunE: command.Returning(env, func(cmd *cobra.Command, args []string) (command.Result, error) {
			args, words := splitDash(cmd, args)
			if len(args) == 0 {
				if words != nil {
					return nil, command.UsageError("for example: knack connect codex -- --dir ~/skills", "flags of serve after -- need the name of a client before it")
				}
				if f.every {
					return f.connectAll(cmd.Context(), env, command.IsJSON(cmd))
				}
				for _, flag := range []string{"remove", "write", "url", "http", "client-id", "token", "trust", "scope", "file"} {
					if cmd.Flags().Changed(flag) {
						return nil, command.UsageError("the clients are: "+strings.Join(ids, ", "), "--%s needs the name of a client"+orAll[flag], flag)
					}
				}
				return f.list(cmd.Context(), env)
			}
			if f.every {
				return nil, command.UsageError("leave out one of them", "--all connects every client here, so '%s' is not named too", display.Echo(args[0]))
			}
			var named []clientconfig.Client
			for _, arg := range args {
				c, ok := clientconfig.Find(arg)
				if !ok {
					return nil, command.UsageError(typo.Hint(arg, ids, "the clients are: "+strings.Join(ids, ", ")), "there is no client '%s'", arg)
				}
				if err := f.check(*env, c); err != nil {
					return nil, err
				}
				if !slices.ContainsFunc(named, func(o clientconfig.Client) bool { return o.ID == c.ID }) {
					named = append(named, c)
				}
			}
			c := named[0]
			if len(named) > 1 {
				if f.file != "" || words != nil {
					return nil, command.UsageError("name one client", "--file and flags of serve are for one client")
				}
				return f.each(cmd.Context(), env, named, command.IsJSON(cmd))
			}
			if words != nil {
				var err error
				if f.chosen, err = f.argumentsOfServe(env, c, words); err != nil {
					return nil, err
				}
			}
			return f.connect(cmd.Context(), env, c, command.IsJSON(cmd))
		}),
		ValidArgs: ids,
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.write, "write", false, "write the entry into the client's file")
	flags.StringVar((*string)(&f.scope), "scope", "", "add the entry in this `SCOPE`: user, for you in all projects, or project, for all users of this project")
	flags.BoolVar(&f.every, "all", false, "all clients on this machine that gain skills")
	flags.BoolVar(&f.remove, "remove", false, "remove the entry from the client's file")
	flags.BoolVarP(&f.dry, "dry-run", "n", false, "print what would be written or removed, and change nothing")
	flags.BoolVar(&f.trust, "trust", false, "the client calls knack's tools, which only read, without asking")
	flags.StringVar(&f.url, "url", "", "connect to the knack server at `URL`, instead of starting one")
	flags.StringVar(&f.url, "http", "", "the same as --url")
	_ = flags.MarkHidden("http")
	flags.StringVar(&f.clientID, "client-id", "", "the client `ID` that is registered at the server's provider, if the provider does not register clients itself")
	flags.BoolVar(&f.token, "token", false, "the server requires a token: the client reads it from KNACK_TOKEN, or the entry has a placeholder")
	flags.StringVar(&f.project, "project", "", command.ProjectUsage)
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

// check returns an error for flags that the client cannot use.
func (f *connectFlags) check(env console.Env, c clientconfig.Client) error {
	if err := f.checkScope(env); err != nil {
		return err
	}
	switch {
	case f.token && f.url == "":
		return command.UsageError("for example: --url https://skills.example.com/mcp --token", "--token is for a server behind a URL: --url is missing")
	case !f.inScope(c):
		return command.UsageError("leave --scope out", "%s has no project file", c.Name)
	case f.clientID != "" && f.url == "":
		return command.UsageError("for example: --url https://skills.example.com/mcp --client-id knack-cli", "--client-id is for a server behind a URL: --url is missing")
	case f.clientID != "" && !c.TakesClientID():
		return command.UsageError("give it in the application, if that has a place for it", "the file of %s has no place for --client-id", c.Name)
	case f.remove && (f.trust || f.url != "" || f.command != "" || f.chosen != nil):
		return command.UsageError("leave the others out", "--remove takes the whole entry out: only --scope, --file, --project and -n go with it")
	case f.trust && !c.CanTrust() && c.TrustNote() == "":
		return command.UsageError("leave --trust out, and allow the tools in the application", "the file of %s has no setting for --trust", c.Name)
	}
	return nil
}

// checkScope returns an error for a scope that does not exist, and for the scope project outside a
// project.
func (f *connectFlags) checkScope(env console.Env) error {
	switch {
	case f.scope != "" && f.scope != clientconfig.User && f.scope != clientconfig.Project:
		return command.UsageError("give user, for all your projects, or project, for all users of this one", "--scope %s: there is no such scope", f.scope)
	case f.scope == clientconfig.Project && f.file == "" && f.clientEnv(env).Project == "":
		return command.UsageError("give it with --project; without --scope the entry is for all projects", "the project's folder is not known, and the home folder is not a project")
	}
	return nil
}

// inScope reports whether the client has a configuration file of the chosen scope.
func (f *connectFlags) inScope(c clientconfig.Client) bool {
	return f.scope == "" || slices.Contains(c.Scopes(), f.scope)
}

func (f *connectFlags) clientEnv(env console.Env) clientconfig.Env {
	return clientconfig.Env{
		OS: runtime.GOOS, Home: env.Home, Project: settings.Root(env, f.project),
		AppData: env.Getenv("APPDATA"), Path: env.Getenv("PATH"), Getenv: env.Getenv,
	}
}

// server returns the content of an entry, which is the same for all clients.
func (f *connectFlags) server(env console.Env) (clientconfig.Server, error) {
	if f.url != "" {
		u, err := url.Parse(f.url)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return clientconfig.Server{}, command.UsageError("for example: --url http://127.0.0.1:8080/mcp", "--url %s: it is not a URL with http:// or https://", f.url)
		}
		return clientconfig.Server{URL: f.url, Token: f.token, Trust: f.trust, ClientID: f.clientID}, nil
	}
	s := ownServer(env)
	if f.command != "" {
		s = clientconfig.Server{Command: env.Absolute(f.command), Args: []string{"serve"}, ReplaceURL: true}
	}
	s.Chosen, s.Trust, s.Remove = f.chosen, f.trust, f.remove
	if bare := filepath.Base(f.command) == f.command && f.command != ""; bare {
		at := f.clientEnv(env).Program(f.command)
		switch {
		case f.scope == clientconfig.Project: // each user has a different path
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
func (f *connectFlags) state(env console.Env, p clientconfig.Env, c clientconfig.Client, s clientconfig.Server) (connection.Connection, clientconfig.Change, error) {
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
	s, err := f.server(env)
	if err != nil {
		return nil, err
	}
	s.ReplaceURL = false // a client with a URL entry counts as connected
	p := f.clientEnv(env)
	all := []connection.Connection{}
	for _, c := range clientconfig.Clients() {
		state, _, _ := f.state(env, p, c, s)
		all = append(all, state)
	}
	return all, nil
}

// gains adds to each connection how many skills the client reads itself, and how many knack adds.
func (f *connectFlags) gains(ctx context.Context, env *console.Env, all []connection.Connection) {
	w, err := workspace.Open(workspace.Options{Env: env, Project: f.project, Patience: selection.RootPatience})
	if err != nil {
		return
	}
	defer w.Close()
	if _, err := w.Scan(ctx); err == nil {
		addGains(ctx, env, w, all)
	}
}

func (f *connectFlags) list(ctx context.Context, env *console.Env) (command.Result, error) {
	all, err := f.all(*env)
	if err != nil {
		return nil, err
	}
	f.gains(ctx, env, all)
	return command.Forms{Value: all, Text: func(env *console.Env) {
		var rest []string
		gaining, p := 0, f.clientEnv(*env)
		for _, c := range all {
			if isAbsent(c) {
				if bareFolder(p, c.Client) == "" {
					rest = append(rest, c.Client)
				}
				continue
			}
			env.Out().Item(16, "%s%s  %s", console.Bold.Of(c.Client), strings.Repeat(" ", max(14-len(c.Client), 0)), c.Status())
			if gain := c.Gain.String(); gain != "" {
				env.Out().Item(0, "                %s", gain)
			}
			if c.Here && !c.Works() && !c.Gain.IsUseless() {
				gaining++
			}
		}
		f.printBare(env.Out(), *env, all)
		if len(rest) > 0 && !f.every {
			env.Out().Line("not found here: %s; %s connects them all the same", strings.Join(rest, ", "), env.Command("connect", "CLIENT", "--write"))
		}
		hint := env.Command("connect", "CLIENT") + " prints the entry; with --write it goes into the file"
		if gaining > 1 {
			hint += fmt.Sprintf(", and --all --write connects these %d", gaining)
		}
		env.Err().Text(console.Hint, hint)
	}}, nil
}

// isAbsent reports whether a client is neither installed here nor connected.
func isAbsent(c connection.Connection) bool {
	return !c.Here && c.State != clientconfig.Connected && c.State != clientconfig.Outdated
}

// printBare lists the clients that have only a folder without settings. --all leaves them out.
func (f *connectFlags) printBare(p *console.Printer, env console.Env, all []connection.Connection) {
	var bare []string
	paths := f.clientEnv(env)
	for _, c := range all {
		if folder := bareFolder(paths, c.Client); folder != "" && isAbsent(c) {
			bare = append(bare, c.Client+" ("+env.Shown(folder)+")")
		}
	}
	if len(bare) > 0 {
		p.Line("only a folder without settings: %s; %s connects them all the same", strings.Join(bare, ", "), env.Command("connect", "CLIENT", "--write"))
	}
}

// bareFolder returns the folder of a client that has no settings, or "".
func bareFolder(p clientconfig.Env, id string) string {
	c, _ := clientconfig.Find(id)
	return c.BareFolder(p)
}

// connectAll writes or removes the entries of all clients here. It leaves out the clients to which
// knack adds nothing. Without --write and --remove it lists the clients.
func (f *connectFlags) connectAll(ctx context.Context, env *console.Env, asJSON bool) (command.Result, error) {
	if err := f.checkScope(*env); err != nil {
		return nil, err
	}
	if !f.write && !f.remove {
		return f.list(ctx, env)
	}
	if f.file != "" || f.chosen != nil {
		return nil, command.UsageError("name one client", "--all is for several clients, and --file and flags of serve are for one")
	}
	removing := f.remove
	f.remove = false // state shows then whether there is an entry
	all, err := f.all(*env)
	if err != nil {
		return nil, err
	}
	f.gains(ctx, env, all)
	f.remove = removing
	var named []clientconfig.Client
	for _, state := range all {
		c, _ := clientconfig.Find(state.Client)
		has := state.State == clientconfig.Connected || state.State == clientconfig.Outdated
		switch {
		case f.remove && !has || !f.remove && !state.Here && !has:
		case !f.inScope(c):
			env.Err().Line("%s has no project file.", c.Name)
		case !f.remove && !has && state.Gain.IsUseless():
			env.Err().Line("%s %s.", state.Name, state.Gain.String())
		default:
			named = append(named, c)
		}
	}
	if !f.remove {
		f.printBare(env.Err(), *env, all)
	}
	if len(named) == 0 {
		env.Err().Line("There is no client here to connect or to disconnect; knack connect lists them.")
	}
	return f.each(ctx, env, named, asJSON)
}

// each connects or disconnects several clients. A failure of one client does not stop the others.
func (f *connectFlags) each(ctx context.Context, env *console.Env, named []clientconfig.Client, asJSON bool) (command.Result, error) {
	var results []command.Forms
	var others []command.Other
	values := []any{}
	for _, c := range named {
		one := *f
		one.trust = f.trust && (c.CanTrust() || c.TrustNote() != "")
		err := one.check(*env, c)
		var r command.Result
		if err == nil {
			r, err = one.connect(ctx, env, c, asJSON)
		}
		if forms, ok := r.(command.Forms); ok {
			results, values = append(results, forms), append(values, forms.Value)
		}
		if failure := command.FailureIn(err); failure != nil {
			text := failure.Err.Error()
			if failure.Hint != "" {
				text += " (" + failure.Hint + ")"
			}
			others = append(others, command.Other{Word: console.Error, Text: text})
		}
	}
	out := command.Forms{Value: values, Text: func(env *console.Env) {
		for _, r := range results {
			r.Text(env)
		}
	}}
	if len(others) > 0 {
		return out, command.WithOthers(command.Fail(command.No, command.ErrPrinted, ""), others)
	}
	return out, nil
}

// replaced returns the change that --command would make to an entry with a URL, or "". Without
// --command, such an entry stays unchanged.
func (f *connectFlags) replaced(env console.Env, c clientconfig.Client, s clientconfig.Server, state connection.Connection) string {
	if state.Written || s.URL != "" || state.URL == "" || len(state.Command) > 0 {
		return ""
	}
	s.ReplaceURL = true
	would, _, _ := f.state(env, f.clientEnv(env), c, s)
	return would.Diff
}

func (f *connectFlags) connect(ctx context.Context, env *console.Env, c clientconfig.Client, asJSON bool) (command.Result, error) {
	s, err := f.server(*env)
	if err != nil {
		return nil, err
	}
	state, ch, planErr := f.state(*env, f.clientEnv(*env), c, s)
	if f.remove {
		return f.disconnect(env, c, state, ch, planErr, asJSON)
	}
	// The skills here tell nothing about the skills of another server.
	if f.url == "" && (!f.write || ch.State == clientconfig.Absent) {
		one := []connection.Connection{state}
		one[0].Here = true
		f.gains(ctx, env, one)
		state.Gain = one[0].Gain
	}
	entry, err := c.Entry(c.ServerIn(f.clientEnv(*env), state.File, s))
	if errors.Is(err, clientconfig.ErrNoRemote) {
		return nil, command.Fail(command.No, fmt.Errorf("%s: %w", c.Name, err), "add the URL in the application's own settings")
	} else if err != nil {
		return nil, command.RunError("", "%s: %w", c.Name, err)
	}
	state.Entry = entry
	file := env.Shown(state.File)
	for _, err := range ch.Unreadable {
		env.Err().Text(console.Warning, unreadableFile(env, c.Name, err))
	}
	if err := f.checkCommand(env, c, s, ch); err != nil {
		return nil, err
	}
	if f.write {
		if p := state.Refusal(planErr); p != nil {
			return nil, command.Fail(command.No, p.Why, p.Fix)
		}
		if f.dry && ch.Changed() && state.Diff == "" { // a new entry
			state.Diff = diff.Part(file, display.OneLine(ch.Key), nil, []byte(entry))
		}
		if !asJSON && ch.Changed() {
			_ = env.Out().Patch(console.Clean(state.Diff))
		}
	}
	if f.write && !f.dry {
		if err := ch.Write(); err != nil {
			return nil, command.Fail(command.Error, fmt.Errorf("%s is unchanged: %w", file, command.Cause(err)), state.WriteFix(err))
		}
		state.Written, state.Backup = ch.Changed(), ch.Backup
	}
	allow, err := f.allow(env, c, ch)
	if err != nil {
		return nil, err
	}
	r := command.Forms{Value: state, Text: func(env *console.Env) {
		if f.write {
			f.printResult(env, c, s, state, ch)
			if replaced := f.replaced(*env, c, s, state); replaced != "" {
				env.Err().Line("--command %s would replace it:", console.ShellWord(s.Command))
				_ = env.Err().Patch(console.Clean(replaced))
			}
		} else {
			fmt.Fprint(env.Stdout, console.Clean(entry))
			printDestination(env, c, s, state, ch, file)
			if missing := (*clientconfig.MissingError)(nil); errors.As(planErr, &missing) {
				env.Err().Text(console.Hint, missing.Fix)
			}
		}
		f.printAllow(env, c, state, allow)
		f.printAdvice(env, c, s, ch, allow)
	}}
	if f.write {
		if p := state.Obstacle(func(scope clientconfig.Scope) string { return f.rerunCommand(env, c, scope) }); p != nil {
			return r, command.Fail(command.No, p.Why, p.Fix)
		}
	}
	return r, nil
}
