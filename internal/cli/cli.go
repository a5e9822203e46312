// Package cli is the command line: flags, wiring and text for people. Each verb has its own
// file, and the parts of the large verbs begin with its name: check_fix.go, connect_report.go,
// serve_http.go. Shared are sources.go (which folders are scanned), scan.go (one scan for one
// command) and paths.go (which folder is the project's). Terminals, the environment and the
// forms of paths are internal/console's, knack.yaml is internal/settings'.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/edit"
	"github.com/knack-dev/knack/internal/build"
	"github.com/knack-dev/knack/internal/console"
	"github.com/knack-dev/knack/internal/help"
	"github.com/knack-dev/knack/internal/settings"
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

// errPrinted is the error of a failure about which the output says everything.
var errPrinted = errors.New("the output says what is wrong")

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
func Main(ctx context.Context, env console.Env, args []string) int {
	out, end := console.Start(&env)
	root := newRoot(&env)
	root.SetArgs(args)
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	f := failureOf(root.ExecuteContext(ctx), out)
	report := func() {
		end()
		if f == nil || f.err == errPrinted {
			return
		}
		p := env.Err()
		p.Text(console.Error, f.err.Error())
		if f.hint != "" {
			p.Text(console.Hint, f.hint)
		}
	}
	if _, ok := console.InterruptOf(ctx); ok {
		inTime(report)
	} else {
		report()
	}
	if f == nil {
		return exitDone
	}
	return f.code
}

// failureOf returns the failure of a command that ended with an error and wrote to out, or nil.
func failureOf(err error, out *console.Output) *failure {
	if file := (*settings.Error)(nil); errors.As(err, &file) {
		code := exitError
		if file.Usage {
			code = exitUsage
		}
		return &failure{code, file.Err, file.Hint}
	}
	var f *failure
	failed := out.Failed()
	switch isOurs := errors.As(err, &f); {
	case failed != nil && !isOurs:
		return &failure{exitError, fmt.Errorf("the output cannot be written: %w", systemCause(failed)), ""}
	case err == nil:
		return nil
	case !isOurs:
		return &failure{exitUsage, err, "run 'knack --help'"} // cobra's own errors are about usage
	}
	return f
}

// systemCause returns the system's reason, without the operation and the file's name.
func systemCause(err error) error {
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		return p.Err
	}
	return err
}

func newRoot(env *console.Env) *cobra.Command {
	root := &cobra.Command{
		Use:   "knack",
		Short: "One skills server for every agent",
		Long: `knack finds the skills on this machine (folders with a SKILL.md) and serves them
to any agent.`,
		Example: `  knack list      # the skills that there are
  knack doctor    # where they are looked for, and what became of each
  knack connect   # how the clients on this machine are connected`,
		SilenceErrors: true, SilenceUsage: true,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return noCommand(cmd, args[0])
			}
			if env.StdoutTerminal {
				return printHome(cmd.Context(), env)
			}
			return cmd.Help()
		},
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(helpCommand(env))
	root.SetUsageFunc(help.Usage)
	root.Version = build.Current().Version
	root.Flags().Bool("version", false, "print the version")
	root.SetVersionTemplate(build.Current().String() + "\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if words := cmd.Flags().Args(); cmd.HasSubCommands() && len(words) > 0 {
			return noCommand(cmd, words[0]) // its flags would be another command's
		}
		return usageError(flagHint(cmd, err), "%w", flagError(err))
	})
	root.AddCommand(serveCommand(env), listCommand(env), showCommand(env), checkCommand(env), configCommand(env), versionCommand(env), completionCommand(env))
	root.AddCommand(toolsCommand(env), callCommand(env))
	root.AddCommand(doctorCommand(env))
	root.AddCommand(searchCommand(env))
	root.AddCommand(newCommand(env))
	root.AddCommand(connectCommand(env))
	completeRest(root)
	endOnSignal(root, edit.Settle)
	return root
}

// flagError says in words what a flag requires, if the parser names the function that
// refused its value.
func flagError(err error) error {
	if before, _, found := strings.Cut(err.Error(), " flag: time: "); found { // the error has no type
		return errors.New(before + " flag: give a time, for example 30s, 10m or 1h")
	}
	var n *strconv.NumError
	if !errors.As(err, &n) {
		return err
	}
	want := "give a whole number"
	if n.Func == "ParseBool" {
		want = "give true or false, or no value for true"
	}
	return errors.New(strings.TrimSuffix(err.Error(), n.Error()) + want)
}

// argCount requires a number of arguments and reports any other number in words.
func argCount(low, high int, want string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < low || len(args) > high {
			return usageError("usage: "+cmd.UseLine(), "%s takes %s", cmd.CommandPath(), want)
		}
		return nil
	}
}

// repeated is the value of a repeatable flag. The library's own makes a CSV writer with a
// buffer of 4 KB for each flag of every command, at every start.
type repeated []string

// Set appends a value.
func (r *repeated) Set(value string) error {
	*r = append(*r, value)
	return nil
}

// Type returns the name by which completion knows a flag that may be given again.
func (r *repeated) Type() string { return "stringArray" }

// String returns all values.
func (r *repeated) String() string { return strings.Join(*r, ",") }
