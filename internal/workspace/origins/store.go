package origins

import (
	"cmp"
	"errors"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/distribution/store"
	"github.com/knack-dev/knack/internal/workspace/config"
	"github.com/knack-dev/knack/internal/workspace/settings"
)

var errNoStore = errors.New("the home folder is not known, so there is no place for the store")

// OpenStore opens the store of releases for servers and knack pull. A trusted file names the folder
// of the store; the default is the user's cache. display formats paths for messages.
func OpenStore(env *console.Env, files *settings.Finder, display func(string) string) (*store.Store, error) {
	file, err := files.Trusted()
	if err != nil {
		return nil, err
	}
	var at config.Store
	if file != nil {
		at = file.Config.Store
	}
	if at.Dir == "" {
		return openCache(env, store.Options{Keep: at.Keep, Shown: display}, "write store.dir in knack.yaml, or set HOME or XDG_CACHE_HOME")
	}
	return open(file.Resolve(at.Dir), store.Options{Setting: "store.dir", Keep: cmp.Or(at.Keep, config.DefaultKeep), Shown: display})
}

// OpenCache opens the store in the user's cache, for commands that install and publish.
func OpenCache(env *console.Env) (*store.Store, error) {
	return openCache(env, store.Options{Shown: env.Shown}, "set HOME or XDG_CACHE_HOME")
}

func openCache(env *console.Env, o store.Options, hint string) (*store.Store, error) {
	cache, _ := env.Folders()
	if cache == "" {
		return nil, settings.RunError(hint, "%w", errNoStore)
	}
	o.Setting = "XDG_CACHE_HOME"
	return open(cache, o)
}

func open(folder string, o store.Options) (*store.Store, error) {
	s, err := store.Open(folder, o)
	if err != nil {
		return nil, settings.RunError("", "%w", err)
	}
	return s, nil
}
