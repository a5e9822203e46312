package origins

import (
	"context"
	"path/filepath"
	"time"

	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/origin/oci"
	"github.com/knack-dev/knack/internal/distribution/registry"
	"github.com/knack-dev/knack/internal/workspace/settings"
)

// registries returns the reader of registries.
func registries(o Options) (origin.Origin, error) {
	return oci.New(oci.Options{Options: Registry(o), Spool: o.Store.Spool, Progress: o.Progress}), nil
}

// Registry returns the options for reaching registries, with the credentials of docker's
// configuration.
func Registry(o Options) registry.Options {
	config := o.Env.Variable("DOCKER_CONFIG")
	switch {
	case config != "":
		config = filepath.Join(o.Env.Absolute(config), "config.json")
	case o.Env.Home != "":
		config = filepath.Join(o.Env.Home, ".docker", "config.json")
	}
	return registry.Options{
		Fetcher: o.Fetch,
		Wait:    wait,
		Config:  config,
		Read:    settings.ReadUserFile,
		Path:    o.Env.Variable("PATH"),
		Environ: o.Env.Environ,
	}
}

// wait waits for d, or until the command is interrupted.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
