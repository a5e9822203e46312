// Package publish sends skills to a registry. It publishes a library as a release, one skill as
// an artifact in the community's format, or existing content as a copy or under another tag. The
// sent bytes depend only on the skills, so two machines publish the same digest.
package publish

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/knack-dev/knack/internal/base/semver"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/registry"
	"github.com/knack-dev/knack/internal/distribution/trust"
	"github.com/knack-dev/knack/skill"
)

// Publisher publishes skills. All fields except From, Progress, Sign and Created are required.
type Publisher struct {
	// From is the published library as the person named it.
	From       string
	Registries *registry.Client
	// Spool returns a temporary file for a transfer.
	Spool func() (origin.Spool, error)
	// Progress is called with the bytes read, and then with the bytes sent.
	Progress func(what string, done, total int64)
	// Sign returns a bundle that signs the manifest with a digest. It is nil if nothing is
	// signed.
	Sign func(manifestDigest string) ([]byte, error)
	// Created is a time in RFC 3339 format that becomes part of the artifact, or "".
	Created string
	// DryRun restricts requests to reads.
	DryRun bool
}

// Target is the destination of a publication.
type Target struct {
	Repository *registry.Repository // a writable one
	Tags       []string             // the first that exists is the tag of the last release
}

// Kind is the kind of published content.
type Kind string

// The kinds.
const (
	Release  Kind = "release"
	Single   Kind = "skill"
	Mirrored Kind = "copy"
	Tagged   Kind = "tag" // existing content gets another tag
)

// Skill is a published skill.
type Skill struct {
	Path, Name, Description string
	Digest                  skill.Digest
	Layer                   int // the index of its layer in the manifest

	files []lockfile.File
}

// Result describes a publication.
type Result struct {
	Kind      Kind
	To        string // the repository
	Digest    string // of the manifest
	Tags      []string
	Replaced  map[string]string // maps a full version tag to its former digest, if different
	Unchanged bool              // the registry already had all of it under these tags
	Signed    bool
	Skills    []Skill // by path; empty for a copy
	Left      int     // number of unpublished entries whose names begin with a dot
	Manifests int     // number of copied manifests, including signatures
	Layers    int
	Size      int64 // of the layers
	Sent      int   // number of blobs that the registry lacked
	SentBytes int64
	// Statements is the number of a copy's signatures and other statements that the registry
	// lacked.
	Statements int

	added bool // the registry lacked a manifest of the copy
}

// blob is a blob of an artifact.
type blob struct {
	registry.Descriptor
	what    string
	content io.ReaderAt
	done    func() // called after the blob was sent or skipped; may be nil
}

// artifact is content ready to be sent.
type artifact struct {
	registry.Descriptor // of the manifest
	data                []byte
	blobs               []blob
}

// manifestOf returns the artifact of a manifest.
func manifestOf(mediaType string, data []byte) artifact {
	return artifact{registry.Descriptor{MediaType: mediaType, Digest: skill.DigestOf(data).String(), Size: int64(len(data))}, data, nil}
}

// small is a blob in memory.
func small(mediaType, what string, data []byte) blob {
	return blob{registry.Descriptor{MediaType: mediaType, Digest: skill.DigestOf(data).String(), Size: int64(len(data))}, what, bytes.NewReader(data), nil}
}

// push sends an artifact: its blobs, its manifest by digest, its signature, and finally the tags,
// so that no tag leads to incomplete content. near is a repository of the registry that may have
// the blobs.
func (p *Publisher) push(ctx context.Context, to Target, a artifact, near *registry.Repository, r *Result) error {
	r.To, r.Digest, r.Tags = to.Repository.String(), a.Digest, to.Tags
	for _, b := range a.blobs {
		if b.MediaType != configType && b.MediaType != skillConfigType {
			r.Layers++
			r.Size += b.Size
		}
	}
	var stale []string
	for _, tag := range to.Tags {
		at, err := to.Repository.Resolve(ctx, tag)
		if err != nil && !registry.IsAbsent(err) {
			return err
		}
		if at != a.Digest {
			stale = append(stale, tag)
			if _, version := semver.Parse(tag); version && at != "" {
				if r.Replaced == nil {
					r.Replaced = map[string]string{}
				}
				r.Replaced[tag] = at
			}
		}
	}
	if len(stale) == len(to.Tags) {
		if err := p.blobs(ctx, to.Repository, a.blobs, near, r); err != nil || p.DryRun {
			return err
		}
		if _, err := to.Repository.Put(ctx, a.Digest, a.MediaType, a.data); err != nil {
			return err
		}
	}
	if p.DryRun {
		r.Unchanged = len(stale) == 0 && !r.changed()
		return nil
	}
	signed, err := p.sign(ctx, to.Repository, a.Descriptor, r)
	if err != nil {
		return err
	}
	for _, tag := range stale {
		if _, err := to.Repository.Put(ctx, tag, a.MediaType, a.data); err != nil {
			return err
		}
	}
	r.Unchanged = len(stale) == 0 && !signed && !r.changed()
	return nil
}

