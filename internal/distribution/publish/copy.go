package publish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/registry"
	"github.com/knack-dev/knack/skill"
)

// Bounds of one copy: the number of manifests, and the depth of their references.
const (
	maxManifests = 2000
	maxDeep      = 4
)

// Copy publishes the content of a tag or a digest byte for byte. For another repository, it copies
// the content with all referrers, such as signatures. In the same repository, it only sets a new
// tag.
func (p *Publisher) Copy(ctx context.Context, from *registry.Repository, name string, to Target) (*Result, error) {
	m, err := from.Manifest(ctx, name)
	if err != nil {
		return nil, err
	}
	r := &Result{Kind: Mirrored, Layers: len(m.Layers)}
	for _, l := range m.Layers {
		r.Size += l.Size
	}
	root := artifact{registry.Descriptor{MediaType: m.MediaType, Digest: m.Digest, Size: int64(len(m.Data))}, m.Data, nil}
	if from.String() == to.Repository.String() {
		r.Kind = Tagged
		return r, p.push(ctx, to, root, from, r)
	}
	c := &copying{Publisher: p, from: from, to: to.Repository, near: from, result: r, seen: map[string]bool{}}
	if err := c.manifest(ctx, m, 0); err != nil {
		return nil, err
	}
	if err := c.copyDigestTags(ctx, m.Digest); err != nil {
		return nil, err
	}
	layers, size := r.Layers, r.Size
	err = p.push(ctx, to, root, from, r)
	r.Layers, r.Size = layers, size
	return r, err
}

// copying is the state of one copy.
type copying struct {
	*Publisher
	from, to, near *registry.Repository
	result         *Result
	seen           map[string]bool // manifests by digest
}

// manifest copies a manifest by its digest: first its content, then itself, then its referrers.
func (c *copying) manifest(ctx context.Context, m *registry.Manifest, deep int) error {
	if err := c.content(ctx, m, deep); err != nil {
		return err
	}
	_, err := c.to.Resolve(ctx, m.Digest)
	switch {
	case err == nil:
		return c.referrers(ctx, m.Digest, deep)
	case !registry.IsAbsent(err):
		return err
	}
	c.result.added = true
	if !c.DryRun {
		if _, err := c.to.Put(ctx, m.Digest, m.MediaType, m.Data); err != nil {
			return err
		}
	}
	return c.referrers(ctx, m.Digest, deep)
}

// content copies the blobs and manifests that a manifest refers to.
func (c *copying) content(ctx context.Context, m *registry.Manifest, deep int) error {
	if len(c.seen) == maxManifests || deep == maxDeep {
		return fmt.Errorf("%s has more manifests behind %s than are copied: copy them one by one", c.from, m.Digest)
	}
	c.seen[m.Digest] = true
	c.result.Manifests++
	for _, d := range m.Manifests {
		if c.seen[d.Digest] {
			continue
		}
		child, err := c.from.Manifest(ctx, d.Digest)
		if err != nil {
			return err
		}
		if err := c.manifest(ctx, child, deep+1); err != nil {
			return err
		}
	}
	var all []blob
	if m.Config != nil {
		all = append(all, blob{Descriptor: *m.Config, what: "the configuration of " + m.Digest})
	}
	for i, l := range m.Layers {
		all = append(all, blob{Descriptor: l, what: fmt.Sprintf("layer %d of %d", i+1, len(m.Layers))})
	}
	for i := range all {
		b := &all[i]
		if _, err := skill.ParseDigest(b.Digest); err != nil || b.Size < 0 || b.Size > registry.MaxLayer {
			return fmt.Errorf("%s of %s has no SHA-256 digest, or is too large: ask its publisher to push it again", b.what, c.from)
		}
		late := &late{ctx: ctx, copying: c, blob: b}
		b.content, b.done = late, late.close
	}
	return c.blobs(ctx, c.to, all, c.near, c.result)
}

