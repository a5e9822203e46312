package publish

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync/atomic"

	"github.com/knack-dev/knack/internal/base/semver"
	"github.com/knack-dev/knack/internal/distribution/registry"
	"github.com/knack-dev/knack/skill"
)

// Media types of images.
const (
	configType = "application/vnd.oci.image.config.v1+json"
	layerType  = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// Annotations that only published manifests have; see [registry.TitleKey] for the others.
const (
	createdKey = "org.opencontainers.image.created"
	packsKey   = "io.github.knack-dev.packs" // of a release: the number of packs
)

// imageOf returns the manifest of an image. Equal images have equal bytes, since encoding/json
// sorts maps.
func imageOf(m registry.Manifest) (artifact, error) {
	m.SchemaVersion, m.MediaType = 2, registry.ImageType
	if m.Subject != nil {
		m.Subject = &registry.Descriptor{MediaType: m.Subject.MediaType, Digest: m.Subject.Digest, Size: m.Subject.Size}
	}
	data, err := json.Marshal(m)
	return manifestOf(registry.ImageType, data), err
}

// config is the configuration of an image. It names a common platform, since tools expect one. The
// files of skills suit all platforms.
type config struct {
	Created      string   `json:"created,omitempty"`
	Architecture string   `json:"architecture"`
	OS           string   `json:"os"`
	Config       struct{} `json:"config"`
	RootFS       rootFS   `json:"rootfs"`
}

type rootFS struct {
	Type    string   `json:"type"`
	DiffIDs []string `json:"diff_ids"` // digests of the layers as tar
}

// last is the release of a tag before this push.
type last struct {
	packs  int                            // 0 if unknown
	layers map[string]registry.Descriptor // by the digest of the tar that the release states
}

// maxConfig is the maximum size of an image's configuration, in bytes.
const maxConfig = 1 << 20

// lastManifest returns the manifest of the first existing tag. If the first tag is a version and
// no tag exists, it returns the manifest of the highest version. It returns nil if there is no
// readable manifest.
func (p *Publisher) lastManifest(ctx context.Context, to Target) (*registry.Manifest, error) {
	tags := to.Tags
	for i := 0; i < len(tags); i++ {
		m, err := to.Repository.Manifest(ctx, tags[i])
		var bad *registry.ManifestError
		switch {
		case registry.IsAbsent(err) && i+1 == len(to.Tags):
			if highest := highestVersion(ctx, to); highest != "" {
				tags = append(tags[:i+1:i+1], highest)
			}
			continue
		case registry.IsAbsent(err):
			continue
		case errors.As(err, &bad):
			return nil, nil
		}
		return m, err
	}
	return nil, nil
}

// highestVersion returns the tag with the highest version in the same form as the first tag, or
// "". It also returns "" if the registry does not list its tags.
func highestVersion(ctx context.Context, to Target) (highest string) {
	first, ok := semver.Parse(to.Tags[0])
	if !ok {
		return ""
	}
	tags, _ := to.Repository.Tags(ctx)
	var most semver.Version
	for _, tag := range tags {
		if v, ok := semver.Parse(tag); ok && v.Prefix == first.Prefix && !v.PreRelease() && (highest == "" || v.Compare(most) > 0) {
			highest, most = tag, v
		}
	}
	return highest
}

// last returns the release of the first existing tag. Content that is not a release of knack is
// ignored. The digests are unverified: see [pack.takeOver].
func (p *Publisher) last(ctx context.Context, to Target) (last, error) {
	m, err := p.lastManifest(ctx, to)
	if err != nil || m == nil || m.Annotations[registry.ReleaseKey] != "1" || m.Config == nil || m.Config.Size < 0 || m.Config.Size > maxConfig {
		return last{}, err
	}
	l := last{layers: map[string]registry.Descriptor{}}
	l.packs, _ = packsSaid(m.Annotations[packsKey])
	if _, err := skill.ParseDigest(m.Config.Digest); err != nil {
		return l, nil
	}
	data, err := to.Repository.Read(ctx, *m.Config, "the configuration of its last release")
	if err != nil {
		return last{}, err
	}
	var c config
	if json.Unmarshal(data, &c) != nil || len(c.RootFS.DiffIDs) != len(m.Layers) {
		return l, nil
	}
	for i, id := range c.RootFS.DiffIDs {
		if m.Layers[i].MediaType == layerType {
			l.layers[id] = m.Layers[i]
		}
	}
	return l, nil
}

// packsSaid parses the number of packs in an annotation: a power of two up to 64.
func packsSaid(text string) (int, bool) {
	for n := 1; n <= maxPacks; n *= 2 {
		if text == strconv.Itoa(n) {
			return n, true
		}
	}
	return 0, false
}

// progress counts the transferred bytes.
type progress struct {
	to    func(what string, done, total int64)
	total int64
	done  atomic.Int64
}

func (p *progress) add(n int64) {
	done := p.done.Add(n)
	if p.to != nil {
		p.to("sending", done, p.total)
	}
}