// changed reports whether the push added content to the registry.
func (r *Result) changed() bool { return r.added || r.Statements > 0 || r.Sent > 0 }

// blobs sends the blobs that the repository lacks, several of them concurrently.
func (p *Publisher) blobs(ctx context.Context, to *registry.Repository, all []blob, near *registry.Repository, r *Result) error {
	missing := make([]bool, len(all))
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(registry.AtOnce)
	for i, b := range all {
		if slices.ContainsFunc(all[:i], func(o blob) bool { return o.Digest == b.Digest }) {
			continue
		}
		group.Go(func() error {
			has, err := to.Has(within, b.Digest)
			missing[i] = !has
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	moving := progress{to: p.Progress}
	for i, b := range all {
		if missing[i] {
			r.Sent++
			r.SentBytes += b.Size
		}
	}
	if p.DryRun {
		return nil
	}
	moving.total = r.SentBytes
	var mu sync.Mutex // guards the result
	group, within = errgroup.WithContext(ctx)
	group.SetLimit(registry.AtOnce)
	for i, b := range all {
		if missing[i] {
			group.Go(func() error {
				taken, err := to.Upload(within, b.Descriptor, b.what, b.content, near, moving.add)
				if b.done != nil {
					b.done()
				}
				if taken {
					mu.Lock()
					defer mu.Unlock()
					r.Sent--
					r.SentBytes -= b.Size
				}
				return err
			})
		}
	}
	return group.Wait()
}

// sign signs a manifest, and reports whether its repository lacked the signature.
func (p *Publisher) sign(ctx context.Context, to *registry.Repository, subject registry.Descriptor, r *Result) (added bool, err error) {
	if p.Sign == nil {
		return false, nil
	}
	bundle, err := p.Sign(subject.Digest)
	if err != nil {
		return false, err
	}
	layer, config := small(trust.Bundle, "the signature", bundle), small(registry.EmptyType, "the signature", []byte("{}"))
	annotations := map[string]string{"dev.sigstore.bundle.content": "dsse-envelope", "dev.sigstore.bundle.predicateType": trust.PredicateType}
	a, err := imageOf(registry.Manifest{ArtifactType: trust.Bundle, Config: &config.Descriptor, Layers: []registry.Descriptor{layer.Descriptor}, Subject: &subject, Annotations: annotations})
	if err != nil {
		return false, err
	}
	there := func(d registry.Descriptor) bool { return d.Digest == a.Digest }
	found, err := to.Referrers(ctx, subject.Digest, there)
	if err != nil {
		return false, fmt.Errorf("the signatures of %s cannot be listed: %w", subject.Digest, err)
	}
	r.Signed = true
	if slices.ContainsFunc(found, there) {
		return false, nil
	}
	var ignored Result
	if err := p.blobs(ctx, to, []blob{config, layer}, nil, &ignored); err != nil {
		return false, err
	}
	a.ArtifactType, a.Annotations = trust.Bundle, annotations
	return true, to.Refer(ctx, subject.Digest, a.Descriptor, a.data)
}

// Refused is the reason why content cannot be published, and a fix.
type Refused struct {
	err error
	Fix string // may be empty
}

// Error returns the reason.
func (r *Refused) Error() string { return r.err.Error() }

// Unwrap returns the underlying error.
func (r *Refused) Unwrap() error { return r.err }

func refuse(fix, format string, args ...any) error {
	return &Refused{fmt.Errorf(format, args...), fix}
}
