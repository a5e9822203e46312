package oci

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/distribution/registry"
	"github.com/knack-dev/knack/internal/distribution/trust"
)

// Signatures implements [origin.Signed]. It returns bundles among the referrers of the manifest,
// then the signatures of cosign before version 3, which have their own tag. It fetches only content
// with the media type of a signature, and at most [trust.MaxFound] signatures of each kind.
func (l *library) Signatures(ctx context.Context) ([]trust.Signature, error) {
	repo := l.origin.target(l.ref).repo
	digest := strings.TrimPrefix(l.at.ID, "oci:")
	w := &beside{repo: repo, digest: digest}
	w.bundles(ctx)
	w.older(ctx)
	return w.found, w.err
}

// maxFailures is the number of failed requests for signatures after which no further requests are
// sent, since each request is tried several times.
const maxFailures = 3

// beside collects the signatures of a manifest.
type beside struct {
	repo     *registry.Repository
	digest   string
	found    []trust.Signature
	err      error // the first failure
	failures int
}

// failed records that a signature is unavailable. It leaves out a signature that the registry no
// longer has. For an unreadable signature, it adds s without data, which counts as invalid.
func (w *beside) failed(err error, s trust.Signature) {
	var unreadable *registry.ManifestError
	switch {
	case registry.IsAbsent(err):
	case errors.As(err, &unreadable):
		w.found = append(w.found, s)
	default:
		w.failures++
		w.err = cmp.Or(w.err, fmt.Errorf("a signature cannot be fetched: %w", err))
	}
}

// bundles fetches the bundles among the referrers of the manifest.
func (w *beside) bundles(ctx context.Context) {
	referrers, err := w.repo.Referrers(ctx, w.digest, isBundle)
	if err != nil {
		w.failures++
		w.err = fmt.Errorf("its signatures cannot be listed: %w", err)
	}
	if !slices.ContainsFunc(referrers, isBundle) {
		referrers = slices.DeleteFunc(referrers, func(d registry.Descriptor) bool { return !mayBeBundle(d) })
	} else {
		referrers = slices.DeleteFunc(referrers, func(d registry.Descriptor) bool { return !isBundle(d) })
	}
	for _, d := range referrers[:min(len(referrers), trust.MaxFound)] {
		if w.failures == maxFailures {
			return
		}
		s := trust.Signature{MediaType: trust.Bundle}
		m, err := w.repo.Manifest(ctx, d.Digest)
		switch {
		case err != nil:
			w.failed(err, s)
		case len(m.Layers) == 1 && strings.HasPrefix(m.Layers[0].MediaType, trust.BundlePrefix):
			w.take(ctx, m.Layers[0], s)
		}
	}
}

// isBundle reports whether a descriptor describes a signature. A statement of another kind is
// not a signature.
func isBundle(d registry.Descriptor) bool {
	return strings.HasPrefix(d.ArtifactType, trust.BundlePrefix) && isAboutSigning(d)
}

// mayBeBundle reports whether the manifest must be read to determine whether it is a signature.
// Some registries list it without an artifact type, or with the media type of the empty
// configuration.
func mayBeBundle(d registry.Descriptor) bool {
	return (d.ArtifactType == "" || d.ArtifactType == registry.EmptyType) && isAboutSigning(d)
}

func isAboutSigning(d registry.Descriptor) bool {
	kind := d.Annotations[predicateKey]
	return kind == "" || kind == trust.PredicateType
}

// predicateKey is cosign's annotation for the predicate type of a bundle's statement.
const predicateKey = "dev.sigstore.bundle.predicateType"

// older fetches the signatures of cosign before version 3.
func (w *beside) older(ctx context.Context) {
	if w.failures == maxFailures {
		return
	}
	m, err := w.repo.Manifest(ctx, strings.Replace(w.digest, ":", "-", 1)+".sig")
	if err != nil {
		w.failed(err, trust.Signature{MediaType: trust.SimpleSigning})
		return
	}
	n := 0
	for _, d := range m.Layers {
		if d.MediaType != trust.SimpleSigning {
			continue
		}
		if n++; n > trust.MaxFound || w.failures == maxFailures {
			return
		}
		w.take(ctx, d, trust.Signature{MediaType: d.MediaType, Value: d.Annotations[trust.SimpleValue], Certificate: d.Annotations[trust.SimpleCertificate] != ""})
	}
}

// take fetches the bytes of a signature. It leaves out a blob that is too large.
func (w *beside) take(ctx context.Context, d registry.Descriptor, s trust.Signature) {
	if d.Size > trust.MaxSize {
		return
	}
	data, err := w.repo.Read(ctx, d, "a signature")
	if err != nil {
		w.failed(err, s)
		return
	}
	s.Data = data
	w.found = append(w.found, s)
}
