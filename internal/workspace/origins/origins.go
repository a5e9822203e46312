// Package origins makes the readers for the sources from which skills are fetched, one reader for
// each kind of source. It also opens the store of fetched releases.
package origins

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"sync"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/httpfetch"
	"github.com/knack-dev/knack/internal/distribution/install"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/origin/archive"
	"github.com/knack-dev/knack/internal/distribution/origin/folder"
	"github.com/knack-dev/knack/internal/distribution/origin/git"
	"github.com/knack-dev/knack/internal/distribution/origin/npm"
	"github.com/knack-dev/knack/internal/distribution/origin/wellknown"
	"github.com/knack-dev/knack/internal/distribution/store"
	"github.com/knack-dev/knack/internal/workspace/settings"
	"github.com/knack-dev/knack/skill"
)

// Options are the dependencies of the readers.
type Options struct {
	Env      *console.Env
	Store    *store.Store
	Progress origin.Progress
	Offline  bool
	Warn     func(text string)  // called from any goroutine
	Fetch    *httpfetch.Fetcher // of the command
	Login    string             // appended to the message about a server that refuses access, or ""
	// Typed lists the addresses of MCP servers that a person typed. Only these servers receive the
	// token of [Token], since other addresses may come from a cloned repository.
	Typed []string
}

// kinds maps each kind of source to the constructor of its reader.
var kinds = map[origin.Kind]func(Options) (origin.Origin, error){
	origin.Folder: func(o Options) (origin.Origin, error) {
		return folder.Origin{Progress: o.Progress, Shown: o.Env.Shown}, nil
	},
	origin.Archive: func(o Options) (origin.Origin, error) {
		return archive.New(archive.Options{Fetch: o.Fetch, Spool: o.Store.Spool, Offline: o.Offline, Progress: o.Progress, Shown: o.Env.Shown}), nil
	},
	origin.WellKnown: func(o Options) (origin.Origin, error) {
		return wellknown.New(wellknown.Options{Fetch: o.Fetch, Spool: o.Store.Spool, Offline: o.Offline, Progress: o.Progress}), nil
	},
	origin.Git: func(o Options) (origin.Origin, error) {
		return git.New(git.Options{
			Env: o.Env.Environ, Dir: o.Store.GitDir, Terminal: o.Env.StdinTerminal && o.Env.StderrTerminal,
			Offline: o.Offline, Progress: o.Progress, Warn: o.Warn,
			HTTP: o.client, CheckTarget: o.Fetch.CheckTarget,
		}), nil
	},
	origin.OCI: registries,
	origin.NPM: func(o Options) (origin.Origin, error) {
		return npm.New(npm.Options{Fetch: o.Fetch, Spool: o.Store.Spool, Config: o.npm, Offline: o.Offline, Progress: o.Progress}), nil
	},
	origin.MCP: servers,
}

// npm returns the user's settings of npm.
func (o Options) npm() (npm.Config, error) {
	file := o.Env.Variable("npm_config_userconfig")
	if file == "" && o.Env.Home != "" {
		file = filepath.Join(o.Env.Home, ".npmrc")
	}
	var data []byte
	var err error
	if file != "" {
		data, err = settings.ReadUserFile(o.Env.Absolute(file))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return npm.Config{}, fmt.Errorf("%s cannot be read: %s", o.Env.Shown(file), skill.Reason(err))
	}
	c := npm.ParseConfig(data, o.Env.Variable)
	c.Registry = cmp.Or(o.Env.Variable("npm_config_registry"), o.Env.Variable("NPM_CONFIG_REGISTRY"))
	return c, nil
}

// client returns a client for the server at an address that the user named.
func (o Options) client(address string) (*http.Client, error) {
	server, err := o.Fetch.For(address)
	if err != nil {
		return nil, err
	}
	return server.HTTP(), nil
}

// New returns a function that returns the reader of a kind of source. Each reader is created once.
func New(o Options) func(origin.Kind) (origin.Origin, error) {
	made := map[origin.Kind]func() (origin.Origin, error){}
	for kind, read := range kinds {
		made[kind] = sync.OnceValues(func() (origin.Origin, error) { return read(o) })
	}
	return func(k origin.Kind) (origin.Origin, error) {
		if reader, ok := made[k]; ok {
			return reader()
		}
		return nil, &install.Problem{Err: fmt.Errorf("knack does not read sources of the kind %s yet", k), Fix: "get it as a folder, and add that", No: false}
	}
}
