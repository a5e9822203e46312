package install

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/knack-dev/knack/internal/base/plugin"
	"github.com/knack-dev/knack/internal/distribution/origin"
)

// Contents lists the skills of a source, and the plugins of a marketplace with their skills.
type Contents struct {
	Source      string
	Revision    origin.Revision
	Marketplace string // its name, or "" if the source lists no plugins
	Plugins     []Plugin
	Skills      []Choice // outside of plugins
	Unread      []string // the places in which knack does not look for skills, see [origin.Aside]
}

// Plugin is a plugin that a source lists.
type Plugin struct {
	Name, Description, Version string
	Where                      string // a path in the source, or another source
	Skills                     []Choice
	Err                        error // why its skills are not known
}

// mostOpened is the maximum number of plugins from other sources whose skills are listed.
const mostOpened = 100

// List returns the skills of a source and of its plugins. Nothing is installed.
func (in *Installer) List(ctx context.Context, text string) (Contents, error) {
	ref, err := origin.ParseTyped(text, in.o.Dir, in.o.Home)
	if err != nil {
		return Contents{}, refProblem(text, err)
	}
	c := Contents{Source: ref.String()}
	l, err := in.open(ctx, ref, origin.Revision{}, false)
	if err != nil {
		return c, ProblemOf(err)
	}
	defer l.Close()
	c.Revision = l.Revision()
	m := readMarket(ctx, l, ref)
	skills, aside, err := l.skills(ctx)
	if err != nil && (m == nil || ctx.Err() != nil) {
		return c, ProblemOf(err)
	}
	c.Unread = aside.Unread
	if m == nil {
		c.Skills = choices(skills, ref)
		return c, nil
	}
	m.aside = aside
	c.Marketplace = m.Name
	taken := map[string]bool{}
	var outside []int
	for i := range m.Plugins {
		e := &m.Plugins[i]
		p := Plugin{Name: e.Name, Description: e.Description, Version: e.Version, Where: in.where(m, e)}
		switch {
		case e.Skipped:
			p.Where, p.Err = "", m.fault(e)
		case e.Source.Kind == plugin.Local:
			own := m.skillsOf(e, skills)
			for _, s := range own {
				taken[s.Path] = true
			}
			p.Skills = choices(own, ref)
		case len(outside) == mostOpened:
			p.Err = fmt.Errorf("only the first %d plugins elsewhere are asked", mostOpened)
		default:
			outside = append(outside, i)
		}
		c.Plugins = append(c.Plugins, p)
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, sourcesAtOnce)
	for _, i := range outside {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			p, e := &c.Plugins[i], &m.Plugins[i]
			p.Skills, p.Err = in.listPlugin(ctx, ref, m, e)
		})
	}
	wg.Wait()
	c.Skills = choices(slices.DeleteFunc(skills, func(s origin.Skill) bool { return taken[s.Path] }), ref)
	return c, ctx.Err()
}

func (in *Installer) listPlugin(ctx context.Context, from origin.Ref, m *market, e *plugin.Offer) ([]Choice, error) {
	l, ref, _, err := in.openPlugin(ctx, from, m, e)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	skills, err := pluginSkills(ctx, l, ref, e)
	return choices(skills, ref), err
}

// choices describes the skills of a source.
func choices(skills []origin.Skill, ref origin.Ref) (out []Choice) {
	for _, s := range skills {
		out = append(out, Choice{Source: ref.String(), Name: nameOf(s, ref), Description: s.Description, Path: s.Path, Unserved: s.Unserved, Fault: s.Fault})
	}
	return out
}
