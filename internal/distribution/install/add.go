package install

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/plugin"
	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/internal/base/typo"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/skill"
)

// Request is the request of knack add.
type Request struct {
	Sources []string
	Skills  []string // names, or folders within the source
	All     bool
	Pin     bool
}

// PlanAdd plans to add the requested skills. An error concerns the whole request.
func (in *Installer) PlanAdd(ctx context.Context, q Request) (*Plan, error) {
	p := &Plan{}
	asked := map[string]bool{}
	sources := map[string]bool{}
	for _, text := range q.Sources {
		if ref, err := origin.ParseTyped(text, in.o.Dir, in.o.Home); err == nil {
			if sources[ref.String()] {
				continue // this source is listed twice
			}
			sources[ref.String()] = true
		}
		if err := in.addFrom(ctx, p, q, text, asked); err != nil {
			p.Steps = append(p.Steps, failed(cmp.Or(Short(text), "''"), "", err))
		}
	}
	for _, s := range p.Steps { // the source and its skill as two arguments, as other installers take them
		if s.Problem != nil && s.Problem.Usage && slices.Contains(p.names, s.Name) {
			s.Problem.Fix = "if you mean the skill of the other source: --skill " + s.Name
		}
	}
	for _, name := range q.Skills {
		if !asked[name] && p.Choices == nil && !slices.ContainsFunc(p.Steps, func(s *Step) bool { return s.Do == Fail && s.Key == "" }) {
			p.Steps = append(p.Steps, &Step{Name: name, Do: Fail, Problem: &Problem{Err: fmt.Errorf("there is no skill '%s' in the source", display.Echo(name)), Fix: fixOfName(name, p.names), No: true}})
		}
	}
	p.Steps = refuseTwins(p.Steps)
	for _, s := range p.Steps {
		if s.Do == "" {
			in.decide(ctx, s)
			in.otherSource(s)
			if in.keepSigner(s) {
				in.keepVersion(s)
			}
		}
	}
	return p, nil
}

// NoteOnlyHere adds a note about new entries whose sources exist only on this machine, since other
// clones of the project cannot reach them.
func (in *Installer) NoteOnlyHere(p *Plan) {
	var only []string
	fix := "add it from a repository that they can reach"
	for _, s := range p.Steps {
		ref, err := origin.Locked(s.Entry.Source, s.Entry.Want, in.o.Root, in.o.Home)
		if in.o.AtHome || !s.records() || err != nil || !ref.OnDisk() {
			continue
		}
		source := s.Entry.Source
		if source[0] == '.' && realpath.Inside(in.o.Root, ref.Location) || slices.Contains(only, source) { // as the lock has it
			continue
		}
		if only = append(only, source); ref.Kind != origin.Git {
			fix = "move it into the project, or add it from a repository that they can reach"
		}
	}
	if len(only) > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("%s names %s, which other machines do not have: for others, %s", in.lockShown(), shortList(only), fix))
	}
}

// fixOfNear returns a fix that proposes the most similar of the names, or "" if none is similar.
func fixOfNear(name string, names []string) string {
	if near := typo.Nearest(name, names); near != "" {
		return "did you mean " + display.Echo(near) + "?"
	}
	return ""
}

// fixOfName returns the fix for a name that no skill of the sources has.
func fixOfName(name string, names []string) string {
	if near := fixOfNear(name, names); near != "" {
		return near
	}
	var flags []string
	for part := range strings.SplitSeq(name, ",") {
		if part = strings.TrimSpace(part); slices.Contains(names, part) {
			flags = append(flags, "--skill "+part)
		}
	}
	if len(flags) > 0 && strings.Contains(name, ",") {
		return "give the flag once for each: " + strings.Join(flags, " ")
	}
	return "the source has " + firstNames(names)
}

// Short shortens the text of a source for a message, and hides its user name and password.
func Short(text string) string {
	if at := strings.LastIndexByte(text, '@'); at >= 0 {
		before := text[:at]
		switch scheme, _, ok := strings.Cut(before, "://"); {
		case ok:
			text = scheme + "://…" + text[at:]
		case strings.Contains(before[:strings.IndexByte(text, '@')], ":"): // USER:PASSWORD@HOST
			text = "…" + text[at:]
		}
	}
	if i := strings.IndexAny(text, "?#"); i >= 0 {
		text = text[:i] + "…"
	}
	return display.Echo(text)
}

