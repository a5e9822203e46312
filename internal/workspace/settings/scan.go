package settings

import (
	"log/slog"

	"github.com/knack-dev/knack/internal/base/lazyregexp"
	"github.com/knack-dev/knack/internal/policy/admission"
	"github.com/knack-dev/knack/internal/workspace/config"
)

// Admission returns the controller for the section scan of the file in effect, or of the user's
// file if inEffect is nil. The section applies even to a server on stdio, which ignores most of the
// user's file. An unusable user's file is an error if it may contain the section: held-back skills
// must not be served because of a typing error or an unreadable file. cache is the user's cache
// folder, or "". command writes a command for people to run, or is nil.
func (s *Finder) Admission(inEffect *File, cache string, log *slog.Logger, command func(words ...string) string) (*admission.Controller, error) {
	f := inEffect
	if f == nil {
		var err error
		if f, err = s.userFile(); err == nil {
			err = f.Refused()
		}
		if err != nil {
			if f == nil || len(f.Data) > config.MaxSize || scanKey().Match(f.Data) {
				return nil, err
			}
			f = nil
		}
	}
	if f == nil {
		return admission.Open(admission.Config{}, "", cache, log, command), nil
	}
	scan := f.Config.Scan
	scan.File = f.Shown
	return admission.Open(scan, f.approvals(), cache, log, command), nil
}

// scanKey matches a possible key scan, in any notation.
var scanKey = lazyregexp.New(`scan["']?\s*:`)
