// Package registry is a client of OCI registries. It reads and writes manifests, tags and blobs,
// signs in with docker's credentials, and repeats requests after temporary failures. The bytes
// that it reads match the requested digest.
package registry

import (
	"context"
	"sync"
	"time"

	"github.com/knack-dev/knack/internal/base/httpfetch"
	"github.com/knack-dev/knack/internal/distribution/registry/internal/login"
)

// Limits of artifacts. The limits of a manifest and its layers are far above any real artifact of
// skills; the total is the limit of an archive.
const (
	MaxManifest = 4 << 20
	MaxLayer    = 256 << 20
	maxLayers   = 10_000
	maxTotal    = 4 << 30 // of all layers together, packed
	maxTags     = 100_000
	maxPages    = 1000 // of tags
	AtOnce      = 8    // concurrent requests to a registry
)

// Options configure a [Client]. Fetcher, Wait and Read are required.
type Options struct {
	// Fetcher connects to the registries. It waits for as long as a registry requests.
	Fetcher *httpfetch.Fetcher
	// Wait waits between two attempts. Its error is the context's.
	Wait func(ctx context.Context, d time.Duration) error
	// Config is the path of docker's config.json, or "" for none, and Read reads it.
	Config string
	Read   func(file string) ([]byte, error)
	// Path lists the folders with docker's credential helpers, and Environ is their environment.
	Path    string
	Environ []string
}

// Client connects to registries.
type Client struct {
	options Options
	login   login.Config

	mu         sync.Mutex
	registries map[string]*registry // by the host that the person named, and the host of the registry
}

// New returns a client.
func New(o Options) *Client {
	return &Client{
		options:    o,
		login:      login.Config{File: o.Config, Read: o.Read, Run: login.Helper(o.Path, o.Environ)},
		registries: map[string]*registry{},
	}
}
