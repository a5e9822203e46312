package registry

import (
	"errors"
	"fmt"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/jsonfile"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/skill"
)

// Media types of manifests.
const (
	ImageType = "application/vnd.oci.image.manifest.v1+json"
	IndexType = "application/vnd.oci.image.index.v1+json"
	EmptyType = "application/vnd.oci.empty.v1+json" // of the empty configuration
)

// Annotations that knack both writes and reads.
const (
	TitleKey       = "org.opencontainers.image.title"
	VersionKey     = "org.opencontainers.image.version"
	DescriptionKey = "org.opencontainers.image.description"
	SkillNameKey   = "io.agentskills.skill.name"
	ReleaseKey     = "io.github.knack-dev.release" // "1" on a release
)

// Descriptor refers to a blob or a manifest.
type Descriptor struct {
	MediaType    string            `json:"mediaType"`
	ArtifactType string            `json:"artifactType,omitempty"`
	Digest       string            `json:"digest"`
	Size         int64             `json:"size"`
	Annotations  map[string]string `json:"annotations,omitempty"`
}

// Manifest is the manifest of an image or artifact, or an index of manifests.
type Manifest struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType"` // or the Content-Type of the answer
	ArtifactType  string            `json:"artifactType,omitempty"`
	Config        *Descriptor       `json:"config,omitempty"`
	Layers        []Descriptor      `json:"layers,omitempty"`
	Manifests     []Descriptor      `json:"manifests,omitempty"`
	Subject       *Descriptor       `json:"subject,omitempty"`
	Annotations   map[string]string `json:"annotations,omitempty"`

	Digest string `json:"-"` // of its bytes
	Data   []byte `json:"-"` // its bytes
}

// ManifestError is the reason why a manifest is not accepted, with advice.
type ManifestError struct{ err error }

// Error returns the reason and the advice.
func (e *ManifestError) Error() string { return e.err.Error() }

func bad(format string, args ...any) error {
	return origin.Mark(origin.ErrNoSkills, &ManifestError{fmt.Errorf(format, args...)})
}

// tooLarge returns the error of an artifact that exceeds a limit.
func tooLarge(format string, args ...any) error {
	return origin.Mark(origin.ErrLimit, &ManifestError{fmt.Errorf(format, args...)})
}

// ParseManifest parses the manifest that has this digest. It checks the digests in the manifest,
// and the sizes of its layers.
func ParseManifest(data []byte, digest string) (*Manifest, error) {
	m := &Manifest{Digest: digest, Data: data}
	if err := jsonfile.Unmarshal(data, m); err != nil {
		return nil, bad("the manifest %s is not JSON as OCI has it: ask its publisher to push it again", digest)
	}
	switch {
	case m.SchemaVersion != 2:
		return nil, bad("the manifest %s is of an old format (schema %d): ask its publisher to push it with a current tool", digest, m.SchemaVersion)
	case m.Layers != nil && m.Manifests != nil:
		return nil, bad("the manifest %s is both an image and an index, so tools would read different things: ask its publisher to push it again", digest)
	case len(m.Layers) > maxLayers:
		return nil, tooLarge("the manifest %s has %s layers, and knack reads at most %s", digest, display.Thousands(len(m.Layers)), display.Thousands(maxLayers))
	}
	total := int64(0)
	for i, d := range m.Layers {
		if _, err := skill.ParseDigest(d.Digest); err != nil {
			return nil, bad("layer %d of %s has no SHA-256 digest: ask its publisher to push it with one", i+1, digest)
		}
		if d.Size < 0 || d.Size > MaxLayer {
			return nil, tooLarge("layer %d of %s has %d MiB, and knack reads at most %d: is this an artifact of skills?", i+1, digest, d.Size>>20, MaxLayer>>20)
		}
		if total += d.Size; total > maxTotal {
			return nil, tooLarge("the layers of %s have more than %d GiB together: is this an artifact of skills?", digest, int64(maxTotal)>>30)
		}
	}
	for i, d := range m.Manifests {
		if err := d.check(); err != nil {
			return nil, bad("entry %d of the index %s %w", i+1, digest, err)
		}
	}
	return m, nil
}

// check returns an error for a descriptor whose digest cannot be requested.
func (d Descriptor) check() error {
	if _, err := skill.ParseDigest(d.Digest); err != nil {
		return errors.New("has no SHA-256 digest: ask its publisher to push it with one")
	}
	return nil
}
