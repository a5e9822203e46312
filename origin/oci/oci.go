// Package oci reads skills from repositories of OCI registries: from images, from artifacts of
// the tools that publish skills, and from collections of them. It looks at the bytes of layers
// and not at their media types, since tools disagree about these.
package oci

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/knack-dev/knack/internal/fetch"
	"github.com/knack-dev/knack/internal/lazyregexp"
	"github.com/knack-dev/knack/origin"
	"github.com/knack-dev/knack/origin/oci/internal/login"
)

// Limits of what is read. Those of a manifest and its layers are far above any real artifact
// of skills; the total is that of an archive.
const (
	maxManifest = 4 << 20
	maxLayers   = 10_000
	maxLayer    = 256 << 20
	maxTotal    = 4 << 30 // of all layers together, packed
	maxNames    = 64 << 20
	maxChildren = 1000 // of a collection
	maxTags     = 100_000
	maxPages    = 1000 // of tags
	atOnce      = 8    // requests under way
)

// Options are what an [Origin] takes from the command. All but Progress and the helpers are
// needed.
type Options struct {
	// Fetcher reaches the registries. It waits if one of them says so.
	Fetcher *fetch.Fetcher
	// Spool returns a file for a layer on its way.
	Spool func() (origin.Spool, error)
	// Wait waits between two attempts. Its error is the context's.
	Wait func(ctx context.Context, d time.Duration) error
	// Config is the path of docker's config.json, "" for none, and Read reads it.
	Config string
	Read   func(file string) ([]byte, error)
	// Path has the folders in which docker's credential helpers are looked for, and Environ is
	// their environment.
	Path    string
	Environ []string
	// Progress is called with the bytes of layers.
	Progress origin.Progress
}

// Origin reads sources of the kind [origin.OCI].
type Origin struct {
	options Options
	login   login.Config

	mu         sync.Mutex
	registries map[string]*registry // by the host that the person named, and the registry's
}

// New returns an origin.
func New(o Options) *Origin {
	if o.Progress == nil {
		o.Progress = func(string, int64, int64) {}
	}
	return &Origin{
		options:    o,
		login:      login.Config{File: o.Config, Read: o.Read, Run: login.Helper(o.Path, o.Environ)},
		registries: map[string]*registry{},
	}
}

// target is a reference as this package uses it.
type target struct {
	repo   *repository
	tag    string // "" if there is a digest
	digest string
}

func (o *Origin) target(ref origin.Ref) target {
	host, path, _ := strings.Cut(strings.TrimPrefix(ref.Source, "oci://"), "/")
	t := target{repo: o.repository(host, host, path), tag: ref.Want, digest: ref.Digest}
	if t.tag == "" && t.digest == "" {
		t.tag = "latest"
	}
	return t
}

// Resolve returns the digest of the manifest that the reference names. It sends one HEAD, and
// nothing if the reference has a digest.
func (o *Origin) Resolve(ctx context.Context, ref origin.Ref) (origin.Revision, error) {
	t := o.target(ref)
	at := origin.Revision{Version: versionOf(ref.Want)}
	if t.digest != "" {
		at.ID = "oci:" + t.digest
		return at, nil
	}
	digest, err := t.repo.resolve(ctx, t.tag)
	if err != nil {
		return origin.Revision{}, err
	}
	at.ID = "oci:" + digest
	return at, nil
}

// Versions returns the tags of the repository. Tags that name a digest, as those of signatures,
// are left out.
func (o *Origin) Versions(ctx context.Context, ref origin.Ref) ([]string, error) {
	return o.target(ref).repo.tags(ctx)
}

// Open reads the manifest at a revision. The layers are fetched when the skills are asked for.
func (o *Origin) Open(ctx context.Context, ref origin.Ref, at origin.Revision) (origin.Library, error) {
	t := o.target(ref)
	name := t.digest
	if id, ok := strings.CutPrefix(at.ID, "oci:"); ok {
		name = id
	}
	if name == "" {
		name = t.tag
	}
	m, err := t.repo.manifest(ctx, name)
	if err != nil {
		return nil, err
	}
	l := &library{origin: o, ref: ref, at: origin.Revision{ID: "oci:" + m.digest, Version: versionOf(ref.Want)}}
	if l.at.Version == "" {
		l.at.Version = m.version()
	}
	if m.isCollection() {
		l.children, err = o.children(t.repo, m)
	} else {
		l.image, err = o.image(ctx, t.repo, m, ref.String())
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

var version = lazyregexp.New(`^v?[0-9]+\.[0-9]+(?:\.[0-9]+)?(?:[-+_][0-9A-Za-z.+_-]+)?$`)

// versionOf returns a tag or an annotation without its "v" if it names a version, or "".
func versionOf(text string) string {
	if len(text) <= 128 && version().MatchString(text) {
		return strings.TrimPrefix(text, "v")
	}
	return ""
}