// otherSource leaves an installed skill if the new skill of its name has another source and other
// files. With --overwrite, it does not.
func (in *Installer) otherSource(s *Step) {
	if s.Was == nil || s.Was.Source == s.Entry.Source || s.Do != Replace || in.o.Overwrite {
		return
	}
	s.Do, s.Problem = Leave, &Problem{Err: fmt.Errorf("a skill of this name is installed from %s", s.Was.Source), Fix: "--overwrite replaces it by the one from " + s.Entry.Source, No: true}
}

func (in *Installer) addFrom(ctx context.Context, p *Plan, q Request, text string, asked map[string]bool) error {
	ref, err := origin.ParseTyped(text, in.o.Dir, in.o.Home)
	if err != nil {
		return refProblem(text, err)
	}
	l, err := in.open(ctx, ref, origin.Revision{}, false) // also resolves the reference, so that an archive is read only once
	if err != nil {
		return err
	}
	defer l.Close()
	if err := in.checkTag(l); err != nil {
		return err
	}
	m := readMarket(ctx, l, ref)
	skills, aside, err := l.skills(ctx)
	if err != nil && (m == nil || ctx.Err() != nil) {
		return err
	}
	if m != nil {
		m.aside = aside
		for _, name := range m.named(q.Skills) {
			if e := m.plugin(name); e != nil && e.Source.Kind != plugin.Local {
				asked[name] = true
				if err := in.addPlugin(ctx, p, q, ref, m, e, name); err != nil {
					p.Steps = append(p.Steps, failed(display.Echo(name), "", err))
				}
			}
		}
	}
	all := len(skills)
	if skills = in.notInstalled(ref, skills); len(skills) == 0 && all > 0 {
		return &Problem{Err: fmt.Errorf("%s has only skills that are installed in it", ref), Fix: "name the folder of a skill, to record that one", No: true}
	}
	switch {
	case m != nil && (len(skills) == 0 && len(q.Skills) == 0):
		return m.none(in, ref)
	case m != nil:
		p.Notes = append(p.Notes, m.elsewhere(in, ref, q)...)
		p.names = append(p.names, m.names(skills, ref)...)
	case len(skills) == 0:
		p.Notes = append(p.Notes, aside.Unread...)
		return &Problem{Err: fmt.Errorf("no skill was found in %s", ref), Fix: "a skill is a folder with a SKILL.md", No: true}
	}
	for _, s := range skills {
		p.names = append(p.names, nameOf(s, ref))
	}
	chosen := choose(skills, ref, q, asked, m)
	if chosen == nil || len(q.Skills) == 0 {
		p.Notes = append(p.Notes, aside.Unread...)
	}
	if chosen == nil {
		if len(q.Skills) > 0 {
			return nil // another source may have them
		}
		p.Choices = append(p.Choices, choices(skills, ref)...)
		return nil
	}
	return in.addChosen(ctx, p, q, l, ref, skills, chosen)
}

// addChosen plans to add some of the skills of a source.
func (in *Installer) addChosen(ctx context.Context, p *Plan, q Request, l *library, ref origin.Ref, skills, chosen []origin.Skill) error {
	chosen = slices.DeleteFunc(slices.Clone(chosen), func(s origin.Skill) bool { // before their files are fetched into the store
		left := in.ownFolder(ref, s.Path)
		if left != nil {
			p.Steps = append(p.Steps, left)
		}
		return left != nil
	})
	fetched, err := in.take(ctx, l, chosen)
	if err != nil {
		return tooMany(err)
	}
	if q.All {
		chosen = slices.DeleteFunc(slices.Clone(chosen), func(s origin.Skill) bool { return within(fetched, s.Path) })
	}
	for _, same := range byName(chosen, ref) {
		p.Steps = append(p.Steps, in.stepOf(same, fetched, ref, l.Revision(), q.Pin, func(step *Step, g got) { step.With = nested(skills, ref, g) })...)
	}
	return nil
}

