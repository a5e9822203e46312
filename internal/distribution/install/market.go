package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/plugin"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/skill"
)

// market is a source that lists plugins.
type market struct {
	*plugin.Marketplace
	at     string // its folder in the source; "." for the source itself
	faults []plugin.Fault
	aside  origin.Aside
}

// readMarket reads the list of plugins of a source. It returns nil if the source has no such list.
func readMarket(ctx context.Context, l *library, ref origin.Ref) *market {
	r, ok := l.Library.(origin.Reader)
	if !ok {
		return nil
	}
	at := cmp.Or(ref.Sub, ".")
	for _, file := range plugin.Marketplaces {
		data, err := r.ReadFile(ctx, path.Join(at, file.Path), plugin.MaxMarketplace)
		if err != nil {
			continue
		}
		if m, faults := plugin.ParseMarketplace(data, file.Client); m != nil && len(m.Plugins) > 0 {
			return &market{Marketplace: m, at: at, faults: faults}
		}
	}
	return nil
}

// plugin returns the plugin in a name of the form PLUGIN:SKILL, or nil.
func (m *market) plugin(name string) *plugin.Offer {
	name, _, ok := strings.Cut(name, ":")
	if m == nil || !ok {
		return nil
	}
	for i := range m.Plugins {
		if e := &m.Plugins[i]; e.Name == name {
			return e
		}
	}
	return nil
}

// named returns the names that have the form PLUGIN:SKILL with a plugin of the marketplace.
func (m *market) named(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return m.plugin(name) == nil })
}

// skillsOf returns the skills of a plugin in the marketplace's own source, including linked skills.
// If the entry lists skills, skillsOf returns those, and for a strict entry also the skills in the
// plugin's skills folder. Otherwise, it returns all skills in the plugin's folder, except skills in
// another plugin's folder within it.
func (m *market) skillsOf(e *plugin.Offer, skills []origin.Skill) (found []origin.Skill) {
	base := path.Join(m.at, e.Source.Path)
	inner := func(at string) bool {
		return slices.ContainsFunc(m.Plugins, func(o plugin.Offer) bool {
			other := path.Join(m.at, o.Source.Path)
			return o.Source.Kind == plugin.Local && other != base && isBelow(base, other) && isBelow(other, at)
		})
	}
	has := func(folder string) bool {
		offered := slices.ContainsFunc(e.Skills, func(named string) bool {
			at := path.Join(base, named)
			return folder == at || path.Dir(folder) == at
		})
		own := e.Strict && path.Dir(folder) == path.Join(base, plugin.SkillsFolder) && base != m.at
		return isBelow(base, folder) && (len(e.Skills) > 0 && (offered || own) || len(e.Skills) == 0 && !inner(folder))
	}
	for _, s := range skills {
		if slices.ContainsFunc(m.aside.Through(s.Path), has) {
			found = append(found, s)
		}
	}
	return found
}

// isBelow reports whether a path in a source is a folder, or is within that folder.
func isBelow(folder, at string) bool {
	return folder == "." || at == folder || strings.HasPrefix(at, folder+"/")
}

// find returns the skills that PLUGIN:SKILL names in the marketplace's own source.
func (m *market) find(skills []origin.Skill, name string) []origin.Skill {
	e := m.plugin(name)
	if e == nil || e.Source.Kind != plugin.Local {
		return nil
	}
	_, skillName, _ := strings.Cut(name, ":")
	return pick(m.skillsOf(e, skills), skillName)
}

// pick returns the skills with a name, or else the skills in a folder of this name.
func pick(skills []origin.Skill, name string) []origin.Skill {
	for _, by := range []func(origin.Skill) bool{
		func(s origin.Skill) bool { return s.Name != "" && skill.KeyOf(s.Name) == skill.KeyOf(name) },
		func(s origin.Skill) bool { return path.Base(s.Path) == name },
	} {
		if found := slices.DeleteFunc(slices.Clone(skills), func(s origin.Skill) bool { return !by(s) }); len(found) > 0 {
			return found
		}
	}
	return nil
}

// names returns the skills of the plugins in the marketplace's own source, as PLUGIN:SKILL.
func (m *market) names(skills []origin.Skill, ref origin.Ref) (names []string) {
	for i := range m.Plugins {
		if e := &m.Plugins[i]; e.Source.Kind == plugin.Local {
			for _, s := range m.skillsOf(e, skills) {
				names = append(names, e.Name+":"+nameOf(s, ref))
			}
		}
	}
	return names
}

