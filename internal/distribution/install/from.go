package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/base/agents"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/semver"
	"github.com/knack-dev/knack/internal/distribution/lockfile/foreign"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/trust"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// takeover is a skill of another installer that is being taken over.
type takeover struct {
	foreign.Skill
	step *Step
	ref  origin.Ref // as requested
	// err is the error of the last fetch.
	err error
}

// PlanFrom plans to take over the skills that another installer recorded. It fetches each skill
// from its source and compares it with the disk. An equal skill is locked, a skill whose place is
// empty is written, and any other skill is left. The folders of the entries are relative to base.
func (in *Installer) PlanFrom(ctx context.Context, format foreign.Format, entries []foreign.Skill, base string) *Plan {
	p := &Plan{}
	var open []*takeover
	for _, e := range entries {
		t := &takeover{Skill: e, step: &Step{Name: display.Echo(e.Name)}, ref: e.Ref}
		t.step.Entry.Source, t.step.Entry.Path = e.Ref.Source, e.Path
		p.Steps = append(p.Steps, t.step)
		if in.locate(ctx, t, base); t.step.Do == "" {
			open = append(open, t)
		}
	}
	p.Steps = refuseTwins(p.Steps)
	// Many installers record no revision. So try the recorded revision, then the present one, then
	// the tagged versions.
	for _, round := range []func(context.Context, []*takeover, foreign.Format){in.tryRecorded, in.tryNow, in.tryVersions} {
		open = slices.DeleteFunc(open, func(t *takeover) bool { return t.step.Do != "" })
		round(ctx, open, format)
	}
	for _, t := range open {
		if t.step.Do == "" {
			in.notTaken(t)
		}
	}
	return p
}

// locate finds the folder of a skill. It also sets the step's action if the skill cannot be taken
// over, or is in the lock already.
func (in *Installer) locate(ctx context.Context, t *takeover, base string) {
	s := t.step
	name := path.Base(t.Folders[0])
	folders := []string{filepath.Join(in.o.To, name)}
	for i := len(t.Folders) - 1; i >= 0; i-- {
		folders = slices.Insert(folders, 0, filepath.Join(base, filepath.FromSlash(t.Folders[i])))
	}
	for i, folder := range folders {
		rel, err := filepath.Rel(in.o.Root, folder)
		if err != nil || rel == "." || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			continue
		}
		s.Key = filepath.ToSlash(rel)
		if was, ok := in.lock.Skills[s.Key]; ok {
			s.Do, s.Entry, s.Was = Nothing, was, &was
			return
		}
		seen := in.see(ctx, s)
		if seen && (!s.found.missing && s.found.odd == "" || i == len(folders)-1) {
			break
		}
		if i < len(folders)-1 {
			s.Do, s.Problem = "", nil // not the skill's folder
		}
	}
	switch {
	case s.Do != "":
	case s.found.odd != "":
		s.Do, s.Problem = Leave, &Problem{Err: fmt.Errorf("%s is in its place", s.found.odd), Fix: "remove it by hand, then run the command again", No: true}
	case t.Err != nil:
		fix := ""
		if r := (*origin.RefError)(nil); errors.As(t.Err, &r) {
			fix = r.Fix
		}
		s.Do, s.Problem = Leave, &Problem{Err: t.Err, Fix: fix, No: true}
	}
}

// tryRecorded tries the revisions that the other installer recorded.
func (in *Installer) tryRecorded(ctx context.Context, open []*takeover, format foreign.Format) {
	type state struct{ source, want, revision string }
	groups, order := map[state][]*takeover{}, []state(nil)
	for _, t := range open {
		if k := (state{t.ref.Source, t.ref.Asked(), t.Revision}); t.Revision != "" {
			if groups[k] == nil {
				order = append(order, k)
			}
			groups[k] = append(groups[k], t)
		}
	}
	for _, k := range order {
		in.try(ctx, groups[k], format, origin.Revision{ID: k.revision, Version: groups[k][0].Version})
	}
}

// bySource groups takeovers by the source and the version that they ask for.
func bySource(open []*takeover) (groups [][]*takeover) {
	at := map[[2]string]int{}
	for _, t := range open {
		k := [2]string{t.ref.Source, t.ref.Asked()}
		i, ok := at[k]
		if !ok {
			i = len(groups)
			at[k] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], t)
	}
	return groups
}

// tryNow tries the present revisions of the sources.
func (in *Installer) tryNow(ctx context.Context, open []*takeover, format foreign.Format) {
	for _, group := range bySource(open) {
		in.resolveAndTry(ctx, group, format, group[0].ref)
	}
}

func (in *Installer) resolveAndTry(ctx context.Context, group []*takeover, format foreign.Format, ref origin.Ref) {
	o, err := in.origin(ctx, ref)
	var at origin.Revision
	if err == nil {
		at, err = o.Resolve(ctx, ref)
	}
	if err != nil {
		for _, t := range group {
			t.err = err
		}
		return
	}
	in.try(ctx, group, format, at)
}

