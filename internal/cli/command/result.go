package command

import (
	"cmp"
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/internal/base/console"
)

// Result is the value that a command returns. Its JSON form is the value itself, unless it has a
// method JSON, which returns another.
type Result interface {
	// Print writes the value for people.
	Print(env *console.Env)
}

// Text is a result that is only written for people.
type Text func(env *console.Env)

// Print implements [Result].
func (t Text) Print(env *console.Env) { t(env) }

// Forms is a result with two forms.
type Forms struct {
	Value any // for JSON
	Text
}

// JSON returns the form for programs.
func (f Forms) JSON() any { return f.Value }

// Ending is the end of a command, for results that are printed in JSON whether or not the command
// fails.
type Ending struct {
	Status int    `json:"status"`
	Reason string `json:"reason,omitempty"`
	Fix    string `json:"fix,omitempty"`
}

// end fills in the error of the command, or nil.
func (e *Ending) end(err error) {
	switch f := FailureIn(err); {
	case err == nil:
	case f == nil:
		*e = Ending{Error, err.Error(), ""}
	case f.Err == ErrPrinted:
		e.Status = f.Code
	default:
		*e = Ending{f.Code, f.Err.Error(), f.Hint}
	}
}

// Run runs a command, and returns its result and its error, one or both.
type Run func(cmd *cobra.Command, args []string) (Result, error)

// Returning returns the RunE of a command that returns its result. It is the only printer of
// results: in the form of the flags --json or --format, else as text.
func Returning(env *console.Env, run Run) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		r, err := run(cmd, args)
		if r == nil {
			return err
		}
		err = Interrupted(cmd.Context(), err)
		if e, ok := r.(interface{ end(error) }); ok {
			e.end(err)
		}
		return cmp.Or(Print(env, r, formatOf(cmd)), err)
	}
}

// ReturnsAlways is like [Returning] for a command whose result has an [Ending]. If
// it fails without a result, for example because of its arguments, it returns the result of blank.
func ReturnsAlways(env *console.Env, cmd *cobra.Command, blank func() Result, run Run) {
	check := cmd.Args
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = Returning(env, func(cmd *cobra.Command, args []string) (r Result, err error) {
		if err = cmp.Or(check(cmd, args), NoConfig(cmd)); err == nil {
			r, err = run(cmd, args)
		}
		if r == nil {
			r = blank()
		}
		return r, err
	})
}

// IsJSON reports whether a command prints JSON.
func IsJSON(cmd *cobra.Command) bool {
	is, _ := cmd.Flags().GetBool("json")
	return is
}

// formatOf returns the format in which a command prints its result.
func formatOf(cmd *cobra.Command) string {
	if IsJSON(cmd) {
		return "json"
	}
	if f := cmd.Flags().Lookup("format"); f != nil {
		return f.Value.String()
	}
	return "text"
}

// Formatted is a result with further formats than text and JSON.
type Formatted interface {
	Result
	// PrintAs prints the result in a format, unless it does not have it.
	PrintAs(env *console.Env, format string) (ok bool, err error)
}

// Noted is a result with notes for people, which belong on stderr in every format.
type Noted interface {
	Result
	PrintNotes(env *console.Env, format string)
}

// Print prints a result in a format, and its notes.
func Print(env *console.Env, r Result, format string) (err error) {
	ok := false
	if f, is := r.(Formatted); is {
		ok, err = f.PrintAs(env, format)
	}
	switch {
	case ok:
	case format != "json":
		r.Print(env) // the output remembers a failure
	default:
		var value any = r
		if other, ok := r.(interface{ JSON() any }); ok {
			value = other.JSON()
		}
		err = console.PrintJSON(env.Stdout, value)
	}
	if n, ok := r.(Noted); ok && err == nil {
		n.PrintNotes(env, format)
	}
	return err
}

// ErrInterrupted is the error of a command that a signal has ended.
var ErrInterrupted = errors.New("interrupted")

// Interrupted returns the error of a command that has ended with err, perhaps by a signal. If err
// has the status of the signal, it says how far the command came.
func Interrupted(ctx context.Context, err error) error {
	by, ok := console.InterruptOf(ctx)
	if f := (*Failure)(nil); !ok || err == nil || errors.As(err, &f) && f.Code == by.Status() {
		return err
	}
	return Fail(by.Status(), ErrInterrupted, "")
}
