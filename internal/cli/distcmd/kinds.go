package distcmd

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/httpfetch"
	"github.com/knack-dev/knack/internal/distribution/install"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/origin/archive"
	"github.com/knack-dev/knack/internal/distribution/origin/folder"
	"github.com/knack-dev/knack/internal/distribution/origin/git"
	"github.com/knack-dev/knack/internal/distribution/origin/mcp"
	"github.com/knack-dev/knack/internal/distribution/origin/wellknown"
	"github.com/knack-dev/knack/internal/distribution/store"
)

// Settings are the settings of a kind of source.
type Settings struct {
	Env      *console.Env
	Store    *store.Store
	Progress origin.Progress
	Offline  bool
	Warn     func(text string)  // called from any goroutine
	Fetch    *httpfetch.Fetcher // of the command
}

// kinds has the readers of the kinds of sources.
var kinds = map[origin.Kind]func(Settings) (origin.Origin, error){
	origin.Folder: func(s Settings) (origin.Origin, error) {
		return folder.Origin{Progress: s.Progress, Shown: s.Env.Shown}, nil
	},
	origin.Archive: func(s Settings) (origin.Origin, error) {
		return archive.New(archive.Options{Fetch: s.Fetch, Spool: s.Store.Spool, Offline: s.Offline, Progress: s.Progress, Shown: s.Env.Shown}), nil
	},
	origin.WellKnown: func(s Settings) (origin.Origin, error) {
		return wellknown.New(wellknown.Options{Fetch: s.Fetch, Spool: s.Store.Spool, Offline: s.Offline, Progress: s.Progress}), nil
	},
	origin.Git: func(s Settings) (origin.Origin, error) {
		return git.New(git.Options{
			Env: s.Env.Environ, Dir: s.Store.GitDir, Terminal: s.Env.StdinTerminal && s.Env.StderrTerminal,
			Offline: s.Offline, Progress: s.Progress, Warn: s.Warn,
			HTTP: s.client, Judge: s.Fetch.Judge,
		}), nil
	},
	origin.OCI: registries,
	origin.MCP: func(s Settings) (origin.Origin, error) {
		return mcp.New(mcp.Options{Offline: s.Offline, Progress: s.Progress, Warn: s.Warn, HTTP: s.client}), nil
	},
}

// client returns a client for the server at an address that the user named.
func (s Settings) client(address string) (*http.Client, error) {
	server, err := s.Fetch.For(address)
	if err != nil {
		return nil, err
	}
	return server.HTTP(), nil
}

// origins returns a function for the reader of a kind of source, made once per command.
func origins(s Settings) func(origin.Kind) (origin.Origin, error) {
	made := map[origin.Kind]func() (origin.Origin, error){}
	for kind, make := range kinds {
		made[kind] = once(func() (origin.Origin, error) { return make(s) })
	}
	return func(k origin.Kind) (origin.Origin, error) {
		if of, ok := made[k]; ok {
			return of()
		}
		return nil, &install.Problem{Err: fmt.Errorf("knack does not read sources of the kind %s yet", k), Fix: "get it as a folder, and add that", No: false}
	}
}

var errNoStore = errors.New("the home folder is not known, so there is no place for the store")