// byName groups skills by their target folder. Each group is sorted: the shallowest path first,
// then by path.
func byName(skills []origin.Skill, ref origin.Ref) (groups [][]origin.Skill) {
	index := map[skill.Key]int{}
	for _, s := range skills {
		key := skill.KeyOf(nameOf(s, ref))
		i, known := index[key]
		if !known {
			i, index[key] = len(groups), len(groups)
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], s)
	}
	for _, same := range groups {
		slices.SortStableFunc(same, func(a, b origin.Skill) int {
			return cmp.Or(cmp.Compare(strings.Count(a.Path, "/"), strings.Count(b.Path, "/")), cmp.Compare(a.Path, b.Path))
		})
	}
	return groups
}

// stepOf returns one step for the skills of one name, and one step for each error among them.
// Identical copies count as one skill. If the files of the skills differ, the user has to choose.
func (in *Installer) stepOf(same []origin.Skill, fetched map[string]got, ref origin.Ref, at origin.Revision, pin bool, complete func(*Step, got)) (steps []*Step) {
	var paths []string
	var first *got
	differ := false
	for _, s := range same {
		g := fetched[s.Path]
		if g.err != nil {
			if step := in.stepFor(g, ref, at, pin); !slices.ContainsFunc(steps, func(f *Step) bool { return f.Problem.Error() == step.Problem.Error() }) {
				steps = append(steps, step)
			}
			continue
		}
		if first == nil {
			first = &g
		}
		differ = differ || g.skill.Digest != first.skill.Digest
		paths = append(paths, s.Path)
	}
	switch {
	case differ:
		return append(steps, failed(nameOf(first.source, ref), "", &Problem{Err: fmt.Errorf("%s skills of %s have this name, and their files differ: %s; none of them is installed", display.Thousands(len(paths)), ref.Source, shortList(paths)),
			Fix: "choose one by its folder: --skill " + paths[0], No: true}))
	case first != nil:
		step := in.stepFor(*first, ref, at, pin)
		step.Same = paths[1:]
		complete(step, *first)
		steps = append(steps, step)
	}
	return steps
}

// notInstalled returns the skills of a source without those that were installed into it, for
// example into the root of a project. The user can still select such a skill by naming its folder.
func (in *Installer) notInstalled(ref origin.Ref, skills []origin.Skill) []origin.Skill {
	if ref.Kind != origin.Folder {
		return skills
	}
	source := realpath.Of(ref.Location)
	if in.installedAt(ref, ".") != "" { // the source is an installed skill, and the skills within it are its files
		skills = slices.DeleteFunc(skills, func(s origin.Skill) bool { return s.Path != "." })
	}
	installed := map[string]bool{}
	add := func(folder string) {
		if rel, err := filepath.Rel(source, realpath.Of(folder)); err == nil && rel != "." && filepath.IsLocal(rel) {
			installed[filepath.ToSlash(rel)] = true
		}
	}
	add(in.o.To)
	for key := range in.lock.Skills {
		add(in.Folder(key))
	}
	return slices.DeleteFunc(skills, func(s origin.Skill) bool {
		for at := s.Path; at != "."; at = path.Dir(at) {
			if installed[at] {
				return true
			}
		}
		return false
	})
}

// installedAt returns the key of the installed skill whose folder is at a path of a source, or "".
// There is one if, for example, the source is the root of the project. A folder directly below To
// has a key even if the lock has no such skill.
func (in *Installer) installedAt(ref origin.Ref, path string) string {
	if ref.Kind != origin.Folder {
		return ""
	}
	real := realpath.Of(filepath.Join(ref.Location, filepath.FromSlash(path)))
	if key, locked := in.keys()[real]; locked {
		return key
	}
	if rel, err := filepath.Rel(in.o.Root, in.o.To); err == nil && filepath.Dir(real) == realpath.Of(in.o.To) {
		return filepath.ToSlash(filepath.Join(rel, filepath.Base(real)))
	}
	return ""
}

// ownFolder returns a step that leaves a locked skill, if the skill would be added from the folder
// in which it is installed. The recorded source then stays. In any other case, and with
// --overwrite, ownFolder returns nil.
func (in *Installer) ownFolder(ref origin.Ref, path string) *Step {
	if len(in.lock.Skills) == 0 || in.o.Overwrite {
		return nil
	}
	key := in.installedAt(ref, path)
	was, locked := in.lock.Skills[key]
	if !locked || in.isOwn(key) {
		return nil
	}
	return &Step{Name: was.Name, Key: key, Was: &was, Entry: was, Do: Leave, Problem: &Problem{Err: fmt.Errorf("it is installed there from %s", was.Source),
		Fix: in.command("update", in.word(key)) + " asks its source; " + in.keep(key), No: true}}
}