// where returns the place of a plugin for people: a path in the marketplace's source or another
// source, or the reason why it cannot be installed.
func (in *Installer) where(m *market, e *plugin.Offer) string {
	if e.Source.Kind == plugin.Local && !e.Skipped {
		return "./" + strings.TrimPrefix(path.Join(m.at, e.Source.Path), ".")
	}
	ref, _, err := in.refOf(m, e)
	if err != nil {
		return "cannot be installed: " + err.Error()
	}
	return ref.String()
}

// outside lists the plugins that come from other sources, or all plugins, each with its place.
func (m *market) outside(in *Installer, all bool) (names []string) {
	for i := range m.Plugins {
		if e := &m.Plugins[i]; all || e.Source.Kind != plugin.Local {
			names = append(names, display.Echo(e.Name)+" ("+in.where(m, e)+")")
		}
	}
	return names
}

// mostPlugins is the maximum number of plugins that a message lists.
const mostPlugins = 20

// none returns the error for a marketplace whose own source has no skills.
func (m *market) none(in *Installer, ref origin.Ref) error {
	return &Problem{
		Err: fmt.Errorf("%s has no skill itself; it lists %s: %s", ref, display.Count(len(m.Plugins), "plugin"), display.First(m.outside(in, true), mostPlugins)),
		Fix: in.command("list", ref.String()) + " shows the skills of its plugins; --skill PLUGIN:SKILL chooses one", No: true,
	}
}

// elsewhere returns a note about the plugins that come from other sources, unless the request names
// skills.
func (m *market) elsewhere(in *Installer, ref origin.Ref, q Request) []string {
	names := m.outside(in, false)
	if len(names) == 0 || len(q.Skills) > 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s of %s are elsewhere: %s; --skill PLUGIN:SKILL chooses a skill of one", display.Count(len(names), "plugin"), ref, display.First(names, mostPlugins))}
}

// fault returns the reason why an entry cannot be installed.
func (m *market) fault(e *plugin.Offer) *Problem {
	i := slices.IndexFunc(m.Plugins, func(o plugin.Offer) bool { return o.Span == e.Span })
	field := fmt.Sprintf("plugins[%d]", i)
	for _, f := range m.faults {
		if f.Effect >= plugin.Skips && (f.Field == field || strings.HasPrefix(f.Field, field+".")) {
			return &Problem{Err: errors.New(f.Message), Fix: "ask the author of the marketplace to mend it: " + f.Fix, No: true}
		}
	}
	return &Problem{Err: errors.New("the marketplace does not say where it is"), Fix: "ask the author of the marketplace", No: true}
}

// refOf returns the source of a plugin that comes from another source, and whether the marketplace
// pins it.
func (in *Installer) refOf(m *market, e *plugin.Offer) (ref origin.Ref, pinned bool, err error) {
	s := e.Source
	if e.Skipped {
		return ref, false, m.fault(e)
	}
	text, want := "", cmp.Or(s.SHA, s.Ref)
	switch s.Kind {
	case plugin.GitHub:
		text = s.Repo
	case plugin.Git, plugin.Subdir:
		if text = s.URL; strings.HasPrefix(text, "http") {
			text = "git+" + text
		}
	case plugin.NPM:
		if text = "npm:"; s.Registry != "" {
			text += strings.TrimRight(s.Registry, "/") + "//"
		}
		text += s.Package
		if want = s.Version; want != "" {
			text += "@" + want
		}
	case plugin.Archive:
		text = s.URL
	}
	if ref, err = origin.Parse(text, "", ""); err != nil {
		return ref, false, refProblem(text, err)
	}
	switch {
	case s.Kind == plugin.Archive && ref.Kind != origin.Archive:
		return ref, false, problem("ask the author of the marketplace for a URL that ends with .zip or .tar.gz", "its address %s does not name an archive", ref.Source)
	case ref.Kind == origin.Git:
		if ref.Want = want; want != "" {
			err = refProblem(text, origin.CheckWant(want))
		}
	}
	if s.Path != "." {
		ref.Sub = s.Path
	}
	return ref, s.SHA != "" || s.Kind == plugin.NPM && s.Version != "" || s.SHA256 != "", err
}

// apartFrom is used as the server of a marketplace that does not come from a server. It is equal to
// no plugin's server.
const apartFrom = "https://marketplace.invalid/"