// mostVersions is the maximum number of versions of a source with which a skill is compared.
const mostVersions = 10

// tryVersions tries the highest tagged versions of Git sources.
func (in *Installer) tryVersions(ctx context.Context, open []*takeover, format foreign.Format) {
	open = slices.DeleteFunc(slices.Clone(open), func(t *takeover) bool {
		return t.step.Do != "" || t.ref.Kind != origin.Git || t.err != nil && !errors.Is(t.err, errGone)
	})
	for _, group := range bySource(open) {
		ref := group[0].ref
		o, err := in.origin(ctx, ref)
		if err != nil {
			continue
		}
		tags, err := o.Versions(ctx, ref)
		if err != nil {
			continue
		}
		tags = slices.DeleteFunc(slices.Clone(tags), func(tag string) bool {
			_, ok := semver.Parse(tag)
			return !ok || tag == ref.Want
		})
		slices.SortFunc(tags, func(a, b string) int {
			x, _ := semver.Parse(a)
			y, _ := semver.Parse(b)
			return y.Compare(x)
		})
		for _, tag := range tags[:min(len(tags), mostVersions)] {
			group = slices.DeleteFunc(group, func(t *takeover) bool { return t.step.Do != "" })
			if len(group) == 0 {
				break
			}
			was := make([]Step, len(group))
			errs := make([]error, len(group))
			for i, t := range group {
				was[i], errs[i] = *t.step, t.err
			}
			ref.Want = tag
			in.resolveAndTry(ctx, group, format, ref)
			for i, t := range group {
				if t.step.Do == "" {
					*t.step, t.err = was[i], errs[i] // keep the comparison with the present revision
				}
			}
		}
	}
}

// try fetches skills of one source at one revision. It sets the actions for the skills whose places
// are empty, or whose copies on the disk are equal.
func (in *Installer) try(ctx context.Context, group []*takeover, format foreign.Format, at origin.Revision) {
	fetched, at, err := in.fetchChosen(ctx, group, at)
	for i, t := range group {
		switch {
		case err != nil:
			t.err = err
			continue
		case fetched[i].err != nil:
			t.err = fetched[i].err
			continue
		}
		s, g := t.step, fetched[i]
		t.err = nil
		s.Entry, s.Signature = in.entryOf(g, t.ref, at, t.Pinned), g.verdict
		s.warn(g.skill.Files, g.source)
		s.Changes = compare(nil, s.Entry.Files)
		switch {
		case s.found.missing:
			s.Do = Write
		case s.found.matches(s.Entry.Digest):
			s.Do = Record
		case in.sameButInstaller(s, format):
			s.Do, s.keep = Replace, format == foreign.GitHub
			s.driftFrom()
		}
	}
}

// fetchChosen fetches the skills of a group of takeovers from their common source into the store.
// The result has one element for each takeover, in their order.
func (in *Installer) fetchChosen(ctx context.Context, group []*takeover, at origin.Revision) ([]got, origin.Revision, error) {
	ref := group[0].ref
	l, err := in.open(ctx, ref, at, false)
	if err != nil {
		return nil, at, err
	}
	defer l.Close()
	if r := l.Revision(); r.ID != "" {
		if r.Version == "" && l.verdict.State != trust.Signed {
			r.Version = at.Version
		}
		at = r
	}
	skills, err := l.Skills(ctx)
	if err != nil {
		return nil, at, err
	}
	var chosen []origin.Skill
	paths := make([]string, len(group))
	for i, t := range group {
		found := named(skills, t.Skill)
		if len(found) != 1 {
			continue
		}
		paths[i] = found[0].Path
		if !slices.ContainsFunc(chosen, func(s origin.Skill) bool { return s.Path == paths[i] }) {
			chosen = append(chosen, found[0])
		}
	}
	all, err := in.take(ctx, l, chosen)
	out := make([]got, len(group))
	for i := range out {
		if g, ok := all[paths[i]]; ok && paths[i] != "" {
			out[i] = g
		} else {
			out[i].err = errGone
		}
	}
	return out, at, err
}

// named returns the skills of a source that match an entry of another installer: by the entry's
// path, or by its name if it has no path.
func named(skills []origin.Skill, e foreign.Skill) (found []origin.Skill) {
	for _, s := range skills {
		switch {
		case e.Path != "" && s.Path == e.Path,
			e.Path == "" && skill.KeyOf(s.Name) == skill.KeyOf(e.Name),
			e.Path == "" && s.Name == "" && path.Base(s.Path) == e.Name:
			found = append(found, s)
		}
	}
	return found
}

