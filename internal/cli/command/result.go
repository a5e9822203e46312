package command

import (
	"cmp"
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/internal/base/console"
)

// Result is the value that a command returns. The JSON form is the value itself, unless it has a
// method JSON that returns another value.
type Result interface {
	// Print prints the result for people.
	Print(env *console.Env)
}

// Text is a result that has only a form for people.
type Text func(env *console.Env)

// Print implements [Result].
func (t Text) Print(env *console.Env) { t(env) }

// Forms is a result with different forms for programs and people.
type Forms struct {
	Value any // the JSON form
	Text
}

// JSON returns the JSON form.
func (f Forms) JSON() any { return f.Value }

// Ending is how a command ended. It is part of results that are printed as JSON even if the command
// fails.
type Ending struct {
	Status int    `json:"status"`
	Reason string `json:"reason,omitempty"`
	Fix    string `json:"fix,omitempty"`
}

// end sets the ending from the error of the command, which may be nil.
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

// Run runs a command. It returns a result, an error or both.
type Run func(cmd *cobra.Command, args []string) (Result, error)

// Returning returns the RunE of a command that returns a result. It prints the result in the format
// of --json or --format, or else as text. No other function prints results.
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

// ReturnsAlways is like [Returning] for a command whose result has an [Ending]. If the command
// fails without a result, for example because of its arguments, the result of blank is printed.
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
	asJSON, _ := cmd.Flags().GetBool("json")
	return asJSON
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

// Formatted is a result with formats in addition to text and JSON.
type Formatted interface {
	Result
	// PrintAs prints the result in a format. ok is false if the result does not have this format.
	PrintAs(env *console.Env, format string) (ok bool, err error)
}

// Noted is a result with notes for people, which are printed to stderr in every format.
type Noted interface {
	Result
	PrintNotes(env *console.Env, format string)
}

// Print prints a result in a format, and its notes.
func Print(env *console.Env, r Result, format string) (err error) {
	ok := false
	if f, formatted := r.(Formatted); formatted {
		ok, err = f.PrintAs(env, format)
	}
	switch {
	case ok:
	case format != "json":
		r.Print(env) // the output records a failure
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

// ErrInterrupted is the error of a command that was ended by a signal.
var ErrInterrupted = errors.New("interrupted")

// Interrupted returns the error of a command that ended with err, perhaps because of a signal. If
// err has the status of the signal, it already reports how far the command came, and is returned
// unchanged.
func Interrupted(ctx context.Context, err error) error {
	by, ok := console.InterruptOf(ctx)
	if f := (*Failure)(nil); !ok || err == nil || errors.As(err, &f) && f.Code == by.Status() {
		return err
	}
	return Fail(by.Status(), ErrInterrupted, "")
}
