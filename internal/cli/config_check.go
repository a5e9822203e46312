package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/check"
	"github.com/knack-dev/knack/config"
	"github.com/knack-dev/knack/internal/console"
	"github.com/knack-dev/knack/internal/display"
	"github.com/knack-dev/knack/internal/lazyregexp"
	"github.com/knack-dev/knack/internal/report"
	"github.com/knack-dev/knack/internal/settings"
	"github.com/knack-dev/knack/skill"
)

func configCheckCommand(env *console.Env) *cobra.Command {
	var asJSON bool
	var project string
	cmd := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Report the problems of a configuration file",
		Long: `Report every problem of a configuration file, with its position and what to
write instead. Without FILE, check the files in effect here: the project's
` + config.Name + ` and the user's. doc/configuration.md lists the keys.

The exit status is 1 if anything is wrong.`,
		Example: `  knack config check
  knack config check /etc/knack/knack.yaml`,
		Args: argCount(0, 1, "one file, or nothing"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] == "" {
				return usageError("give a file, or none", "the file's name is empty")
			}
			s := settings.New(env, strings.Join(args, ""))
			folder := env.Dir
			if cmd.Flags().Changed("project") {
				if err := checkFolder("--project", project, absolute(*env, project)); err != nil {
					return err
				}
				folder = absolute(*env, project)
			}
			files, err := s.Files(folder)
			if err != nil {
				return err
			}
			return printConfigCheck(env, files, s.UserFile(), asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	cmd.Flags().StringVar(&project, "project", "", "the project's folder is `DIR`, not the working directory")
	_ = cmd.MarkFlagDirname("project")
	return cmd
}

// configReport is the JSON form of config check.
type configReport struct {
	Version  int               `json:"version"`
	Files    []string          `json:"files"`
	Findings []configReportRow `json:"findings"`
	// Warnings do not change the exit status, since the file may be intended.
	Warnings []string `json:"warnings,omitempty"`
}

type configReportRow struct {
	Rule    skill.RuleID `json:"rule"`
	File    string       `json:"file"`
	Line    int          `json:"line"`
	Column  int          `json:"column"`
	Key     string       `json:"key,omitempty"`
	Message string       `json:"message"`
	Fix     string       `json:"fix"`
}

func printConfigCheck(env *console.Env, files []*settings.File, user string, asJSON bool) error {
	out := configReport{Version: 1, Files: []string{}, Findings: []configReportRow{}}
	p := env.Out()
	if asJSON {
		p = console.PrinterOf(io.Discard)
	}
	for _, f := range files {
		out.Files = append(out.Files, f.Shown)
		warnings := warningsOf(f)
		if len(f.Problems)+len(warnings) == 0 {
			p.Line("%s: nothing is wrong", console.Bold.Of(f.Shown))
		}
		for _, w := range warnings {
			out.Warnings = append(out.Warnings, f.Shown+": "+w)
			p.Line("%s: %s: %s", console.Bold.Of(f.Shown), console.Yellow.Of("warning"), w)
		}
		source := check.NewSource(f.Data)
		hideTokens(source, f.Problems)
		for _, wrong := range f.Problems {
			out.Findings = append(out.Findings, configReportRow{wrong.Rule, f.Shown, wrong.Position.Line, wrong.Position.Column, wrong.Field, wrong.Message, wrong.Fix})
			report.Diagnostic{
				File: f.Shown, Severity: skill.SeverityError, Rule: wrong.Rule, At: wrong.Position, Length: wordLength(source, wrong.Position), Message: wrong.Message, Fix: wrong.Fix,
			}.Print(p, source)
		}
	}
	if len(files) == 0 {
		env.Err().Line("this project has no %s, and there is no %s; neither is required", config.Name, atHome(*env, user))
	}
	err := p.Failed()
	if asJSON {
		err = console.PrintJSON(env.Stdout, out)
	}
	if n := len(out.Findings); err == nil && n > 0 {
		return &failure{exitNo, fmt.Errorf("%s in %s", display.Count(n, "problem"), display.Count(len(files), "file")), ""}
	}
	return err
}

// warnings are of a section project outside of a project, of an address at which 'knack serve' would not listen, or would refuse its
// clients, unless a flag says more; and of groups that no token is in: they exist in this
// file alone. Subjects may be those of a token file.
func warningsOf(f *settings.File) (all []string) {
	if p := f.Config.Project; f.IsUsers && len(p.Dirs)+len(p.Exclude)+len(p.Tools.Text) > 0 {
		all = append(all, "project: only a project's own "+config.Name+" can have this section, so it has no effect here")
	}
	h := f.Config.HTTP
	if at, err := addressOf(h.Listen); err == nil && h.Listen != "" {
		if why := at.unguarded(len(f.Config.Access.Tokens) > 0 || h.TokenFile != "", false); why != "" {
			all = append(all, "http.listen: "+why+", so 'knack serve' refuses it: give access.tokens or http.token-file, or start it with --no-auth if all of them may read every skill")
		}
		if why := at.unnamed(h.Hosts); why != "" {
			all = append(all, "http.listen: "+why+": give each of them in http.hosts, or with --allow-host")
		}
	}
	if f.Config.Access.Policy == nil {
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

// secrets returns tokens that were written in place of their hashes.
var secrets = lazyregexp.New(`knack_[A-Za-z0-9_-]+`)

// hideTokens replaces possible tokens by stars, to keep them out of terminals and logs.
func hideTokens(source *check.Source, problems []skill.Problem) {
	stars := func(text string) string { return strings.Repeat("*", utf8.RuneCountInString(text)) }
	source.Hide(func(n int, line string) string {
		line = secrets().ReplaceAllStringFunc(line, stars)
		for _, p := range problems {
			runes := []rune(line)
			if p.Position.Line == n && strings.HasSuffix(p.Field, ".hash") && p.Position.Column <= len(runes) {
				line = string(runes[:p.Position.Column-1]) + stars(string(runes[p.Position.Column-1:]))
			}
		}
		return line
	})
}

// wordLength returns the length in characters of the key or word at a position.
func wordLength(source *check.Source, at skill.Position) int {
	line, _ := source.Line(at.Line)
	runes := []rune(line)
	rest := string(runes[min(max(at.Column-1, 0), len(runes)):])
	if i := strings.IndexAny(rest, ": \t"); i >= 0 {
		rest = rest[:i]
	}
	return utf8.RuneCountInString(rest)
}
