package publish

import (
	"context"
	"encoding/json"
	"path"

	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/registry"
	"github.com/knack-dev/knack/skill"
)

// Media types of the community's format for one skill.
const (
	skillType       = "application/vnd.agentskills.skill.v1"
	skillConfigType = "application/vnd.agentskills.skill.config.v1+json"
	skillLayerType  = "application/vnd.agentskills.skill.content.v1.tar+gzip"
)

// nameOf returns the name in a skill's frontmatter if it is valid, or else the name of its folder.
// A skill that is the whole library gets the name of the repository.
func nameOf(s Skill, repository string) string {
	switch {
	case skill.ValidName(s.Name):
		return s.Name
	case s.Path == ".":
		return repository
	}
	return path.Base(s.Path)
}

// single publishes one skill. Its files are below a folder with its name, as in other tools'
// artifacts.
func (p *Publisher) single(ctx context.Context, c *contents, s Skill, to Target, near *registry.Repository, r *Result) error {
	name := nameOf(s, path.Base(to.Repository.Path()))
	l := pack{}
	for _, f := range c.files {
		rest, ok := relativeTo(s.Path, f.path)
		if ok && origin.HiddenPart(rest) == "" {
			f.path = name + "/" + rest
			l.files = append(l.files, f)
		}
	}
	layers := []pack{l}
	defer func() { layers[0].close() }()
	if err := p.pack(ctx, c, layers, last{}, to); err != nil {
		return err
	}
	if was, err := p.lastLayer(ctx, to); err != nil {
		return err
	} else if was.Digest != "" && was.Digest != layers[0].digest {
		if err := layers[0].takeOver(ctx, p, to.Repository, was); err != nil {
			return err
		}
	}
	l = layers[0]
	m := registry.Manifest{ArtifactType: skillType, Annotations: map[string]string{registry.TitleKey: name, registry.SkillNameKey: name}}
	if s.Description != "" {
		m.Annotations[registry.DescriptionKey] = s.Description
	}
	p.describe(m.Annotations, to.Tags)
	data, err := json.Marshal(struct {
		SchemaVersion string `json:"schemaVersion"`
		Name          string `json:"name"`
		Version       string `json:"version,omitempty"`
		Description   string `json:"description,omitempty"`
	}{"1", name, m.Annotations[registry.VersionKey], s.Description})
	if err != nil {
		return err
	}
	conf := small(skillConfigType, "the configuration", data)
	d := registry.Descriptor{MediaType: skillLayerType, Digest: l.digest, Size: l.size, Annotations: map[string]string{registry.TitleKey: name + ".tar.gz"}}
	m.Config, m.Layers = &conf.Descriptor, []registry.Descriptor{d}
	a, err := imageOf(m)
	if err != nil {
		return err
	}
	a.blobs = []blob{{d, "the files of " + displayName(s.Path), l.spool, nil}, conf}
	return p.push(ctx, to, a, near, r)
}

// lastLayer returns the layer of the skill that the first tag names, or no layer.
func (p *Publisher) lastLayer(ctx context.Context, to Target) (registry.Descriptor, error) {
	m, err := p.lastManifest(ctx, to)
	if err != nil || m == nil || m.ArtifactType != skillType || len(m.Layers) != 1 {
		return registry.Descriptor{}, err
	}
	return m.Layers[0], nil
}
