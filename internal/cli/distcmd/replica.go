package distcmd

import (
	"cmp"
	"path/filepath"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/store"
	"github.com/knack-dev/knack/internal/workspace/config"
	"github.com/knack-dev/knack/internal/workspace/settings"
)

// Origins returns a function for the reader of a kind of source, each made once.
func Origins(s Settings) func(origin.Kind) (origin.Origin, error) { return origins(s) }

// OpenStore opens the store of releases. The file of --config names it, or else the user's own
// file; the default is in the user's cache. A server and knack pull use the same. shown formats
// paths for messages.
func OpenStore(env *console.Env, given string, shown func(string) string) (*store.Store, error) {
	file, err := settings.New(env, given).Trusted()
	if err != nil {
		return nil, fileFailure(err)
	}
	var at config.Store
	if file != nil {
		at = file.Config.Store
	}
	folder, _ := folders(*env)
	o := store.Options{Keep: at.Keep, Setting: "XDG_CACHE_HOME", Shown: shown}
	switch {
	case at.Dir != "":
		o.Setting, o.Keep = "store.dir", cmp.Or(at.Keep, config.DefaultKeep)
		if folder = at.Dir; !filepath.IsAbs(folder) {
			folder = filepath.Join(filepath.Dir(file.Path), folder)
		}
	case folder == "":
		return nil, command.RunError("write store.dir in knack.yaml, or set HOME or XDG_CACHE_HOME", "%w", errNoStore)
	}
	s, err := store.Open(folder, o)
	if err != nil {
		return nil, command.RunError("", "%w", err)
	}
	return s, nil
}

// Offline reports whether KNACK_OFFLINE keeps this process off the network.
func Offline(env console.Env) (bool, error) { return isOffline(env) }
