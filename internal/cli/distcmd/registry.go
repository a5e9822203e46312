package distcmd

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
func registries(s Settings) (origin.Origin, error) {
	return oci.New(oci.Options{Options: registryOptions(s), Spool: s.Store.Spool, Progress: s.Progress}), nil
}

// registryOptions returns how registries are reached: with the credentials of docker's configuration.
func registryOptions(s Settings) registry.Options {
	config := getenv(*s.Env, "DOCKER_CONFIG")
	switch {
	case config != "":
		config = filepath.Join(s.Env.Absolute(config), "config.json")
	case s.Env.Home != "":
		config = filepath.Join(s.Env.Home, ".docker", "config.json")
	}
	return registry.Options{
		Fetcher: s.Fetch,
		Wait:    wait,
		Config:  config,
		Read:    settings.ReadUserFile,
		Path:    getenv(*s.Env, "PATH"),
		Environ: s.Env.Environ,
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
