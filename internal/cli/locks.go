package cli

import (
	"path/filepath"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/realpath"
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
			o.Shown = func(path string) string { return shownReal(env, path) }
		}
		if env.Home != "" {
			o.Global = filepath.Join(env.Home, ".agents")
		}
		f.locks = provenance.New(o)
	}
	return f.locks
}

// shownReal writes a path without links as people at this machine do, who may be in a folder, or
// have a home folder, that a link leads to.
func shownReal(env console.Env, path string) string {
	for _, base := range []string{env.Dir, env.Home} {
		if below, ok := console.Below(path, realpath.Of(base)); base != "" && ok {
			return env.Shown(filepath.Join(base, below))
		}
	}
	return env.Shown(path)
}

// options returns the options of a catalogue of the sources.
func (f *sourceFlags) options(env console.Env) catalog.Options {
	if locks := f.provenance(env); locks != nil {
		return catalog.Options{Provenance: locks}
	}
	return catalog.Options{}
}
