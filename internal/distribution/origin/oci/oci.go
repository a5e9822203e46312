// Package oci reads skills from repositories of OCI registries: from images, from artifacts of
// tools that publish skills, and from collections of these. It detects the format of layers by
// their bytes, since tools disagree about the media types.
package oci

import (
	"context"
	"strings"

	"github.com/knack-dev/knack/internal/base/lazyregexp"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/registry"
)

// Limits of reading.
const (
	maxNames    = 64 << 20
	maxChildren = 1000 // of a collection
)

// Options are the settings of an [Origin]. All except Progress and the helpers are required.
type Options struct {
	registry.Options
	// Spool returns a temporary file for layers.
	Spool func() (origin.Spool, error)
	// Progress is called with the bytes of layers.
	Progress origin.Progress
}

// Origin reads sources of the kind [origin.OCI].
type Origin struct {
	options    Options
	registries *registry.Client
}

// New returns an origin.
func New(o Options) *Origin {
	return &Origin{options: o, registries: registry.New(o.Options)}
}

// target is a reference as this package uses it.
type target struct {
	repo   *registry.Repository
	tag    string // "" if there is a digest
	digest string
}

func (o *Origin) target(ref origin.Ref) target {
	host, path, _ := strings.Cut(strings.TrimPrefix(ref.Source, "oci://"), "/")
	t := target{repo: o.registries.Repository(host, host, path), tag: ref.Want, digest: ref.Digest}
	if t.tag == "" && t.digest == "" {
		t.tag = "latest"
	}
	return t
}

// Resolve returns the digest of the manifest that the reference names. It sends one HEAD, or no
// request if the reference has a digest.
func (o *Origin) Resolve(ctx context.Context, ref origin.Ref) (origin.Revision, error) {
	t := o.target(ref)
	at := origin.Revision{Version: versionOf(ref.Want)}
	if t.digest != "" {
		at.ID = "oci:" + t.digest
		return at, nil
	}
	digest, err := t.repo.Resolve(ctx, t.tag)
	if err != nil {
		return origin.Revision{}, notFound(err)
	}
	at.ID = "oci:" + digest
	return at, nil
}

// Versions returns the tags of the repository. It leaves out tags that name a digest, such as
// signatures.
func (o *Origin) Versions(ctx context.Context, ref origin.Ref) ([]string, error) {
	return o.target(ref).repo.Tags(ctx)
}

// Open reads the manifest at a revision. Listing the skills fetches the layers.
func (o *Origin) Open(ctx context.Context, ref origin.Ref, at origin.Revision) (origin.Library, error) {
	t := o.target(ref)
	name := t.digest
	if id, ok := strings.CutPrefix(at.ID, "oci:"); ok {
		name = id
	}
	if name == "" {
		name = t.tag
	}
	m, err := t.repo.Manifest(ctx, name)
	if err != nil {
		return nil, notFound(err)
	}
	l := &library{origin: o, ref: ref, at: origin.Revision{ID: "oci:" + m.Digest, Version: versionOf(ref.Want)}}
	if l.at.Said = versionSaid(m); l.at.Said != "" && (l.at.Version == "" || isRelease(m)) {
		l.at.Version = l.at.Said
	}
	if isCollection(m) {
		l.children, err = o.children(t.repo, m)
	} else {
		l.image, err = o.image(ctx, t.repo, m, ref.String())
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

// notFound marks the error about a tag or a manifest that the registry does not have.
func notFound(err error) error {
	if registry.IsAbsent(err) {
		return origin.Mark(origin.ErrGone, err)
	}
	return err
}

var version = lazyregexp.New(`^v?[0-9]+\.[0-9]+(?:\.[0-9]+)?(?:[-+_][0-9A-Za-z.+_-]+)?$`)

// versionOf returns a tag or an annotation without its "v" if it names a version, or "".
func versionOf(text string) string {
	if len(text) <= 128 && version().MatchString(text) {
		return strings.TrimPrefix(text, "v")
	}
	return ""
}
