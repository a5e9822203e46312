package oci

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/knack-dev/knack/internal/display"
	"github.com/knack-dev/knack/skill"
)

// collectionType is the artifact type of an index of skills, each with its own manifest.
const collectionType = "application/vnd.agentskills.collection.v1"

// Annotations that are read.
const (
	titleKey       = "org.opencontainers.image.title"
	versionKey     = "org.opencontainers.image.version"
	descriptionKey = "org.opencontainers.image.description"
	refNameKey     = "org.opencontainers.image.ref.name"
	skillRefKey    = "io.agentskills.skill.ref"
	skillNameKey   = "io.agentskills.skill.name"
	unpackKey      = "io.deis.oras.content.unpack" // of a folder that oras packed
	toolHiveKey    = "dev.toolhive.skills.version"
)

// descriptor refers to a blob or a manifest.
type descriptor struct {
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Annotations map[string]string `json:"annotations"`
}

// manifest is an image, an artifact, or an index of manifests.
type manifest struct {
	SchemaVersion int               `json:"schemaVersion"`
	ArtifactType  string            `json:"artifactType"`
	Layers        []descriptor      `json:"layers"`
	Manifests     []descriptor      `json:"manifests"`
	Annotations   map[string]string `json:"annotations"`

	digest string // of its bytes
}

func parseManifest(data []byte, digest string) (*manifest, error) {
	m := &manifest{digest: digest}
	if err := json.Unmarshal(data, m); err != nil {
		return nil, fmt.Errorf("the manifest %s is not JSON as OCI has it: ask its publisher to push it again", digest)
	}
	switch {
	case m.SchemaVersion != 2:
		return nil, fmt.Errorf("the manifest %s is of an old format (schema %d): ask its publisher to push it with a tool of this decade", digest, m.SchemaVersion)
	case m.Layers != nil && m.Manifests != nil:
		return nil, fmt.Errorf("the manifest %s is both an image and an index, so tools would read different things: ask its publisher to push it again", digest)
	case len(m.Layers) > maxLayers:
		return nil, fmt.Errorf("the manifest %s has %s layers, and knack reads at most %s", digest, display.Thousands(len(m.Layers)), display.Thousands(maxLayers))
	}
	total := int64(0)
	for i, d := range m.Layers {
		if _, err := skill.ParseDigest(d.Digest); err != nil {
			return nil, fmt.Errorf("layer %d of %s has no SHA-256 digest: ask its publisher to push it with one", i+1, digest)
		}
		if d.Size < 0 || d.Size > maxLayer {
			return nil, fmt.Errorf("layer %d of %s has %d MiB, and knack reads at most %d: is this an artifact of skills?", i+1, digest, d.Size>>20, maxLayer>>20)
		}
		if total += d.Size; total > maxTotal {
			return nil, fmt.Errorf("the layers of %s have more than %d GiB together: is this an artifact of skills?", digest, int64(maxTotal)>>30)
		}
	}
	for i, d := range m.Manifests {
		if _, err := skill.ParseDigest(d.Digest); err != nil {
			return nil, fmt.Errorf("entry %d of the index %s has no SHA-256 digest: ask its publisher to push it with one", i+1, digest)
		}
	}
	return m, nil
}

func (m *manifest) isCollection() bool {
	return m.Manifests != nil && m.ArtifactType == collectionType
}

// version returns the version that the annotations say, or "".
func (m *manifest) version() string {
	return cmp.Or(versionOf(m.Annotations[versionKey]), versionOf(m.Annotations[toolHiveKey]))
}

// image returns the image that a manifest leads to: itself, or the first entry of an index. The
// entries of an index are one skill for several platforms.
func (o *Origin) image(ctx context.Context, r *repository, m *manifest, label string) (*image, error) {
	for range 4 {
		if m.Manifests == nil {
			return &image{origin: o, repo: r, manifest: m, label: label}, nil
		}
		if m.isCollection() {
			return nil, fmt.Errorf("%s is a collection within another artifact: add the collection itself", m.digest)
		}
		if len(m.Manifests) == 0 {
			return nil, fmt.Errorf("the index %s is empty, so there are no skills in it", m.digest)
		}
		var err error
		// The size of an entry is not always true, so it is not compared.
		if m, err = r.manifest(ctx, m.Manifests[0].Digest); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("the index %s leads to more indexes than are followed", m.digest)
}

// child is a skill of a collection.
type child struct {
	repo        *repository
	digest      string
	path        string // its path in the collection, which is its name
	description string
	fault       error
}

// children returns the skills of a collection. A skill is in the repository that its annotation
// names, since a registry takes no index over others.
func (o *Origin) children(r *repository, m *manifest) ([]child, error) {
	if len(m.Manifests) > maxChildren {
		return nil, fmt.Errorf("the collection %s has %s skills, and knack reads at most %s", m.digest, display.Thousands(len(m.Manifests)), display.Thousands(maxChildren))
	}
	children := make([]child, 0, len(m.Manifests))
	seen := map[string]int{}
	for _, d := range m.Manifests {
		in, err := o.within(r, cmp.Or(d.Annotations[skillRefKey], d.Annotations[refNameKey]))
		c := child{repo: in, digest: d.Digest, description: d.Annotations[descriptionKey], fault: err}
		c.path = cmp.Or(d.Annotations[skillNameKey], d.Annotations[titleKey])
		if c.path == "" && in != nil {
			c.path = path.Base(in.path)
		}
		if !skill.ValidName(c.path) {
			c.path = strings.TrimPrefix(d.Digest, "sha256:")
		}
		seen[c.path]++
		children = append(children, c)
	}
	for i := range children {
		if n := seen[children[i].path]; n > 1 && children[i].fault == nil {
			children[i].fault = fmt.Errorf("the collection has %d skills of this name: add the one you mean by itself, as oci://%s@%s", n, children[i].repo, children[i].digest)
		}
	}
	return children, nil
}

// within returns the repository that an annotation names. A tag alone, and nothing, mean the
// collection's own; a name without a registry is one of Docker Hub, as docker has it.
func (o *Origin) within(r *repository, ref string) (*repository, error) {
	ref = strings.TrimPrefix(ref, "oci://")
	ref, _, _ = strings.Cut(ref, "@")
	if !strings.Contains(ref, "/") {
		return r, nil
	}
	host, name, _ := strings.Cut(ref, "/")
	if !strings.ContainsAny(host, ".:") && host != "localhost" {
		host, name = "docker.io", ref
	}
	name, _, _ = strings.Cut(name, ":")
	in := o.repository(r.registry.named, strings.ToLower(host), name)
	if err := in.check(); err != nil {
		return nil, fmt.Errorf("the collection says that the skill is in %s: %w", display.Quote(ref), err)
	}
	return in, nil
}