// openPlugin opens the source of a plugin that comes from another source. A marketplace is not
// trusted: it may lead only to its own server, to the public network, and to the npm registry that
// the user configured.
func (in *Installer) openPlugin(ctx context.Context, from origin.Ref, m *market, e *plugin.Offer) (*library, origin.Ref, bool, error) {
	ref, pinned, err := in.refOf(m, e)
	if err != nil {
		return nil, ref, false, err
	}
	if to := addressOf(ref); in.o.CheckTarget != nil && to != "" && !in.o.Offline {
		named := apartFrom
		if u, err := url.Parse(from.Location); err == nil && (u.Scheme == "https" || u.Scheme == "http") {
			named = from.Location
		}
		if err := in.o.CheckTarget(ctx, named, to); err != nil {
			return nil, ref, false, fmt.Errorf("%s: %w", ref, err)
		}
	}
	l, err := in.open(ctx, ref, origin.Revision{}, false)
	if err != nil {
		return nil, ref, false, err
	}
	if err := in.checkTag(l); err != nil {
		l.Close()
		return nil, ref, false, err
	}
	if want := strings.TrimPrefix(strings.ToLower(e.Source.SHA256), "sha256:"); want != "" && l.Revision().ID != "http:"+want {
		l.Close()
		return nil, ref, false, &Problem{Err: fmt.Errorf("%s does not have the digest that the marketplace names, so nothing of it is used", ref), Fix: "ask the author of the marketplace", No: true}
	}
	return l, ref, pinned, nil
}

// addressOf returns the URL of a source's server, or "" for the npm registry that the user
// configured.
func addressOf(ref origin.Ref) string {
	at := ref.Location
	if ref.Kind == origin.NPM {
		at = strings.TrimPrefix(at, "npm:")
		if !strings.Contains(at, "://") {
			return ""
		}
	}
	if rest, ok := strings.CutPrefix(at, "ssh://"); ok {
		at = "https://" + rest[strings.IndexByte(rest, '@')+1:]
	} else if !strings.Contains(at, "://") { // git@HOST:PATH
		host, _, _ := strings.Cut(at[strings.IndexByte(at, '@')+1:], ":")
		at = "https://" + host
	}
	return at
}

// pluginSkills returns the skills of an open plugin.
func pluginSkills(ctx context.Context, l *library, ref origin.Ref, e *plugin.Offer) ([]origin.Skill, error) {
	skills, err := l.Skills(ctx)
	sub := ref.Sub
	if ref.Kind == origin.Git {
		sub = "" // only that folder was searched
	}
	return slices.DeleteFunc(skills, func(s origin.Skill) bool {
		at := s.Path
		if ref.Kind == origin.NPM {
			_, at, _ = strings.Cut(at, "/") // without the archive's top folder
		}
		offered := len(e.Skills) == 0 || e.Strict || slices.ContainsFunc(e.Skills, func(named string) bool {
			return strings.HasSuffix("/"+s.Path, "/"+named) || strings.HasSuffix("/"+path.Dir(s.Path), "/"+named)
		})
		return sub != "" && !isBelow(sub, at) || !offered
	}), err
}

// addPlugin plans to add a skill of a plugin that comes from another source. name is PLUGIN:SKILL.
func (in *Installer) addPlugin(ctx context.Context, p *Plan, q Request, from origin.Ref, m *market, e *plugin.Offer, name string) error {
	l, ref, pinned, err := in.openPlugin(ctx, from, m, e)
	if err != nil {
		return err
	}
	defer l.Close()
	skills, err := pluginSkills(ctx, l, ref, e)
	if err != nil {
		return err
	}
	_, skillName, _ := strings.Cut(name, ":")
	chosen := pick(skills, skillName)
	if len(chosen) == 0 {
		var names []string
		for _, s := range skills {
			names = append(names, e.Name+":"+nameOf(s, ref))
		}
		fix := "it has no skills"
		if len(names) > 0 {
			fix = cmp.Or(fixOfNear(name, names), "it has "+display.First(names, mostPlugins))
		}
		return &Problem{Err: fmt.Errorf("the plugin %s (%s) has no skill '%s'", e.Name, ref, display.Echo(skillName)), Fix: fix, No: true}
	}
	q.Pin = q.Pin || pinned
	return in.addChosen(ctx, p, q, l, ref, skills, chosen)
}
