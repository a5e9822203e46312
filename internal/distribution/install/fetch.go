package install

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strings"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/internal/base/typo"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/store"
	"github.com/knack-dev/knack/internal/distribution/trust"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// eachLocked calls step for the locked skill of each key, on all processors. The steps have the
// order of the keys.
func (in *Installer) eachLocked(keys []string, step func(key string, was lockfile.Skill) *Step) []*Step {
	steps := make([]*Step, len(keys))
	limit.Parallel(runtime.GOMAXPROCS(0), len(keys), func(i int) { steps[i] = step(keys[i], in.lock.Skills[keys[i]]) })
	return steps
}

// got is a fetched skill, or the error of its fetch.
type got struct {
	source  origin.Skill
	skill   store.Skill
	verdict trust.Verdict
	others  []string // if it is gone: the folders of the source that have a skill of its name
	err     error
}

// fetch fetches the skills at some paths of a locked source into the store. The result is keyed by
// path.
func (in *Installer) fetch(ctx context.Context, source, want string, at origin.Revision, paths []string) (map[string]got, error) {
	ref, err := origin.Locked(source, want, in.o.Root, in.o.Home)
	if err != nil {
		return nil, refProblem(source, err)
	}
	l, err := in.open(ctx, ref, at, true)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	skills, err := l.Skills(ctx)
	if err != nil {
		return nil, err
	}
	chosen := slices.DeleteFunc(skills, func(s origin.Skill) bool { return !slices.Contains(paths, s.Path) })
	out, err := in.take(ctx, l, chosen)
	for _, path := range paths {
		if _, ok := out[path]; !ok && err == nil {
			out[path] = got{err: errGone}
		}
	}
	return out, err
}

// errGone is the error of a skill that is not in its source.
var errGone = errors.New("its source has no skill in this folder any more")

// take fetches skills of an open library into the store. The result is keyed by path.
func (in *Installer) take(ctx context.Context, l *library, skills []origin.Skill) (map[string]got, error) {
	out := map[string]got{}
	for _, s := range skills {
		if s.Fault != nil {
			out[s.Path] = got{source: s, err: s.Fault}
		}
	}
	sound := origin.Sound(skills)
	if len(sound) == 0 {
		return out, nil
	}
	b, err := in.o.Store.Batch(ctx)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	if err := b.Expect(sound); err != nil {
		return nil, err
	}
	if err := l.Fetch(ctx, sound, b); err != nil {
		return nil, err
	}
	if err := b.Err(); errors.Is(err, origin.ErrLimit) {
		return nil, err
	}
	for _, s := range sound {
		g := got{source: s, verdict: l.verdict}
		if g.skill, g.err = b.Finish(s.Path); g.err == nil {
			g.source.Unserved = in.unserved(g.skill)
		}
		out[s.Path] = g
	}
	return out, nil
}

// tooMany adds a fix to the error for too many skills in one source.
func tooMany(err error) error {
	if errors.Is(err, origin.ErrLimit) {
		return &Problem{Err: err, Fix: "name the skills that you want, with --skill"}
	}
	return err
}

// unserved returns why knack does not offer a skill of the store, or "".
func (in *Installer) unserved(s store.Skill) string {
	for _, name := range skill.EntryNames {
		if !slices.ContainsFunc(s.Files, func(f lockfile.File) bool { return f.Path == name }) {
			continue
		}
		f, err := in.o.Store.Open(s.Digest, name)
		if err != nil {
			return "" // writing the skill reports the error
		}
		defer f.Close()
		data, err := readMain(f)
		if err != nil {
			return ""
		}
		judged := origin.Skill{Path: ".", Main: name}
		origin.Describe(&judged, data)
		return judged.Unserved
	}
	return ""
}

func refProblem(text string, err error) error {
	var r *origin.RefError
	if errors.As(err, &r) {
		return &Problem{Err: errors.New(r.Message), Fix: r.Fix, Usage: true}
	}
	return err
}

// KeysOf returns the keys of the locked skills that a name selects, sorted. If name is the path of
// a locked folder, it selects that folder. Otherwise, it selects the folders of the skills with
// this name or folder name.
func (in *Installer) KeysOf(name string) (keys []string) {
	if _, ok := in.lock.Skills[name]; ok {
		return []string{name}
	}
	for key, e := range in.lock.Skills {
		if e.Name == name || path.Base(key) == name {
			keys = append(keys, key)
		}
	}
	sort.Strings(keys)
	return keys
}

