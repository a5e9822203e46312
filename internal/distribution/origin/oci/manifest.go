package oci

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/distribution/reference"
	"github.com/knack-dev/knack/internal/distribution/registry"
	"github.com/knack-dev/knack/skill"
)

// collectionType is the artifact type of an index of skills, each with its own manifest.
const collectionType = "application/vnd.agentskills.collection.v1"

// Annotations of other publishers; see [registry.TitleKey] for the annotations that knack writes too.
const (
	refNameKey  = "org.opencontainers.image.ref.name"
	skillRefKey = "io.agentskills.skill.ref"
	unpackKey   = "io.deis.oras.content.unpack" // of a folder that oras packed
	toolHiveKey = "dev.toolhive.skills.version"
)

func isCollection(m *registry.Manifest) bool {
	return m.Manifests != nil && m.ArtifactType == collectionType
}

// versionSaid returns the version in the annotations of a manifest, or "".
func versionSaid(m *registry.Manifest) string {
	return cmp.Or(versionOf(m.Annotations[registry.VersionKey]), versionOf(m.Annotations[toolHiveKey]))
}

// image returns the image that a manifest leads to: itself, or the first entry of an index. The
// entries of an index are one skill for several platforms.
func (o *Origin) image(ctx context.Context, r *registry.Repository, m *registry.Manifest, label string) (*image, error) {
	for range 4 {
		if m.Manifests == nil {
			return &image{origin: o, repo: r, manifest: m, label: label}, nil
		}
		if isCollection(m) {
			return nil, fmt.Errorf("%s is a collection within another artifact: add the collection itself", m.Digest)
		}
		if len(m.Manifests) == 0 {
			return nil, fmt.Errorf("the index %s is empty, so there are no skills in it", m.Digest)
		}
		var err error
		// The stated size of an entry can be wrong, so it is not compared.
		if m, err = r.Manifest(ctx, m.Manifests[0].Digest); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("the index %s leads to more indexes than are followed", m.Digest)
}

// child is a skill of a collection.
type child struct {
	repo        *registry.Repository
	digest      string
	path        string // its path in the collection, which is its name
	description string
	fault       error
}

// children returns the skills of a collection. A skill is in the repository that its annotation
// names, since a registry rejects an index over other repositories.
func (o *Origin) children(r *registry.Repository, m *registry.Manifest) ([]child, error) {
	if len(m.Manifests) > maxChildren {
		return nil, fmt.Errorf("the collection %s has %s skills, and knack reads at most %s", m.Digest, display.Thousands(len(m.Manifests)), display.Thousands(maxChildren))
	}
	children := make([]child, 0, len(m.Manifests))
	seen := map[string]int{}
	for _, d := range m.Manifests {
		in, err := o.within(r, cmp.Or(d.Annotations[skillRefKey], d.Annotations[refNameKey]))
		c := child{repo: in, digest: d.Digest, description: d.Annotations[registry.DescriptionKey], fault: err}
		c.path = cmp.Or(d.Annotations[registry.SkillNameKey], d.Annotations[registry.TitleKey])
		if c.path == "" && in != nil {
			c.path = path.Base(in.Path())
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

// within returns the repository that an annotation names. A tag alone, or an empty annotation,
// means the collection's own repository. A name without a registry is at Docker Hub, as for docker.
func (o *Origin) within(r *registry.Repository, ref string) (*registry.Repository, error) {
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
	in := o.registries.Repository(r.Named(), reference.Host("oci", host), name)
	if err := in.Check(); err != nil {
		return nil, fmt.Errorf("the collection says that the skill is in %s: %w", display.Quote(ref), err)
	}
	return in, nil
}
