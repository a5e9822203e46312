package cli

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/client"
)

type connectFlags struct {
	write, asJSON bool
	token         bool
	http, project string
	command       string
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
		Long: `List the clients that are used on this machine; with CLIENT, print the entry that
it needs in its configuration file.

With --write the entry is added to that file. Comments, formatting and all else in
it stay, the file from before is kept beside it (.bak), and a file that cannot be
parsed is left alone. An entry that is there already is brought up to date.

The roots that the client reads itself are left out with --exclude: it would show
their skills twice. The clients are: ` + strings.Join(ids, ", ") + `.`,
		Args: between(0, 1, "the name of one client, or nothing"),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				if f.write || f.http != "" || f.token {
					return usageError("the clients are: "+strings.Join(ids, ", "), "--write, --http and --token want a client")
				}
				return listClients(env, &f)
			}
			c, ok := client.Find(args[0])
			if !ok {
				return usageError("the clients are: "+strings.Join(ids, ", "), "there is no client '%s'", args[0])
			}
			if f.token && f.http == "" {
				return usageError("for example: --http https://skills.example.com/mcp --token", "--token is for a server behind a URL: --http is missing")
			}
			return f.connect(env, c)
		},
		ValidArgs: ids,
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.write, "write", false, "add the entry to the client's file")
	flags.StringVar(&f.http, "http", "", "connect to a knack that serves at `URL`, instead of starting one")
	flags.BoolVar(&f.token, "token", false, "that server wants a token: the client reads it from KNACK_TOKEN, or the entry has a place for it")
	flags.StringVar(&f.project, "project", "", "the project's folder is `DIR`, not the working directory")
	flags.StringVar(&f.command, "command", "", "the client starts the knack at `PATH`, not this one")
	flags.BoolVar(&f.asJSON, "json", false, "print JSON")
	_ = cmd.MarkFlagDirname("project")
	return cmd
}

func (f *connectFlags) places(env Env) client.Places {
	return client.Places{OS: runtime.GOOS, Home: env.Home, Project: projectRoot(env, f.project), AppData: env.Getenv("APPDATA")}
}

// server is what the entry of a client says.
func (f *connectFlags) server(env Env, c client.Client) (client.Server, error) {
	if f.http != "" {
		u, err := url.Parse(f.http)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return client.Server{}, usageError("for example: --http http://127.0.0.1:8080/mcp", "--http %s: it is not a URL with http:// or https://", f.http)
		}
		return client.Server{URL: f.http, Token: f.token}, nil
	}
	s := client.Server{Command: executable(), Args: []string{"serve"}}
	if f.command != "" {
		s.Command = absolute(env, f.command)
	}
	if !filepath.IsAbs(s.Command) {
		return s, runError("give its path with --command", "the path of this executable is not known")
	}
	for _, label := range c.Reads {
		s.Args = append(s.Args, "--exclude", label)
	}
	return s, nil
}

// connection is the JSON form of connect.
type connection struct {
	Client  string `json:"client"`
	Name    string `json:"name"`
	Here    bool   `json:"here"`
	File    string `json:"file,omitempty"`
	State   string `json:"state"` // "connected", "outdated", "absent" or "refused"
	Why     string `json:"why,omitempty"`
	Entry   string `json:"entry,omitempty"`
	Written bool   `json:"written,omitempty"`
	Backup  string `json:"backup,omitempty"`
}

func (f *connectFlags) state(env Env, c client.Client, s client.Server) (connection, client.Change) {
	p := f.places(env)
	out := connection{Client: c.ID, Name: c.Name, Here: c.Here(p), File: filepath.FromSlash(c.File(p))}
	ch, err := c.Plan(p, s)
	switch {
	case err != nil:
		out.State, out.Why = "refused", bare(err).Error()
	case !ch.Changed():
		out.State = "connected"
	case client.Has(c, ch.Before):
		out.State = "outdated"
	default:
		out.State = "absent"
	}
	return out, ch
}