// named returns the keys of the named skills, or all keys if names is empty. It also returns a
// failed step for each unknown name.
func (in *Installer) named(names []string) (keys []string, missing []*Step) {
	var all []string
	for key, e := range in.lock.Skills {
		all = append(all, e.Name)
		if len(names) == 0 {
			keys = append(keys, key)
		}
	}
	sort.Strings(keys)
	for _, name := range names {
		found := in.KeysOf(name)
		for _, key := range found {
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
		if len(found) == 0 {
			fix, why := in.namesOf(all), fmt.Sprintf("%s names no skill '%s'", in.lockShown(), display.Echo(name))
			if !in.HasLock() {
				why = fmt.Sprintf("there is no %s, so no skill '%s' is installed", in.lockShown(), display.Echo(name))
			}
			if key := in.unlockedKey(name); key != "" {
				why += ", which is in " + in.formatPath(in.Folder(key))
				if fix = "remove its folder by hand if that is meant"; in.HasLock() {
					fix += "; " + in.keep(key)
				}
			} else if from := in.namesFrom(name); len(from) > 0 {
				fix = "give the name: " + firstNames(from)
			} else if outer := in.holder(name); outer != "" {
				fix = "it is within the skill " + in.lock.Skills[outer].Name + ", and is installed with that: name that one"
			} else if add := in.addAsked(name); add != "" {
				fix = add
			} else if near := typo.Nearest(name, all); near != "" {
				fix = "did you mean " + near + "?"
			} else if strings.ContainsAny(name, "/:@") {
				fix = "give the name of an installed skill, or its folder; a source begins with its scheme, such as oci://REGISTRY/REPO"
			}
			missing = append(missing, &Step{Name: name, Do: Fail, Problem: &Problem{Err: errors.New(why), Fix: fix, No: true}})
		}
	}
	return keys, missing
}

// namesFrom returns the names of the locked skills that come from a source, or that are installed
// in its folder.
func (in *Installer) namesFrom(text string) (names []string) {
	ref, err := origin.ParseTyped(text, in.o.Dir, in.o.Home)
	if err != nil {
		return nil
	}
	at := in.installedAt(ref, ".")
	for key, e := range in.lock.Skills {
		if key == at || e.Source == ref.Below(in.o.Root, in.o.Home).Source {
			names = append(names, in.word(key))
		}
	}
	return names
}

// unlockedKey returns the key that a folder of this name among the installed skills would have, or
// "" if there is no such folder. The lock has no skill of this name.
func (in *Installer) unlockedKey(name string) string {
	rel, err := filepath.Rel(in.o.Root, in.o.To)
	if err != nil || !skill.ValidName(name) {
		return ""
	}
	key := filepath.ToSlash(filepath.Join(rel, name))
	t, err := dir.OpenTree(in.Folder(key), false)
	if err != nil {
		return ""
	}
	t.Close()
	return key
}

// HowToAdd returns the fix for a folder without locked skills.
func (in *Installer) HowToAdd() string {
	fix := in.command("add", "SOURCE") + " installs a skill and records it there"
	if !in.o.AtHome {
		fix += "; --project DIR and --global look elsewhere"
	}
	return fix
}

// namesOf returns the fix for a name that the lock does not have.
func (in *Installer) namesOf(all []string) string {
	if len(all) == 0 {
		return in.HowToAdd()
	}
	return "it names " + firstNames(all)
}

// firstNames lists the first ten of some names, sorted.
func firstNames(all []string) string {
	const most = 10
	all = slices.Compact(slices.Sorted(slices.Values(all)))
	more := ""
	if n := len(all) - most; n > 0 {
		all, more = all[:most], fmt.Sprintf(" and %s more", display.Thousands(n))
	}
	for i, name := range all {
		all[i] = display.Echo(name)
	}
	return strings.Join(all, ", ") + more
}

// nameOf returns the name of the folder in which a skill is installed. It is the name in the
// frontmatter if that is valid, or else the name of the skill's folder in the source.
func nameOf(s origin.Skill, r origin.Ref) string {
	if skill.ValidName(s.Name) {
		return s.Name
	}
	if s.Path != "." {
		return filepath.Base(filepath.FromSlash(s.Path))
	}
	return lastOf(r)
}

// entryOf returns the lock entry of a fetched skill.
func (in *Installer) entryOf(g got, r origin.Ref, at origin.Revision, pinned bool) lockfile.Skill {
	low := r.Below(in.o.Root, in.o.Home)
	name := g.source.Name
	if name == "" || display.OneLine(name) != name {
		name = nameOf(g.source, r)
	}
	return lockfile.Skill{
		Name: name, Source: low.Source, Want: low.Asked(), Path: g.source.Path,
		Revision: at.ID, Version: at.Version, Pinned: pinned, Signer: g.verdict.Signer, Digest: g.skill.Digest, Files: g.skill.Files,
	}
}
