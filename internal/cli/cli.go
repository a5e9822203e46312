// Package cli is the command line: flags, wiring and words for people. Every
// verb has its file.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/skill"
)

// Exit statuses.
const (
	exitDone  = 0
	exitNo    = 1 // the answer is no: problems found, skill not found
	exitUsage = 2
	exitError = 3 // could not run
)

// failure is an error with its exit status and, if there is one, what to do.
type failure struct {
	code int
	err  error
	hint string
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func usageError(hint, format string, args ...any) error {
	return &failure{exitUsage, fmt.Errorf(format, args...), hint}
}

func runError(hint, format string, args ...any) error {
	return &failure{exitError, fmt.Errorf(format, args...), hint}
}

// Main runs the command line and returns the exit status. Data goes to
// env.Stdout, everything else to env.Stderr.
func Main(ctx context.Context, env Env, args []string) int {
	root := newRoot(&env)
	root.SetArgs(args)
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	var f *failure
	if !errors.As(err, &f) {
		f = &failure{exitUsage, err, "run 'knack --help'"} // cobra's own complaints are about usage
	}
	fmt.Fprintf(env.Stderr, "error: %s\n", clean(f.err.Error()))
	if f.hint != "" {
		fmt.Fprintf(env.Stderr, "hint: %s\n", clean(f.hint))
	}
	return f.code
}

func newRoot(env *Env) *cobra.Command {
	root := &cobra.Command{
		Use:   "knack",
		Short: "One skills server for every agent",
		Long: `knack finds the skills on this machine (folders with a SKILL.md) and serves them
to any agent.

  knack list     shows what there is
  knack serve    serves it over MCP, on standard input and output or over HTTP`,
		SilenceErrors: true, SilenceUsage: true,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError("run 'knack --help' for the commands", "there is no command '%s'", args[0])
			}
			return cmd.Help()
		},
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(&cobra.Command{Hidden: true, Use: "no-help"})
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError("run '"+cmd.CommandPath()+" --help' for its flags", "%w", err)
	})
	root.AddCommand(serveCommand(env), listCommand(env), showCommand(env), checkCommand(env), configCommand(env), versionCommand(env), completionCommand(env))
	return root
}

// exactly wraps cobra's count of arguments in words.
func between(low, high int, want string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < low || len(args) > high {
			return usageError("usage: "+cmd.UseLine(), "%s takes %s", cmd.CommandPath(), want)
		}
		return nil
	}
}

// clean makes text fit for a terminal: no control or direction characters but
// line ends and tabs.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r >= ' ' && r != 0x7f && !(r >= 0x80 && r < 0xa0) && !skill.IsBidiControl(r) {
			return r
		}
		return -1
	}, s)
}

// printJSON writes one indented JSON value, never HTML-escaped.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
