package cli

import (
	"errors"
	"io/fs"

	"github.com/knack-dev/knack/internal/analysis/scan"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/base/jsonfile"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/cli/report"
	"github.com/knack-dev/knack/internal/workspace/settings"
)

// knownFile is the file of --baseline, with the known findings.
type knownFile struct {
	path, label string
	data        []byte // the content that was read, or nil if there is no file
	known       *scan.Baseline
}

// readBaseline reads the file of --baseline. It returns nil if the flag is not given. A file that
// is not a baseline is an error, so that it is not overwritten.
func (f *scanFlags) readBaseline(env *console.Env) (*knownFile, error) {
	switch {
	case f.baseline == "" && f.write:
		return nil, command.UsageError("name the file: --baseline FILE --write", "--write writes the file of --baseline")
	case f.baseline == "":
		return nil, nil
	}
	k := &knownFile{path: env.Absolute(f.baseline), label: display.Echo(f.baseline), known: &scan.Baseline{}}
	var err error
	k.data, err = settings.ReadNamed(k.path, scan.MaxSize)
	switch {
	case errors.Is(err, fs.ErrNotExist) && f.write:
		return k, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, command.RunError("--write writes the current findings into it", "--baseline %s: there is no such file", k.label)
	case err != nil:
		return nil, command.RunError("", "--baseline %s cannot be read: %w", k.label, command.Cause(err))
	}
	if k.known, err = scan.Parse(k.data); err != nil {
		var bad *jsonfile.Error
		if errors.As(err, &bad) {
			return nil, command.RunError(bad.Fix, "%s:%d:%d: %s", k.label, bad.Line, bad.Column, bad.Message)
		}
		return nil, err
	}
	return k, nil
}

// rewrite replaces the known findings with the findings of a run, and writes the file.
func (k *knownFile) rewrite(env *console.Env, run *report.ScanRun) error {
	now, n := &scan.Baseline{}, 0
	for _, s := range run.Skills {
		now.Add(s.Place, &s.Report)
		n += s.Enforce + s.Review
	}
	var err error
	if data := now.Format(); k.data == nil {
		err = edit.Create(edit.Named(k.path), data, 0o666)
	} else {
		err = edit.Replace(edit.Named(k.path), k.data, data)
	}
	if err != nil {
		return command.RunError("make it writable, or name another file", "--baseline %s was not written: %w", k.label, command.Cause(err))
	}
	env.Err().Line("%s has %s now", k.label, display.Count(n, "finding"))
	k.known = now
	return nil
}

// silence removes the known findings from a run.
func (k *knownFile) silence(run *report.ScanRun) {
	for _, s := range run.Skills {
		run.File = k.label
		run.Known += k.known.Silence(s.Place, &s.Report)
	}
}
