package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/httpfetch"
	"github.com/knack-dev/knack/internal/base/typo"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/workspace/config"
	"github.com/knack-dev/knack/internal/workspace/login"
	"github.com/knack-dev/knack/internal/workspace/replica"
	"github.com/knack-dev/knack/internal/workspace/settings"
)

func loginCommand(env *console.Env) *cobra.Command {
	var file string
	var device bool
	cmd := &cobra.Command{
		Use:   "login SOURCE",
		Short: "Sign in at the provider of a followed server",
		Long: `Sign in at the provider of a skills server. SOURCE is its name in the section
sources of your knack.yaml. knack asks the server for its provider, and shows
an address to open in a browser. The tokens are kept in a file that only you
can read, beside your knack.yaml, and renewed without you. They are sent to the
address of this source alone.

--device shows a code to type on another machine, for a machine without a
browser. A provider that registers no programs by itself needs client-id in the
source.`,
		Example: `  knack login acme
  knack login acme --device`,
		Args: command.ArgCount(1, 1, "the name of a source"),
		RunE: command.Returning(env, func(cmd *cobra.Command, args []string) (command.Result, error) {
			files := settings.New(env, file)
			s, ref, err := sourceNamed(files, env, args[0])
			if err != nil {
				return nil, err
			}
			fetch := httpfetch.New(httpfetch.Options{Proxy: env.Proxy, Agent: "knack"})
			defer fetch.Close()
			l, err := login.Sign(cmd.Context(), login.Options{
				Address: ref.Location, Source: ref.Source, ClientID: s.ClientID, Device: device, Fetch: fetch,
				Show: func(issuer, address, code string) {
					p := env.Err()
					p.Line("%s signs in at %s", s.Name.Text, display.Echo(issuer))
					if code != "" {
						p.Line("open %s on any machine, and type %s", display.OneLine(address), display.OneLine(code))
						return
					}
					p.Line("open this address in a browser on this machine:")
					p.Line("%s", display.OneLine(address))
				},
			})
			if failed := (*login.Error)(nil); errors.As(err, &failed) {
				return nil, command.RunError(failed.Fix, "%s: %w", s.Name.Text, err)
			}
			if err != nil {
				return nil, err
			}
			if err := replica.Logins(files).Set(s.Name.Text, l); err != nil {
				return nil, command.RunError("see whether the folder of your knack.yaml can be written", "the login cannot be saved: %w", err)
			}
			return command.Text(func(env *console.Env) {
				fmt.Fprintf(env.Stdout, "signed in; a running knack uses it at its next request to %s\n", s.Name.Text)
			}), nil
		}),
	}
	cmd.Flags().BoolVar(&device, "device", false, "show a code to type on another machine")
	cmd.Flags().StringVar(&file, "config", "", "read the sources from `FILE`, not from your knack.yaml")
	_ = cmd.MarkFlagFilename("config")
	return cmd
}

func logoutCommand(env *console.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "logout SOURCE",
		Short: "Remove the tokens of a login from this machine",
		Long: `Remove the tokens of a login from this machine. SOURCE is the name that
'knack login' had.`,
		Example: `  knack logout acme`,
		Args:    command.ArgCount(1, 1, "the name of a source"),
		RunE: command.Returning(env, func(_ *cobra.Command, args []string) (command.Result, error) {
			if !config.IsLabel(args[0]) {
				return nil, command.UsageError("give the name of a source of knack.yaml", "'%s' is not the name of a source", display.Echo(args[0]))
			}
			had, err := replica.Logins(settings.New(env, "")).Remove(args[0])
			if err != nil {
				return nil, command.RunError("remove the file by hand", "the login cannot be removed: %w", err)
			}
			return command.Text(func(env *console.Env) {
				if had {
					fmt.Fprintf(env.Stdout, "signed out of %s on this machine\n", args[0])
				} else {
					fmt.Fprintf(env.Stdout, "there is no login for %s\n", args[0])
				}
			}), nil
		}),
	}
}

// sourceNamed returns the source with the given name in the settings. It returns an error for a
// source that a person cannot sign in to.
func sourceNamed(files *settings.Finder, env *console.Env, name string) (s config.Source, ref origin.Ref, err error) {
	f, err := files.Trusted()
	if err != nil {
		return s, ref, err
	}
	var names []string
	if f != nil {
		for _, s := range f.Config.Sources {
			if names = append(names, s.Name.Text); s.Name.Text != name {
				continue
			}
			ref, err := origin.Parse(s.From.Text, f.Dir(), env.Home)
			switch {
			case err != nil:
				return s, ref, command.RunError("", "%s: %w", f.Shown, err)
			case ref.Kind != origin.MCP:
				return s, ref, command.RunError("registries use 'docker login', repositories git's credential helpers, and sites token-env or token-file", "%s is not a server of the Skills extension", display.Echo(name))
			case s.Credentials.TokenEnv.Text != "" || s.Credentials.TokenFile.Text != "":
				return s, ref, command.RunError("remove token-env or token-file from the source first", "%s has a token in %s, which is used in place of a login", display.Echo(name), f.Shown)
			}
			return s, ref, nil
		}
	}
	return s, ref, command.UsageError(typo.Hint(name, names, "name it in the section sources of your knack.yaml, with from: mcp:https://…; knack config init writes the file"), "there is no source '%s' in knack.yaml", display.Echo(name))
}
