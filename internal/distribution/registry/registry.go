// Package registry is a client of OCI registries: it reads and writes manifests, tags and blobs,
// signs in with the credentials of the docker program, and tries again if a request failed for a
// moment. Bytes that it reads have the digest that was asked for.
package registry

import (
	"context"
	"sync"
	"time"

	"github.com/knack-dev/knack/internal/base/httpfetch"
	"github.com/knack-dev/knack/internal/distribution/registry/internal/login"
)

// Limits of what is read. Those of a manifest and its layers are far above any real artifact
// of skills; the total is that of an archive.
const (
	MaxManifest = 4 << 20
	MaxLayer    = 256 << 20
	maxLayers   = 10_000
	maxTotal    = 4 << 30 // of all layers together, packed
	maxTags     = 100_000
	maxPages    = 1000 // of tags
	AtOnce      = 8    // requests under way to a registry
)

// Options are what a [Client] takes from the command. Fetcher, Wait and Read are needed.
type Options struct {
	// Fetcher reaches the registries. It waits if one of them says so.
	Fetcher *httpfetch.Fetcher
	// Wait waits between two attempts. Its error is the context's.
	Wait func(ctx context.Context, d time.Duration) error
	// Config is the path of docker's config.json, "" for none, and Read reads it.
	Config string
	Read   func(file string) ([]byte, error)
	// Path has the folders in which docker's credential helpers are looked for, and Environ is
	// their environment.
	Path    string
	Environ []string
}

// Client reaches registries.
type Client struct {
	options Options
	login   login.Config

	mu         sync.Mutex
	registries map[string]*registry // by the host that the person named, and the registry's
}

// New returns a client.
func New(o Options) *Client {
	return &Client{
		options:    o,
		login:      login.Config{File: o.Config, Read: o.Read, Run: login.Helper(o.Path, o.Environ)},
		registries: map[string]*registry{},
	}
}
