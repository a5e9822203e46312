// Package command has the parts that commands share: results and their printer, failures and exit
// statuses, and the check of the number of arguments.
package command

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/workspace/settings"
)

// Exit statuses.
const (
	Done  = 0
	No    = 1 // a negative result: problems found, skill not found
	Usage = 2
	Error = 3 // could not run
)

// Late is the key of the annotation with a command's hint for an interrupt that leaves its progress
// unreported.
const Late = "interrupted"

// Failure is an error with an exit status and a hint, which may be "".
type Failure struct {
	Code   int
	Err    error
	Hint   string
	Others []Other // printed before Err
}

// Other is an error that a command prints before the final one.
type Other struct {
	Word console.Painted // printed before the text
	Text string
}

// WithOthers adds further errors to an error.
func WithOthers(err error, others []Other) error {
	if len(others) == 0 {
		return err
	}
	f := Failure{Code: Error, Err: err}
	if has := FailureIn(err); has != nil {
		f = *has
	}
	f.Others = append(slices.Clip(f.Others), others...)
	return &f
}

// Joined joins failures into one error. It returns nil for an empty list. The last failure is the
// final one, with the gravest status of all. The others are printed before it, each after word.
func Joined(failures []*Failure, word string) error {
	if len(failures) == 0 {
		return nil
	}
	last := *failures[len(failures)-1]
	for _, f := range failures {
		if f.Code == Error {
			last.Code = Error
		}
	}
	return WithOthers(&last, Others(failures[:len(failures)-1], word))
}

// Others converts failures to errors that a command prints before the final one, each after word.
func Others(failures []*Failure, word string) (all []Other) {
	for _, f := range failures {
		all = append(all, Other{Word: console.Red.Of(word), Text: f.Error()})
	}
	return all
}

// ErrPrinted is the error of a failure that the output describes already.
var ErrPrinted = errors.New("the output says what is wrong")

// Error implements error.
func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns the wrapped error.
func (f *Failure) Unwrap() error { return f.Err }

// Fail returns a failure with an exit status and a hint.
func Fail(code int, err error, hint string) *Failure {
	return &Failure{Code: code, Err: err, Hint: hint}
}

// FailureIn returns the failure in the chain of an error, or nil. It converts an error of the
// settings to a failure.
func FailureIn(err error) *Failure {
	if bad := (*settings.Error)(nil); errors.As(err, &bad) {
		code := Error
		if bad.Usage {
			code = Usage
		}
		return Fail(code, bad.Err, bad.Hint)
	}
	var f *Failure
	errors.As(err, &f)
	return f
}

// UsageError returns a failure with the status [Usage].
func UsageError(hint, format string, args ...any) error {
	return Fail(Usage, fmt.Errorf(format, args...), hint)
}

// Unwritten returns the failure of writing a file for the user. hint is the fix unless the disk is
// full. If the disk is full, elsewhere is the part of the fix that says how to name another folder,
// or "".
func Unwritten(env *console.Env, file string, err error, hint, elsewhere string) error {
	if edit.IsFull(err) {
		free := "free some space"
		if elsewhere != "" {
			free += ", or " + elsewhere
		}
		return RunError(free, "the disk of %s is full: %s was not written", env.Shown(filepath.Dir(file)), env.Shown(file))
	}
	if elsewhere != "" {
		hint += ", or " + elsewhere
	}
	return RunError(hint, "%s cannot be written: %w", env.Shown(file), Cause(err))
}

// RunError returns a failure with the status [Error].
func RunError(hint, format string, args ...any) error {
	return Fail(Error, fmt.Errorf(format, args...), hint)
}

// Cause returns the system's reason for an error, without the operation and the file name.
func Cause(err error) error {
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		return p.Err
	}
	return err
}

// FlagError converts an error in the value of a flag to plain words. The parser's message names an
// internal function.
func FlagError(err error) error {
	if before, _, found := strings.Cut(err.Error(), " flag: time: "); found { // the error has no type
		return errors.New(before + " flag: give a time, for example 30s, 10m or 1h")
	}
	var n *strconv.NumError
	if !errors.As(err, &n) {
		return err
	}
	want := "give a whole number"
	switch {
	case n.Func == "ParseBool":
		want = "give true or false, or no value for true"
	case errors.Is(n.Err, strconv.ErrRange):
		want = "give a number with fewer digits"
	}
	return errors.New(strings.TrimSuffix(err.Error(), n.Error()) + want)
}

// ArgCount returns a check that the number of arguments is between low and high. want names the
// expected arguments in the error.
func ArgCount(low, high int, want string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < low || len(args) > high {
			return UsageError("usage: "+cmd.UseLine(), "%s takes %s", cmd.CommandPath(), want)
		}
		return nil
	}
}

// GivenEmpty returns an error if a flag was given an empty value, and nil otherwise. An empty value
// usually comes from an unset variable. give describes the value to give, and value the empty one.
func GivenEmpty(cmd *cobra.Command, flag, give, value string) error {
	if f := cmd.Flags().Lookup(flag); f == nil || !f.Changed || f.Value.String() != "" {
		return nil
	}
	return UsageError("give "+give+", or leave --"+flag+" out", "--%s: %s is empty", flag, value)
}

// NoConfig is [GivenEmpty] for the flag --config.
func NoConfig(cmd *cobra.Command) error {
	return GivenEmpty(cmd, "config", "a file", "the file's name")
}

// ProjectUsage describes the flag --project.
const ProjectUsage = "the project's folder is `DIR`, not the working directory"

// Repeated is the value of a repeatable flag. The type of pflag would make a CSV writer with a
// buffer of 4 KB for each such flag of every command, at every start.
type Repeated []string

// Set appends a value.
func (r *Repeated) Set(value string) error {
	*r = append(*r, value)
	return nil
}

// Type returns the type name that tells completion that a flag may be repeated.
func (r *Repeated) Type() string { return "stringArray" }

// String returns all values.
func (r *Repeated) String() string { return strings.Join(*r, ",") }

// Takes returns a function that reports whether a command of root has a flag; see
// [console.Env.Takes].
func Takes(root *cobra.Command) func(name, flag string) bool {
	commands := sync.OnceValue(func() map[string]*cobra.Command { // root.Find is not for concurrent use
		all := map[string]*cobra.Command{}
		for _, cmd := range root.Commands() {
			cmd.Flags() // makes the set of flags
			all[cmd.Name()] = cmd
		}
		return all
	})
	return func(name, flag string) bool {
		cmd := commands()[name]
		return cmd != nil && cmd.Flags().Lookup(flag) != nil
	}
}