func listClients(env *Env, f *connectFlags) error {
	all := []connection{}
	for _, c := range client.Clients {
		s, err := f.server(*env, c)
		if err != nil {
			return err
		}
		state, _ := f.state(*env, c, s)
		all = append(all, state)
	}
	if f.asJSON {
		return printJSON(env.Stdout, all)
	}
	words := map[string]string{"connected": "connected", "outdated": "has an older entry", "absent": "not connected"}
	var rest []string
	for _, c := range all {
		if !c.Here {
			rest = append(rest, c.Client)
			continue
		}
		state := words[c.State]
		if c.State == "refused" {
			state = "cannot be changed: " + c.Why
		}
		fmt.Fprintf(env.Stdout, "%-14s  %s  %s\n", c.Client, clean(atHome(*env, c.File)), clean(state))
	}
	if len(rest) > 0 {
		fmt.Fprintf(env.Stdout, "not found here: %s\n", strings.Join(rest, ", "))
	}
	fmt.Fprintln(env.Stderr, "hint: knack connect CLIENT prints the entry, with --write it goes into the file")
	return nil
}

func (f *connectFlags) connect(env *Env, c client.Client) error {
	s, err := f.server(*env, c)
	if err != nil {
		return err
	}
	entry, err := c.Entry(s)
	if errors.Is(err, client.ErrNoRemote) {
		return &failure{exitNo, fmt.Errorf("%s: %w", c.Name, err), "add the URL in the application's own settings"}
	} else if err != nil {
		return runError("", "%s: %w", c.Name, err)
	}
	state, ch := f.state(*env, c, s)
	state.Entry = entry
	file := atHome(*env, state.File)
	if f.write {
		if state.State == "refused" {
			return &failure{exitNo, fmt.Errorf("%s is left as it is: %s", file, state.Why), "mend the file, or add by hand what knack connect " + c.ID + " prints"}
		}
		if err := ch.Write(); err != nil {
			return runError("", "%s cannot be written: %w", file, bare(err))
		}
		state.Written, state.Backup = ch.Changed(), ch.Backup
	}
	if f.asJSON {
		return printJSON(env.Stdout, state)
	}
	if !f.write {
		fmt.Fprint(env.Stdout, clean(entry))
		f.explain(env, c, s, state, file)
		return nil
	}
	switch {
	case !state.Written:
		fmt.Fprintf(env.Stdout, "%s has the entry already\n", clean(file))
	case state.Backup != "":
		fmt.Fprintf(env.Stdout, "%s has the entry now; the file from before is %s\n", clean(file), clean(atHome(*env, state.Backup)))
	default:
		fmt.Fprintf(env.Stdout, "%s has the entry now\n", clean(file))
	}
	if f.token {
		sayToken(env, c)
	}
	if state.Written {
		fmt.Fprintf(env.Stderr, "hint: start %s anew to see the skills\n", c.Name)
	}
	return nil
}

// sayToken says where the client finds the token, which no entry holds.
func sayToken(env *Env, c client.Client) {
	if c.TokenFromEnvironment() {
		fmt.Fprintf(env.Stderr, "%s reads the token from the environment variable %s.\n", c.Name, client.TokenVariable)
		return
	}
	fmt.Fprintf(env.Stderr, "Put your token in place of %s; the file is then not one to share.\n", client.TokenPlaceholder)
}

// explain says where the entry goes.
func (f *connectFlags) explain(env *Env, c client.Client, s client.Server, state connection, file string) {
	switch {
	case state.State == "connected":
		fmt.Fprintf(env.Stderr, "It stands in %s already.\n", clean(file))
	case state.File == "":
		fmt.Fprintf(env.Stderr, "It goes into the configuration file of %s.\n", c.Name)
	default:
		fmt.Fprintf(env.Stderr, "It goes into %s; --write puts it there.\n", clean(file))
	}
	if s.Token {
		sayToken(env, c)
	}
	if c.Command != nil {
		fmt.Fprintf(env.Stderr, "For all projects: %s\n", clean(c.Command(s)))
	}
	if len(c.Reads) > 0 && s.URL == "" {
		fmt.Fprintf(env.Stderr, "%s reads the folders behind --exclude itself.\n", c.Name)
	}
}
