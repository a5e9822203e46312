package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/client"
	"github.com/knack-dev/knack/edit"
)

type connectFlags struct {
	write, asJSON, token, trust bool
	http, project, scope        string
	command, file               string
}

func connectCommand(env *Env) *cobra.Command {
	var f connectFlags
	var ids []string
	for _, c := range client.Clients {
		ids = append(ids, c.ID)
	}
	cmd := &cobra.Command{
		Use:   "connect [CLIENT]",
		Short: "Print the configuration that a client needs, or write it",
		Long: `List the clients on this machine, and how each is connected; with CLIENT, print the
entry that it needs in its configuration file.

With --write the entry goes into that file: into the one of yours that has an entry
already, or else into your own for all projects. Comments, formatting and everything else in the
file stay, and the file from before is kept beside it (.bak). An entry that is there
already keeps its arguments, and what changes in it is shown. A file that cannot be
parsed is left alone.

Roots that the client reads itself are kept out of the lists with --exclude: it would show
their skills twice. The clients are: ` + strings.Join(ids, ", ") + `.`,
		Args: between(0, 1, "the name of one client, or nothing"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				for _, flag := range []string{"write", "http", "token", "trust", "scope", "file"} {
					if cmd.Flags().Changed(flag) {
						return usageError("the clients are: "+strings.Join(ids, ", "), "--%s needs the name of a client", flag)
					}
				}
				return f.list(env)
			}
			c, ok := client.Find(args[0])
			if !ok {
				return usageError("the clients are: "+strings.Join(ids, ", "), "there is no client '%s'", args[0])
			}
			if err := f.check(*env, c); err != nil {
				return err
			}
			return f.connect(env, c)
		},
		ValidArgs: ids,
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.write, "write", false, "write the entry into the client's file")
	flags.StringVar(&f.scope, "scope", "", "the entry is for you in all projects (user) or for everyone in this project (project): `SCOPE`")
	flags.BoolVar(&f.trust, "trust", false, "the client calls knack's tools without asking (gemini-cli, qwen-code)")
	flags.StringVar(&f.http, "http", "", "connect to a knack that serves at `URL`, instead of starting one")
	flags.BoolVar(&f.token, "token", false, "that server wants a token: the client reads it from KNACK_TOKEN, or the entry has a place for it")
	flags.StringVar(&f.project, "project", "", "the project's folder is `DIR`, not the working directory")
	flags.StringVar(&f.file, "file", "", "the client's file is `FILE`, wherever it is")
	flags.StringVar(&f.command, "command", "", "the client starts the knack at `PATH`, or the program of this name on PATH, not this one")
	flags.BoolVar(&f.asJSON, "json", false, "print JSON")
	_ = cmd.MarkFlagDirname("project")
	_ = cmd.RegisterFlagCompletionFunc("scope", cobra.FixedCompletions([]string{"user", "project"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// check refuses flags that the client cannot use.
func (f *connectFlags) check(env Env, c client.Client) error {
	scopes := c.Scopes()
	switch {
	case f.token && f.http == "":
		return usageError("for example: --http https://skills.example.com/mcp --token", "--token is for a server behind a URL: --http is missing")
	case f.scope != "" && f.scope != "user" && f.scope != "project":
		return usageError("give user, for all your projects, or project, for everyone in this one", "--scope %s: there is no such scope", f.scope)
	case f.scope != "" && !slices.Contains(scopes, client.Scope(f.scope)):
		return usageError("leave --scope out", "%s has no project file", c.Name)
	case f.scope == "project" && f.file == "" && f.places(env).Project == "":
		return usageError("give it with --project", "the project's folder is not known")
	case f.trust && !c.Trusts():
		return usageError("leave --trust out, and allow the tools in the application", "the file of %s cannot say --trust", c.Name)
	}
	return nil
}

func (f *connectFlags) places(env Env) client.Places {
	return client.Places{
		OS: runtime.GOOS, Home: env.Home, Project: projectRoot(env, f.project),
		AppData: env.Getenv("APPDATA"), Path: env.Getenv("PATH"), Getenv: env.Getenv,
	}
}

// server returns what a client's entry says.
func (f *connectFlags) server(env Env, c client.Client) (client.Server, error) {
	if f.http != "" {
		u, err := url.Parse(f.http)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return client.Server{}, usageError("for example: --http http://127.0.0.1:8080/mcp", "--http %s: it is not a URL with http:// or https://", f.http)
		}
		return client.Server{URL: f.http, Token: f.token, Trust: f.trust}, nil
	}
	s := client.Server{Command: executable(), Args: []string{"serve"}, Trust: f.trust}
	if f.command != "" {
		s.Command, s.Switch = absolute(env, f.command), true
	}
	if bare := filepath.Base(f.command) == f.command && f.command != ""; bare {
		at := f.places(env).Program(f.command)
		switch {
		case f.scope == "project": // each user has their own
			s.Command = f.command
		case at == "":
			return s, usageError("give its path", "--command %s: no folder of PATH has this program", f.command)
		default:
			s.Command = at
		}
	} else if !filepath.IsAbs(s.Command) {
		return s, runError("give its path with --command", "the path of this executable is not known")
	}
	for _, label := range c.Reads {
		s.Args = append(s.Args, "--exclude", label)
	}
	return s, nil
}

// connection is the JSON form of connect.
type connection struct {
	Client  string   `json:"client"`
	Name    string   `json:"name"`
	Here    bool     `json:"here"`
	File    string   `json:"file,omitempty"`
	Scope   string   `json:"scope,omitempty"` // "user", "project" or "local"
	Key     string   `json:"key,omitempty"`   // where the entry is in the file
	State   string   `json:"state"`           // "connected", "outdated", "absent", "other" or "refused"
	Why     string   `json:"why,omitempty"`
	Command []string `json:"command,omitempty"` // what the existing entry starts
	URL     string   `json:"url,omitempty"`     // the URL that it names
	Missing bool     `json:"missing,omitempty"` // it names a program that is in no folder of PATH
	Suspect string   `json:"suspect,omitempty"` // why what it starts is not known to be knack
	Off     bool     `json:"off,omitempty"`     // it is turned off
	// First is the entry that the client uses instead of this one.
	First   *connection `json:"first,omitempty"`
	Changes []diff      `json:"changes,omitempty"` // what --write changes in it, or has changed
	Entry   string      `json:"entry,omitempty"`
	Written bool        `json:"written,omitempty"`
	Backup  string      `json:"backup,omitempty"`
	called  string      // the entry's name
}

type diff struct {
	Key string `json:"key"`
	Old string `json:"old,omitempty"`
	New string `json:"new,omitempty"`
}

// state reads the state of the entry from the client's files.
func (f *connectFlags) state(env Env, c client.Client, s client.Server) (connection, client.Change, error) {
	p := f.places(env)
	choice := client.Choice{Scope: client.Scope(f.scope)}
	if f.file != "" {
		choice.File = absolute(env, f.file)
	}
	ch, err := c.Plan(p, s, choice)
	out := connectionOf(ch)
	out.Client, out.Name, out.Here = c.ID, c.Name, c.Here(p)
	if ch.First != nil {
		first := connectionOf(*ch.First)
		first.Client, first.Name, first.Here = c.ID, c.Name, out.Here
		first.Missing = len(first.Command) > 0 && filepath.Base(first.Command[0]) == first.Command[0] && !p.Starts(first.Command[0])
		out.First = &first
	}
	if err != nil {
		out.State, out.Why = "refused", bare(err).Error()
	}
	return out, ch, err
}

func connectionOf(ch client.Change) connection {
	out := connection{
		called: ch.Name, File: ch.File, Scope: string(ch.Scope), Key: ch.Key, State: string(ch.State),
		Command: ch.Command, URL: ch.URL, Suspect: ch.Suspect, Off: ch.Off != "" || ch.ListFile != "",
	}
	for _, d := range ch.Differences {
		out.Changes = append(out.Changes, diff(d))
	}
	return out
}

func (f *connectFlags) list(env *Env) error {
	all := []connection{}
	for _, c := range client.Clients {
		s, err := f.server(*env, c)
		if err != nil {
			return err
		}
		s.Switch = false // an entry that leads to a URL is connected
		state, _, _ := f.state(*env, c, s)
		all = append(all, state)
	}
	if f.asJSON {
		return printJSON(env.Stdout, all)
	}
	var rest []string
	for _, c := range all {
		if !c.Here && c.State != "connected" && c.State != "outdated" {
			rest = append(rest, c.Client)
			continue
		}
		fmt.Fprintf(env.Stdout, "%-14s  %s\n", c.Client, clean(c.sentence(*env)))
	}
	if len(rest) > 0 {
		fmt.Fprintf(env.Stdout, "not found: %s\n", strings.Join(rest, ", "))
	}
	fmt.Fprintln(env.Stderr, "hint: knack connect CLIENT prints the entry; with --write it goes into the file")
	return nil
}

// sentence says how a client is connected, and in which file.
func (c connection) sentence(env Env) string {
	if c.First != nil && c.State != "refused" {
		return c.First.sentence(env)
	}
	file := atHome(env, c.File)
	switch c.State {
	case "connected", "outdated":
		if c.Missing {
			return fmt.Sprintf("not connected: it %s, which no folder of PATH has (%s)", c.how(), file)
		}
		is := "connected"
		if c.Off {
			is = "turned off"
		}
		if c.State == "outdated" {
			how := "--write"
			if c.Scope == "project" {
				how = "--scope project --write"
			}
			is += ", and " + how + " would update it"
		}
		return fmt.Sprintf("%s: %s (%s)", is, c.how(), file)
	case "other":
		return fmt.Sprintf("not connected: its server called knack %s (%s)", c.how(), file)
	case "refused":
		if file == "" {
			return "cannot be connected: " + c.Why
		}
		return fmt.Sprintf("cannot be connected: %s: %s", file, c.Why)
	}
	return fmt.Sprintf("not connected (%s)", file)
}

// how says what the entry starts or leads to, for whom, and its name if that is not knack.
func (c connection) how() string {
	out := "leads to " + c.URL
	if len(c.Command) > 0 {
		out = "starts " + c.Command[0]
	}
	if dirs := values(c.Command, "--dir"); len(dirs) > 0 && c.State != "other" {
		out += ", which serves " + strings.Join(dirs, " and ") + " alone"
	}
	if name := c.called; name != "" && name != client.Name {
		out += ", is called " + name
	}
	if c.Suspect != "" {
		out += " (" + c.Suspect + ")"
	}
	switch c.Scope {
	case "project":
		out += ", in this project"
	case "local":
		out += ", in this project, for you alone"
	}
	return out
}

// precedence says which entry the client uses instead of this one.
func (c connection) precedence(env Env, cl client.Client) string {
	what, file := "its entry", atHome(env, c.First.File)
	if c.First.State == "other" {
		what = "its server called knack"
	}
	if cl.OnceApproved && c.First.Scope == "project" {
		return fmt.Sprintf("In this project %s has one of this name too: %s %s. %s calls different ones conflicting scopes, and uses %s until you approve the project's, then that one.",
			file, what, c.First.how(), cl.Name, atHome(env, c.File))
	}
	return fmt.Sprintf("In this project %s comes first: %s %s", file, what, c.First.how())
}

// comes says when the entry that precedes this one comes first.
func (c connection) comes(cl client.Client) string {
	if cl.OnceApproved && c.First.Scope == "project" {
		return "comes first once it is approved"
	}
	return "comes first"
}

// values returns the values of a flag on a command line.
func values(words []string, flag string) (out []string) {
	for i, w := range words {
		if value, ok := strings.CutPrefix(w, flag+"="); ok {
			out = append(out, value)
		} else if w == flag && i+1 < len(words) {
			out = append(out, words[i+1])
		}
	}
	return out
}

func (f *connectFlags) connect(env *Env, c client.Client) error {
	s, err := f.server(*env, c)
	if err != nil {
		return err
	}
	state, ch, planErr := f.state(*env, c, s)
	entry, err := c.Entry(c.In(f.places(*env), state.File, s))
	if errors.Is(err, client.ErrNoRemote) {
		return &failure{exitNo, fmt.Errorf("%s: %w", c.Name, err), "add the URL in the application's own settings"}
	} else if err != nil {
		return runError("", "%s: %w", c.Name, err)
	}
	state.Entry = entry
	file := atHome(*env, state.File)
	for _, err := range ch.Unread {
		fmt.Fprintf(env.Stderr, "warning: %s, where %s looks too, cannot be read: %s\n", clean(atHome(*env, err.Path)), c.Name, clean(bare(err.Err).Error()))
	}
	f.warn(env, c, s, ch)
	if f.write {
		if err := refusal(c, state, file, planErr); err != nil {
			return err
		}
		if !f.asJSON && ch.Changed() {
			showChanges(env.Stdout, state, file)
		}
		if err := ch.Write(); err != nil {
			return &failure{exitError, fmt.Errorf("%s is left as it is: %w", file, bare(err)), writeHint(*env, c, ch.File, err)}
		}
		state.Written, state.Backup = ch.Changed(), ch.Backup
	}
	if f.asJSON {
		if err := printJSON(env.Stdout, state); err != nil {
			return err
		}
	} else if f.write {
		report(env, c, s, state, ch, file)
		f.advise(env, c, s, ch)
	} else {
		fmt.Fprint(env.Stdout, clean(entry))
		explain(env, c, s, state, ch, file)
		f.advise(env, c, s, ch)
	}
	if f.write {
		return f.unconnected(*env, c, state, ch)
	}
	return nil
}

// warn says what may keep the client from starting the command that the entry names.
func (f *connectFlags) warn(env *Env, c client.Client, s client.Server, ch client.Change) {
	kept := ch.Scope == client.Project && len(ch.Command) > 0 && !slices.ContainsFunc(ch.Differences, func(d client.Difference) bool { return d.Key == "command" })
	if kept {
		s.Command = ch.Command[0]
	}
	switch {
	case s.URL != "" || ch.State == client.Foreign:
	case !f.places(*env).Starts(s.Command):
		fmt.Fprintf(env.Stderr, "warning: there is no program %s now, so that %s cannot start it\n", clean(s.Command), c.Name)
	case f.scope == "project" && f.command == "" && !kept:
		fmt.Fprintf(env.Stderr, "warning: a project's file is for everyone, and %s is a path of this machine; --command knack names the one on each one's PATH\n", clean(s.Command))
	}
}

// unconnected returns what keeps the client from using the entry after --write, with the
// fix. It returns nil if nothing does, or if something was written for other projects.
func (f *connectFlags) unconnected(env Env, c client.Client, state connection, ch client.Change) error {
	off := func(file, field string) error {
		value := "true"
		if field == "disabled" {
			value = "false"
		}
		return &failure{exitNo, fmt.Errorf("%s: the entry is turned off there, so %s does not start knack", file, c.Name), fmt.Sprintf("set %q to %s there", field, value)}
	}
	file, first := atHome(env, ch.File), ch.First
	switch {
	case first != nil && first.State == client.Foreign: // even if the user's entry was written: the client uses the other one
		return &failure{exitNo, fmt.Errorf("%s %s, and its server called knack %s: that is not known to be knack", atHome(env, first.File), state.comes(c), state.First.how()), removeIt}
	case first != nil && state.First.Missing:
		return &failure{exitNo, fmt.Errorf("%s %s, and its entry %s: no folder of PATH has that program", atHome(env, first.File), state.comes(c), state.First.how()), "install knack into a folder of PATH"}
	case ch.ListFile != "":
		at, says, mend := atHome(env, ch.ListFile), "has", "take "+strconv.Quote(ch.Name)+" out of it"
		if ch.ListOnly {
			says, mend = "lacks", "add "+strconv.Quote(ch.Name)+" to it"
		}
		return &failure{exitNo, fmt.Errorf("%s: the list %s %s %q, so %s does not start it", at, ch.ListKey, says, ch.Name, c.Name), mend}
	case ch.Off != "": // even if another comes first: some clients merge the two
		return off(file, ch.Off)
	case first == nil && ch.Shared && ch.State == client.Outdated:
		return &failure{exitNo, fmt.Errorf("%s has an entry already, which %s; nothing is written", file, state.how()),
			"--scope user adds one for all your projects, --scope project brings this one up to date"}
	case first == nil || state.Written:
		return nil
	}
	file = atHome(env, first.File)
	switch {
	case first.Off != "":
		return off(file, first.Off)
	case first.State == client.Outdated:
		return &failure{exitNo, fmt.Errorf("%s %s, and its entry is not up to date: it %s", file, state.comes(c), state.First.how()), f.again(c, first.Scope) + " brings it up to date"}
	}
	return nil
}

// removeIt is the advice about another server called knack.
const removeIt = "do not approve it; remove it there, or give it another name"

// again returns the command that writes the entry of a scope.
func (f *connectFlags) again(c client.Client, scope client.Scope) string {
	out := "knack connect " + c.ID + " --write"
	if scope == client.Project {
		out = "knack connect " + c.ID + " --scope project --write"
	}
	if f.trust {
		out += " --trust"
	}
	return out
}

// refusal returns why nothing is written, or nil if something may be.
func refusal(c client.Client, state connection, file string, err error) error {
	var missing *client.MissingError
	switch {
	case state.Suspect != "":
		return &failure{exitNo, fmt.Errorf("%s has a server called knack that %s: that is not known to be knack; it is left as it is", file, state.how()), removeIt}
	case state.State == "other":
		return &failure{exitNo, fmt.Errorf("%s has a server called knack that %s; it is left as it is", file, state.how()),
			"give that server another name there, or say with --command that this program is your knack"}
	case state.State != "refused":
		return nil
	case errors.Is(err, client.ErrNoFolder):
		return &failure{exitNo, fmt.Errorf("%s: %w", c.Name, err), "set HOME, or name the file with --file"}
	case errors.As(err, &missing):
		return &failure{exitNo, fmt.Errorf("%s cannot be written: %w", file, err), missing.Mend}
	case errors.Is(err, fs.ErrPermission):
		return &failure{exitNo, fmt.Errorf("%s is left as it is: %s", file, state.Why), "make it readable, or add by hand what knack connect " + c.ID + " prints"}
	case errors.As(err, new(*edit.OutsideError)):
		return &failure{exitNo, fmt.Errorf("%s is left as it is: %s", file, state.Why), "if you mean the file behind that link, name it with --file"}
	}
	return &failure{exitNo, fmt.Errorf("%s is left as it is: %s", file, state.Why), "mend the file, or add by hand what knack connect " + c.ID + " prints"}
}

// showChanges shows what changes in an entry, as a difference.
func showChanges(w io.Writer, state connection, file string) {
	if len(state.Changes) == 0 {
		return
	}
	fmt.Fprintf(w, "%s, %s:\n", clean(file), clean(state.Key))
	for _, d := range state.Changes {
		if d.Old != "" {
			fmt.Fprintf(w, "- %s: %s\n", clean(d.Key), clean(d.Old))
		}
		if d.New != "" {
			fmt.Fprintf(w, "+ %s: %s\n", clean(d.Key), clean(d.New))
		}
	}
}

// writeHint says what to do about a file that could not be written.
func writeHint(env Env, c client.Client, file string, err error) string {
	byHand := ", or add by hand what knack connect " + c.ID + " prints"
	switch {
	case errors.Is(err, edit.ErrChanged), errors.Is(err, edit.ErrExists):
		return c.Name + " or another program wrote it meanwhile: run the command again"
	case errors.Is(err, edit.ErrReadOnly):
		return "make it writable" + byHand
	case errors.Is(err, fs.ErrPermission): // the new file and the backup are made beside it
		return "make its folder " + atHome(env, filepath.Dir(file)) + " writable" + byHand
	}
	return ""
}

// report says what --write did.
func report(env *Env, c client.Client, s client.Server, state connection, ch client.Change, file string) {
	switch {
	case ch.Shared && ch.State == client.Outdated: // see unconnected
		return
	case !state.Written && s.URL == "" && len(state.Command) == 0:
		fmt.Fprintf(env.Stdout, "%s has an entry already, which %s; nothing is written\n", clean(file), clean(state.how()))
		fmt.Fprintln(env.Stderr, "hint: --command PATH makes it start the knack at PATH, --http URL lead to another server")
	case !state.Written:
		fmt.Fprintf(env.Stdout, "%s has the entry already%s\n", clean(file), clean(state.besides()))
	case state.Backup != "":
		fmt.Fprintf(env.Stdout, "%s has the entry now%s; the file from before is %s\n", clean(file), clean(state.besides()), clean(atHome(*env, state.Backup)))
	default:
		fmt.Fprintf(env.Stdout, "%s has the entry now%s\n", clean(file), clean(state.besides()))
	}
	switch {
	case state.First != nil:
		fmt.Fprintln(env.Stdout, clean(state.precedence(*env, c)))
	case state.Written && !state.Off && (ch.Scope != client.Project || len(c.After(client.Places{}, ch.Scope, ch.Name)) == 0):
		fmt.Fprintf(env.Stderr, "hint: restart %s to see the skills\n", c.Name)
	}
}

// besides returns what is unusual about an entry that has been written.
func (c connection) besides() string {
	out := ""
	if name := c.called; name != "" && name != client.Name {
		out = ", called " + name
	}
	if dirs := values(c.Command, "--dir"); len(dirs) > 0 {
		out += ", which serves " + strings.Join(dirs, " and ") + " alone"
	}
	return out
}

// explain says where the printed entry goes.
func explain(env *Env, c client.Client, s client.Server, state connection, ch client.Change, file string) {
	switch {
	case state.File == "":
		fmt.Fprintf(env.Stderr, "It goes into the configuration file of %s.\n", c.Name)
	case state.State == "refused" || state.State == "other" || ch.Shared:
		fmt.Fprintf(env.Stderr, "%s: %s.\n", c.Name, clean(state.sentence(*env)))
	case state.State == "connected":
		fmt.Fprintf(env.Stderr, "%s has an entry already, which %s.\n", clean(file), clean(state.how()))
	case state.State == "outdated":
		fmt.Fprintf(env.Stderr, "%s has an entry already, which %s; --write would change it:\n", clean(file), clean(state.how()))
		showChanges(env.Stderr, state, file)
	default:
		fmt.Fprintf(env.Stderr, "It goes into %s; --write puts it there.\n", clean(file))
	}
	if state.First != nil {
		fmt.Fprintln(env.Stderr, clean(state.precedence(*env, c)))
	}
	if c.Command != nil && state.State == "absent" && state.Scope != "project" {
		fmt.Fprintf(env.Stderr, "Or: %s\n", clean(c.Command(s)))
	}
	if strings.Contains(state.Entry, "--exclude") {
		fmt.Fprintf(env.Stderr, "%s reads the folders behind --exclude itself.\n", c.Name)
	}
}

// advise says what is left to do, and what to know.
func (f *connectFlags) advise(env *Env, c client.Client, s client.Server, ch client.Change) {
	if s.Token && c.TokenFromEnvironment() {
		fmt.Fprintf(env.Stderr, "%s reads the token from the environment variable %s.\n", c.Name, client.TokenVariable)
	} else if s.Token && ch.State != client.Connected {
		fmt.Fprintf(env.Stderr, "Put your token in place of %s; the file is then not one to share.\n", client.TokenPlaceholder)
	}
	counts := ch
	if ch.First != nil {
		counts = *ch.First
	}
	if counts.State == client.Foreign { // no word about approving, allowing or trusting
		if !f.write { // else see unconnected
			fmt.Fprintf(env.Stderr, "That is not known to be knack: %s.\n", removeIt)
		}
		return
	}
	if counts.Scope == client.Project && counts.URL != "" && counts.URL != s.URL {
		fmt.Fprintf(env.Stderr, "Anyone can have written that entry: approve it only if you know the server at %s.\n", clean(counts.URL))
	}
	for _, sentence := range c.After(f.places(*env), counts.Scope, counts.Name) {
		fmt.Fprintln(env.Stderr, clean(sentence))
	}
	switch {
	case f.write && !ch.Changed() && ch.First != nil: // see unconnected
	case ch.First != nil && ch.First.State == client.Outdated:
		fmt.Fprintf(env.Stderr, "%s brings that entry up to date.\n", f.again(c, counts.Scope))
	case c.Trusts() && !counts.Trusted && ch.First != nil:
		fmt.Fprintf(env.Stderr, "%s asks before it calls a tool, and a headless run gets no tools; knack connect %s --scope project --write --trust adds an entry for which it does not ask.\n", c.Name, c.ID)
	case c.Trusts() && !counts.Trusted:
		fmt.Fprintf(env.Stderr, "%s asks before it calls a tool, and a headless run gets no tools; --trust adds \"trust\": true, and it no longer asks for knack's.\n", c.Name)
	}
	if twice := c.Twice("that server"); twice != "" && s.URL != "" {
		fmt.Fprintf(env.Stderr, "%s, or use an entry without --http.\n", twice)
	}
}