// referrers copies the manifests whose subject has this digest.
func (c *copying) referrers(ctx context.Context, digest string, deep int) error {
	found, err := c.from.Referrers(ctx, digest, nil)
	if err != nil {
		return fmt.Errorf("the signatures and statements about %s cannot be listed: %w", digest, err)
	}
	var there []registry.Descriptor
	if len(found) > 0 {
		if there, err = c.to.Referrers(ctx, digest, nil); err != nil {
			return fmt.Errorf("the signatures and statements about %s cannot be listed: %w", digest, err)
		}
	}
	for _, d := range found {
		if c.seen[d.Digest] {
			continue
		}
		m, err := c.from.Manifest(ctx, d.Digest)
		if err != nil {
			return err
		}
		if err := c.content(ctx, m, deep+1); err != nil {
			return err
		}
		if slices.ContainsFunc(there, func(t registry.Descriptor) bool { return t.Digest == d.Digest }) {
			continue
		}
		if c.result.Statements++; c.DryRun {
			continue
		}
		d.MediaType, d.Size = m.MediaType, int64(len(m.Data))
		if err := c.to.Refer(ctx, digest, d, m.Data); err != nil {
			return err
		}
	}
	return nil
}

// copyDigestTags copies the manifests that older tools find by a tag made of the digest. It never
// replaces a tag with other content.
func (c *copying) copyDigestTags(ctx context.Context, digest string) error {
	for _, kind := range []string{".sig", ".att", ".sbom"} {
		tag := strings.Replace(digest, ":", "-", 1) + kind
		m, err := c.from.Manifest(ctx, tag)
		if registry.IsAbsent(err) {
			continue
		}
		if err != nil {
			return err
		}
		there, err := c.to.Manifest(ctx, tag)
		var unreadable *registry.ManifestError
		switch {
		case registry.IsAbsent(err), err == nil && there.Digest == m.Digest:
		case err != nil && !errors.As(err, &unreadable):
			return err
		case err == nil && holds(there, m):
			continue
		default:
			return refuse("look at both (cosign tree), and remove the tag there, or add its signatures to the original; then copy again", "%s has other signatures or statements under the tag %s than %s, and a copy would replace them", c.to, tag, c.from)
		}
		if err := c.content(ctx, m, 1); err != nil {
			return err
		}
		if there != nil && there.Digest == m.Digest {
			continue
		}
		if c.result.Statements++; c.DryRun {
			continue
		}
		if _, err := c.to.Put(ctx, tag, m.MediaType, m.Data); err != nil {
			return err
		}
	}
	return nil
}

// holds reports whether a manifest has all layers of another one, with their annotations.
func holds(m, other *registry.Manifest) bool {
	for _, l := range other.Layers {
		same := func(d registry.Descriptor) bool {
			return d.Digest == l.Digest && d.MediaType == l.MediaType && maps.Equal(d.Annotations, l.Annotations)
		}
		if !slices.ContainsFunc(m.Layers, same) {
			return false
		}
	}
	return len(other.Layers) > 0
}

// late is a blob that is fetched when its first byte is read. It is not fetched if the registry
// mounts it from the other repository.
type late struct {
	ctx context.Context
	*copying
	blob *blob

	once  sync.Once
	spool origin.Spool
	err   error
}

// ReadAt implements [io.ReaderAt].
func (l *late) ReadAt(b []byte, at int64) (int, error) {
	l.once.Do(func() {
		if l.spool, l.err = l.Spool(); l.err == nil {
			l.err = l.from.Fetch(l.ctx, l.blob.Descriptor, l.blob.what, l.spool, func(int64) {})
		}
	})
	if l.err != nil {
		return 0, l.err
	}
	return io.NewSectionReader(l.spool, 0, l.blob.Size).ReadAt(b, at)
}

// close removes the bytes. A connection that still reads them gets an error.
func (l *late) close() {
	l.once.Do(func() { l.err = fs.ErrClosed })
	if l.spool != nil {
		_ = l.spool.Close()
	}
}