// sameButInstaller reports whether a skill on the disk differs from its author's only by the other
// installer's changes. In that case, the author's files replace no change by the user.
func (in *Installer) sameButInstaller(s *Step, format foreign.Format) bool {
	c := s.found
	if c.odd != "" || len(c.extra) > 0 {
		return false
	}
	d := compare(s.Entry.Files, c.files)
	switch format {
	case foreign.Project, foreign.Global: // npx skills leaves some files out
		return len(d.Added)+len(d.Changed) == 0 && !slices.ContainsFunc(d.Removed, func(p string) bool { return !foreign.LeftOut(p) })
	case foreign.GitHub: // gh adds fields to SKILL.md
		if len(d.Added)+len(d.Removed) > 0 || len(d.Changed) != 1 || !skill.IsEntryName(d.Changed[0]) {
			return false
		}
		t, err := dir.OpenTree(s.place, false)
		if err != nil {
			return false
		}
		defer t.Close()
		rewritten, err := t.Open(d.Changed[0])
		if err != nil {
			return false
		}
		defer rewritten.Close()
		author, err := in.o.Store.Open(s.Entry.Digest, d.Changed[0])
		if err != nil {
			return false
		}
		defer author.Close()
		a, errA := readMain(rewritten)
		b, errB := readMain(author)
		return errA == nil && errB == nil && foreign.SameButGitHub(a, b)
	}
	return false
}

func readMain(r io.Reader) ([]byte, error) {
	var b bytes.Buffer
	_, err := io.Copy(&b, io.LimitReader(r, skill.MaxSkillMD+1))
	return b.Bytes(), err
}

// notTaken sets the action for a skill that differs from its source at every revision tried. The
// skill is left, or replaced with --overwrite.
func (in *Installer) notTaken(t *takeover) {
	s := t.step
	switch {
	case errors.Is(t.err, errGone):
		where := "called " + display.Quote(t.Name)
		if t.Path != "" {
			where = "in " + display.Quote(t.Path)
		}
		s.Do, s.Problem = Leave, &Problem{Err: fmt.Errorf("%s has no skill %s", t.ref.Source, where), Fix: in.command("add", t.ref.Source) + " lists what it has", No: true}
	case t.err != nil:
		s.Do, s.Problem = Fail, ProblemOf(t.err)
	case in.o.Overwrite:
		s.Do, s.keep = Replace, true
		s.driftFrom()
	default:
		s.driftFrom()
		s.Do, s.Problem = Leave, &Problem{Err: fmt.Errorf("it differs from what %s has", t.ref), Fix: in.overwrite(s.Key, "replaces it") + "; " + in.keep(s.Key), No: true}
	}
}

// ghFolders returns the folders, relative to a project, into which gh skill installs. The table of
// agents has all agents that gh skill supports.
func ghFolders() []string {
	folders := []string{agents.SkillsFolder}
	for _, p := range agents.Pairs() {
		if p.Project != "" && !p.Common && p.Project != agents.SkillsFolder {
			folders = append(folders, p.Project)
		}
	}
	return folders
}

// FromGitHub returns the skills that gh skill has installed, with their folders relative to the
// folder of the lock.
func (in *Installer) FromGitHub(ctx context.Context) ([]foreign.Skill, error) {
	folders := ghFolders()
	if rel, err := filepath.Rel(in.o.Root, in.o.To); err == nil && !slices.Contains(folders, filepath.ToSlash(rel)) {
		folders = append([]string{filepath.ToSlash(rel)}, folders...)
	}
	var found []foreign.Skill
	for _, folder := range folders {
		entries, err := ghEntries(ctx, filepath.Join(in.o.Root, filepath.FromSlash(folder)), folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, problem("let the user who runs knack read it", "%s cannot be read: %w", in.formatPath(folder), cause(err))
		}
		found = append(found, entries...)
	}
	if len(found) == 0 {
		return nil, &Problem{Err: fmt.Errorf("no skill below %s was installed by gh: none has its fields in SKILL.md", display.Quote(in.formatPath(in.o.Root))), Fix: "--project DIR, --global and --to DIR look elsewhere", No: true}
	}
	return found, nil
}

// ghEntries returns the skills that gh has installed in the subfolders of one folder. It follows no
// links.
func ghEntries(ctx context.Context, at, folder string) (found []foreign.Skill, err error) {
	t, err := dir.OpenTree(at, false)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	err = t.Walk(ctx, func(e dir.TreeEntry) error {
		if !e.Mode.IsDir() {
			return nil
		}
		for _, name := range skill.EntryNames {
			f, err := t.Open(e.Path + "/" + name)
			if err != nil {
				continue
			}
			data, err := readMain(f)
			f.Close()
			if entry, ok := foreign.Installed(folder+"/"+e.Path, data); ok && err == nil {
				found = append(found, entry)
			}
			break
		}
		return fs.SkipDir
	})
	return found, err
}

// BadLock returns the fault of another installer's lock as a problem.
func BadLock(file string, err error) error {
	var bad *foreign.Error
	if errors.As(err, &bad) {
		return &Problem{Err: fmt.Errorf("%s:%d:%d: %s; nothing was changed", file, bad.Line, bad.Column, bad.Message), Fix: bad.Fix}
	}
	return err
}
