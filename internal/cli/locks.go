package cli

import (
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/policy/provenance"
	"github.com/knack-dev/knack/internal/workspace/config"
	"github.com/knack-dev/knack/internal/workspace/settings"
)

// provenance returns what compares skills with their locks, or nil if the user's settings turn
// that off. It is one for the command.
func (f *sourceFlags) provenance(env console.Env) *provenance.Locks {
	if f.locks == nil {
		mode := settings.LockMode(&env, f.file)
		if mode == config.LockOff {
			return nil
		}
		o := provenance.Options{Enforce: mode == config.LockEnforce, Log: f.log, Drift: f.drift}
		if !f.overHTTP {
			o.Shown = env.Shown
		}
		f.locks = provenance.New(o)
	}
	return f.locks
}

// options returns the options of a catalogue of the sources.
func (f *sourceFlags) options(env console.Env) catalog.Options {
	if locks := f.provenance(env); locks != nil {
		return catalog.Options{Provenance: locks}
	}
	return catalog.Options{}
}
