package oci

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/registry"
	"github.com/knack-dev/knack/skill"
)

// library is an artifact at one revision: an image, or a collection of images.
type library struct {
	origin   *Origin
	ref      origin.Ref
	at       origin.Revision
	image    *image // nil for a collection
	children []child
}

// Revision implements [origin.Library].
func (l *library) Revision() origin.Revision { return l.at }

// Skills implements [origin.Library]. It fetches the layers of an image. The annotations of a
// collection are enough to list its skills.
func (l *library) Skills(ctx context.Context) ([]origin.Skill, error) {
	if l.image != nil {
		skills, err := l.image.read(ctx)
		return slices.Clone(skills), err
	}
	if len(l.children) == 0 {
		return nil, fmt.Errorf("the collection %s is empty", l.ref)
	}
	skills := make([]origin.Skill, len(l.children))
	for i, c := range l.children {
		skills[i] = origin.Skill{Path: c.path, Name: c.path, Description: c.description, Main: skill.MainFile, Fault: c.fault}
	}
	origin.SortSkills(skills)
	return skills, nil
}

// Fetch implements [origin.Library].
func (l *library) Fetch(ctx context.Context, skills []origin.Skill, to origin.Sink) error {
	if l.image != nil {
		if _, err := l.image.read(ctx); err != nil {
			return err
		}
		return l.image.send(ctx, origin.Select(skills), func(s string) string { return s }, to)
	}
	wanted := origin.Select(skills)
	var group errgroup.Group
	group.SetLimit(registry.AtOnce)
	var mu sync.Mutex // a sink takes one file at a time
	for _, c := range l.children {
		if !wanted.Has(c.path) {
			continue
		}
		group.Go(func() error {
			m, only, err := l.child(ctx, c)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				err = m.send(ctx, origin.Select([]origin.Skill{only}), func(string) string { return c.path }, to)
			}
			if m != nil {
				err = errors.Join(err, m.close()) // before the next image opens its files
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				to.Fail(c.path, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// child reads a skill of a collection and returns it with its image. The image is nil if the
// skill's manifest could not be read.
func (l *library) child(ctx context.Context, c child) (m *image, only origin.Skill, err error) {
	if c.fault != nil {
		return nil, only, c.fault
	}
	found, err := c.repo.Manifest(ctx, c.digest)
	if err != nil {
		return nil, only, fmt.Errorf("the collection's skill cannot be fetched: %w", err)
	}
	m, err = l.origin.image(ctx, c.repo, found, c.repo.String())
	if err != nil {
		return nil, only, err
	}
	skills, err := m.read(ctx)
	switch {
	case err != nil:
		return m, only, err
	case len(skills) > 1:
		return m, only, fmt.Errorf("the artifact that the collection names holds %d skills: add it by itself, as oci://%s@%s", len(skills), c.repo, c.digest)
	case skills[0].Fault != nil:
		return m, only, skills[0].Fault
	case skills[0].Name != "" && skills[0].Name != c.path:
		return m, only, fmt.Errorf("the collection calls the skill %s, and its %s %s: add it by itself, as oci://%s@%s", c.path, skills[0].Main, display.Quote(skills[0].Name), c.repo, c.digest)
	}
	return m, skills[0], nil
}

// Close removes the layers that were fetched.
func (l *library) Close() error {
	if l.image == nil {
		return nil
	}
	return l.image.close()
}