func (in *Installer) stepFor(g got, ref origin.Ref, at origin.Revision, pin bool) *Step {
	name := nameOf(g.source, ref)
	if g.err != nil {
		return failed(name, "", g.err)
	}
	if err := origin.CheckPath(name); err != nil || name[0] == '.' || strings.ContainsAny(name, "/:") {
		return failed(name, "", problem("ask the author for a name of a-z, 0-9 and hyphens", "'%s' cannot be the name of a folder", display.Echo(name)))
	}
	rel, err := filepath.Rel(in.o.Root, filepath.Join(in.o.To, name))
	if err != nil || strings.HasPrefix(rel, "..") {
		return failed(name, "", problem("name a folder below "+in.formatPath(in.o.Root), "%s is not below the folder of %s", in.formatPath(in.o.To), in.lockShown()))
	}
	e := in.entryOf(g, ref, at, pin)
	s := &Step{Name: e.Name, Key: cmp.Or(in.installedAt(ref, g.source.Path), filepath.ToSlash(rel)), Entry: e}
	s.warn(g.skill.Files, g.source)
	in.sign(s, g.verdict)
	return s
}

// choose returns the skills that a request selects, or nil. With names, these are the skills with a
// requested name. Without names, these are all skills for --all, a source's only skill, or the
// skill in the folder that the source names.
func choose(skills []origin.Skill, ref origin.Ref, q Request, asked map[string]bool, m *market) (chosen []origin.Skill) {
	switch {
	case len(q.Skills) > 0:
	case q.All, len(skills) == 1:
		return skills
	default:
		for _, s := range skills { // the named folder is a skill itself
			if s.Path == ref.Sub && ref.Sub != "" {
				return []origin.Skill{s}
			}
		}
		return nil
	}
	for _, name := range q.Skills {
		found := m.find(skills, name)
		for _, by := range []func(origin.Skill) bool{
			func(s origin.Skill) bool { return s.Path == strings.Trim(name, "/") },
			func(s origin.Skill) bool { return skill.KeyOf(s.Name) == skill.KeyOf(name) && s.Name != "" },
			func(s origin.Skill) bool { return path.Base(s.Path) == name },
		} {
			if found == nil {
				for _, s := range skills {
					if by(s) {
						found = append(found, s)
					}
				}
			}
		}
		if found != nil {
			asked[name] = true
		}
		for _, s := range found {
			if !slices.ContainsFunc(chosen, func(c origin.Skill) bool { return c.Path == s.Path }) {
				chosen = append(chosen, s)
			}
		}
	}
	return chosen
}

// refuseTwins refuses skills of several sources with the same target folder, with one step per
// folder.
func refuseTwins(steps []*Step) (left []*Step) {
	by := map[skill.Key][]*Step{}
	for _, s := range steps {
		if s.Do == "" {
			key := skill.KeyOf(s.Key)
			by[key] = append(by[key], s)
		}
	}
	for _, s := range steps {
		twins := by[skill.KeyOf(s.Key)]
		if s.Do != "" || len(twins) < 2 {
			left = append(left, s)
			continue
		}
		if s != twins[0] {
			continue
		}
		var from []string
		fix := "choose one by its folder: --skill " + s.Entry.Path
		for _, t := range twins {
			from = append(from, t.Entry.Source+" in "+t.Entry.Path)
			if t.Entry.Source != s.Entry.Source {
				fix = "add it from one of the sources only; a second one of this name goes into another folder, with --to"
			}
		}
		s.Do, s.Problem = Fail, &Problem{Err: fmt.Errorf("several skills are called %s: %s; none of them is installed", s.Name, shortList(from)),
			Fix: fix, No: true}
		left = append(left, s)
	}
	return left
}

// lastOf returns the last part of a source's location, as the name of a skill that is the whole
// source.
func lastOf(r origin.Ref) string {
	base := path.Base(filepath.ToSlash(strings.TrimRight(r.Location, "/")))
	if i := strings.LastIndexByte(base, ':'); i >= 0 {
		base = base[i+1:]
	}
	for _, suffix := range []string{".git", ".tar.gz", ".tgz", ".zip", ".skill"} {
		base = strings.TrimSuffix(base, suffix)
	}
	return base
}
