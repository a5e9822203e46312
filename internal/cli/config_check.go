package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/cli/report"
	"github.com/knack-dev/knack/internal/workspace/config"
	"github.com/knack-dev/knack/internal/workspace/settings"
)

func configCheckCommand(env *console.Env) *cobra.Command {
	var project string
	cmd := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Report the problems of a configuration file",
		Long: `Report every problem of a configuration file, with its position and what to
write instead. Without FILE, check the files in effect here: the project's
` + config.Name + ` and the user's. knack help settings lists the keys.

The exit status is 1 if anything is wrong.`,
		Example: `  knack config check
  knack config check /etc/knack/knack.yaml`,
		Args: command.ArgCount(0, 1, "one file, or nothing"),
		RunE: command.Returning(env, func(cmd *cobra.Command, args []string) (command.Result, error) {
			if len(args) == 1 && args[0] == "" {
				return nil, command.UsageError("give a file, or none", "the file's name is empty")
			}
			s := settings.New(env, strings.Join(args, ""))
			folder := env.Dir
			if cmd.Flags().Changed("project") {
				if err := settings.CheckFolder(env, "--project", project); err != nil {
					return nil, err
				}
				folder = env.Absolute(project)
			}
			files, err := s.Files(folder)
			if err != nil {
				return nil, err
			}
			if len(files) == 0 {
				env.Err().Line("this project has no %s, and there is no %s; neither is required", config.Name, env.Shown(s.UserFile()))
			}
			r := report.NewSettings(s.Unread(folder))
			for _, f := range files {
				if len(f.Problems) == 0 {
					f.Problems = append(f.ProblemsOfRoots(), f.ProblemsOfTrust()...)
				}
				r.Add(f, warningsOf(f), notesOf(f))
			}
			if n := len(r.Findings); n > 0 {
				return r, command.Fail(command.No, fmt.Errorf("%s in %s", display.Count(n, "problem"), display.Count(len(files), "file")), "")
			}
			return r, nil
		}),
	}
	cmd.Flags().Bool("json", false, "print a JSON object")
	cmd.Flags().StringVar(&project, "project", "", command.ProjectUsage)
	_ = cmd.MarkFlagDirname("project")
	return cmd
}

// notesOf returns notes on valid settings of a file that take effect only in some modes of serve.
func notesOf(f *settings.File) (notes []string) {
	if f.Kind == config.OfProject|config.Named {
		for _, p := range config.Misplaced(f.Data, config.OfProject) {
			notes = append(notes, p.Field+": it counts only if --config names this file; "+p.Message)
		}
	}
	stdio, only := config.Transports(f.Data, f.Kind)
	if len(only) == 0 || f.Kind&config.Named != 0 && f.Config.HTTP.Listen != "" { // all settings apply over HTTP
		return notes
	}
	if len(stdio) == 0 {
		stdio = []string{"nothing"}
	}
	return append(notes, "of this file, 'knack serve' over standard input and output uses "+strings.Join(stdio, ", ")+"; only over HTTP does it use "+strings.Join(only, ", "))
}

// warningsOf returns the warnings about a file:
//
//   - sections that have no effect in it,
//   - files and an address with which 'knack serve' would not start or would refuse its clients,
//     unless a flag helps,
//   - tokens that expire,
//   - groups without a token.
//
// It checks groups because only this file defines them; subjects may come from a token file.
func warningsOf(f *settings.File) (all []string) {
	if f.Kind == config.OfProject { // misplaced sections are problems in a project's file
		return nil
	}
	for _, p := range config.Misplaced(f.Data, f.Kind) {
		all = append(all, p.Field+": "+p.Message+", so it has no effect here")
	}
	all = slices.Concat(all, f.EmptyRoots(), f.UnknownLabels(), f.UnusableFiles(time.Now()), f.UnusableApprovals())
	h := f.Config.HTTP
	if at, err := addressOf(h.Listen); err == nil && h.Listen != "" {
		if why := at.unguarded(len(f.Config.Access.Tokens) > 0 || h.TokenFile != "" || f.Config.SignIn.Issuer != "", h.NoAuth); why != "" {
			all = append(all, "http.listen: "+why+", so 'knack serve' refuses it: give access.tokens or http.token-file, or http.no-auth: true if all of them may read every skill")
		}
		if why := at.unnamed(h.Hosts); why != "" {
			all = append(all, "http.listen: "+why+": "+unnamedFix)
		}
	}
	all = append(all, f.Config.Access.Ending(time.Now())...)
	if host := f.Config.SignIn.Host(); host != "" && h.Listen != "" && !isLoopbackHost(host) && !slices.ContainsFunc(h.Hosts, func(h string) bool {
		return strings.EqualFold(h, host) || strings.HasPrefix(strings.ToLower(h), strings.ToLower(host)+":")
	}) {
		all = append(all, "sign-in.redirect-url: "+host+" is not in http.hosts, so the way back from the provider is refused with 403: add it there, or with --allow-host")
	}
	if f.Config.Access.Policy == nil || f.Config.SignIn.Issuer != "" { // the provider's groups are unknown here
		return all
	}
	for _, s := range f.Config.Access.Policy.UnknownNames(access.NewTokens(f.Config.Access.Tokens)) {
		if !s.Group {
			continue
		}
		w := "a rule applies to the group " + display.Quote(s.Name) + ", but no token is in it"
		if s.Near != "" {
			w += ": did you mean " + s.Near + "?"
		}
		all = append(all, w)
	}
	return all
}
