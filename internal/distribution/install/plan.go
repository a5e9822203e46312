package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/trust"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// Action is the action of a step.
type Action string

// The actions.
const (
	Nothing Action = "unchanged" // nothing to do
	Write   Action = "added"     // the skill's place is empty
	Replace Action = "replaced"  // the place has another version of the skill
	Record  Action = "locked"    // only the lock changes: the place has the right files
	Delete  Action = "removed"   // the folder and its entry are removed
	Drop    Action = "dropped"   // the entry is removed; there is no folder
	Leave   Action = "left"      // it was changed by hand, or cannot be replaced
	Fail    Action = "failed"
	Differs Action = "differs"  // disk and lock differ (verify)
	Matches Action = "verified" // disk and lock agree (verify)
	Pinned  Action = "pinned"   // update does not change it
	Gone    Action = "gone"     // its source no longer has it; the folder stays
	Newer   Action = "outdated" // there is an update (update --check)
)

// Step is the planned action for one skill, and later its result.
type Step struct {
	Name  string
	Key   string // its folder, relative to the folder of the lock, or ""
	Do    Action
	Entry lockfile.Skill  // the lock's entry afterwards
	Was   *lockfile.Skill // the lock's entry before
	// Changes are the skill's changes in its source, from the locked to the new state.
	Changes Changes
	// Signature is the verdict on the signatures of its source, if they were judged.
	Signature trust.Verdict
	// Latest is the highest version of the source if only update --latest moves to it, or "".
	Latest string
	// Drift are the changes that were made by hand since the skill was locked.
	Drift Changes
	// Problem is the reason why the skill was left or failed.
	Problem *Problem
	// Kept is the folder to which the former content of its place was moved, or "".
	Kept     string
	Warnings []string
	Findings []Finding // in new content
	With     []string  // the names of the skills within it
	Withheld bool      // knack does not offer it; a warning has the reason
	Same     []string  // further folders of its source with the same files
	Spots    []*Spot   // its places in the folders of clients

	dropped []string // entries that are not installed, each with the reason

	place string
	from  string   // the folder that the files are copied from; "" for the store
	found *content // the content of place at planning time
	keep  bool     // keep the former files: they were changed by hand, or are the source itself
	// upToDate is set if the source was asked and has nothing newer than the lock.
	upToDate bool
	stays    bool // the tree must not be removed: it has the former content of place
}

// New reports whether the step brings new content into its place.
func (s *Step) New() bool { return s.Do == Write || s.Do == Replace }

// Interrupted reports whether the command ended before it reached this step.
func (s *Step) Interrupted() bool {
	return s.Do == Fail && s.Problem != nil && errors.Is(s.Problem, context.Canceled)
}

// Choice is a skill that could be installed.
type Choice struct {
	Source                  string // as [origin.Ref.String] spells it
	Name, Description, Path string
	Unserved                string // why knack does not offer it, or ""
	Fault                   error  // why it cannot be installed
}

// Plan is the list of a command's steps.
type Plan struct {
	Steps []*Step
	// Choices are the skills among which the user has to choose, source by source.
	Choices []Choice

	// Notes are warnings about the plan as a whole, printed after its steps.
	Notes []string

	// Unlocked lists skills beside locked skills that the lock does not have. Only verify sets it.
	Unlocked []string

	names []string // of all skills that the sources have
}

// Outcome is the result of a whole plan.
type Outcome uint8

// The outcomes, from the best to the worst.
const (
	Done    Outcome = iota
	No              // a skill was left, differs or has an update, or the user has to choose
	Misused         // a source is malformed
	Failed          // something could not be done
)

// Outcome returns the worst outcome of the plan's steps.
func (p *Plan) Outcome() Outcome {
	worst := Done
	if p.Choices != nil {
		worst = No
	}
	for _, s := range p.Steps {
		switch {
		case s.Problem != nil && s.Problem.Usage:
			worst = max(worst, Misused)
		case s.Problem != nil && !s.Problem.No:
			worst = Failed
		case s.Problem != nil, s.Do == Leave, s.Do == Differs, s.Do == Newer:
			worst = max(worst, No)
		}
		for _, spot := range s.Spots {
			switch {
			case spot.Problem != nil && !spot.Problem.No:
				worst = Failed
			case spot.Problem != nil:
				worst = max(worst, No)
			}
		}
	}
	return worst
}

func failed(name, key string, err error) *Step {
	return &Step{Name: name, Key: key, Do: Fail, Problem: ProblemOf(err)}
}

func leftOut(n int) string {
	if n == 1 {
		return "1 entry whose name begins with a dot, or submodule, was not installed"
	}
	return fmt.Sprintf("%s entries whose names begin with a dot, or submodules, were not installed", display.Thousands(n))
}

// decide sets the action that installs s.Entry at s.Key. table_test.go lists its cases.
func (in *Installer) decide(ctx context.Context, s *Step) {
	if was, ok := in.lock.Skills[s.Key]; ok {
		s.Was = &was
		s.Entry.Clients = was.Clients // only add changes them, with Settle
		s.Changes = compare(was.Files, s.Entry.Files)
	} else {
		s.Changes = compare(nil, s.Entry.Files)
	}
	if !in.see(ctx, s) {
		return
	}
	switch c := s.found; {
	case c.missing:
		s.Do = Write
	case c.odd != "":
		s.Do, s.Problem = Leave, &Problem{Err: fmt.Errorf("%s is in its place", c.odd), Fix: in.replaceOdd(s), No: true}
	case c.matches(s.Entry.Digest):
		s.Do = Record
		if s.Was != nil && sameEntry(*s.Was, s.Entry) {
			s.Do = Nothing
		}
	case s.Was != nil && c.matches(s.Was.Digest):
		s.Do, s.keep = Replace, s.Was.Digest != s.Entry.Digest && in.isOriginal(s.Key)
	case in.o.Overwrite:
		s.Do, s.keep = Replace, true
		s.driftFrom()
	default:
		s.driftFrom()
		in.leave(s)
	}
}

// replaceOdd returns the fix for a place that has something other than a folder. If it is a link
// through which the skill's source is reached, the fix adds the link's target.
func (in *Installer) replaceOdd(s *Step) string {
	at := in.Folder(s.Key)
	ref, err := origin.Locked(s.Entry.Source, s.Entry.Want, in.o.Root, in.o.Home)
	source := filepath.Join(ref.Location, filepath.FromSlash(s.Entry.Path))
	if s.found.odd == aLink && err == nil && ref.Kind == origin.Folder && filepath.Base(source) == filepath.Base(at) && realpath.Same(filepath.Dir(source), filepath.Dir(at)) {
		return in.addTarget(s.Key, s.place)
	}
	return "remove it by hand, then run the command again"
}

// see reads the content of a step's place. If that fails, it fails the step and returns false.
func (in *Installer) see(ctx context.Context, s *Step) bool {
	var err error
	if s.place, err = in.place(s.Key); err == nil {
		s.found, err = in.look(ctx, s.place)
	}
	if err != nil {
		s.Do, s.Problem = Fail, ProblemOf(err)
	}
	return err == nil
}

func (s *Step) driftFrom() {
	locked := s.Entry.Files
	if s.Was != nil {
		locked = s.Was.Files
	}
	s.Drift = s.found.drift(locked)
}

func (in *Installer) leave(s *Step) {
	restore := in.overwrite(s.Key, "replaces it")
	why, fix := in.changed(s, restore, restore, true)
	switch {
	case s.Was == nil && in.isSource(s.Key, s.Entry):
		why = "not all that is in it can be locked"
	case s.Was == nil:
		why = "there is another skill in its place, which knack did not install"
	}
	if s.Was != nil && s.Entry.Digest == s.Was.Digest {
		why, fix = in.orUnrecorded(s, why, fix)
	}
	s.Do, s.Problem = Leave, &Problem{Err: errors.New(why), Fix: fix, No: true}
}

// changed returns the reason why a locked skill's files differ, and the fix. restore is the fix
// that brings the locked files back; if keep is set, there is also a fix that keeps the present
// files. If only line ends differ, Git changed them and would do so again, mostly in all skills. In
// that case the fix contains restoreAll, the fix for all skills.
func (in *Installer) changed(s *Step, restore, restoreAll string, keep bool) (why, fix string) {
	why, fix = "it was changed since it was locked", restore
	keep = keep && slices.ContainsFunc(s.found.files, func(f lockfile.File) bool { return skill.IsEntryName(f.Path) }) // add needs a SKILL.md
	switch extra := s.found.extra; {
	case len(extra) > 0:
		if s.Was != nil && s.found.digest == s.Was.Digest {
			why = "its locked files are unchanged, but its folder has entries that no lock has"
		}
		fix += s.found.moveOut()
		if keep && (s.Was == nil || s.found.digest != s.Was.Digest) {
			fix += ", and then " + in.keep(s.Key)
		}
	case keep && in.isLost(s):
		fix = in.keep(s.Key) + "; " + mayHave
	case keep:
		fix += "; " + in.keep(s.Key)
	}
	if s.Was == nil || len(s.found.extra) > 0 {
		return why, fix
	}
	folder, err := dir.OpenTree(s.place, false)
	if err != nil {
		return why, fix
	}
	defer folder.Close()
	if !lockfile.OnlyLineEnds(s.Was.Files, s.found.files, func(name string) (io.ReadCloser, error) { return folder.Open(name) }) {
		return why, fix
	}
	return "only its line ends differ from the locked files, as git changes them with core.autocrlf",
		lockfile.LineEndsFix(s.Key) + "; " + restoreAll
}

// orUnrecorded returns another reason and fix if knack has fetched the files of a changed folder. A
// command was killed before it wrote the lock, or an older lock was restored.
func (in *Installer) orUnrecorded(s *Step, why, fix string) (string, string) {
	if s.upToDate || !in.fetched(s.found) || in.isOwn(s.Key) {
		return why, fix
	}
	return "it is not as locked, but as knack has fetched it: a command was stopped before it wrote the lock, or the lock is an older one",
		in.command("update", in.word(s.Key)) + " records the folder as it is, if the source has the same files; " + fix
}

// fetched reports whether a folder has exactly the files of a skill in the store.
func (in *Installer) fetched(c *content) bool {
	if c.missing || c.odd != "" || len(c.extra) > 0 {
		return false
	}
	_, err := in.o.Store.Find(c.digest)
	return err == nil
}

// PlanRemove plans to remove the named skills. A name is the name of a skill or its folder.
func (in *Installer) PlanRemove(ctx context.Context, names []string) *Plan {
	p := &Plan{}
	keys, missing := in.named(names)
	p.Steps = missing
	for _, key := range keys {
		was := in.lock.Skills[key]
		s := &Step{Name: was.Name, Key: key, Was: &was}
		p.Steps = append(p.Steps, s)
		if !in.see(ctx, s) {
			continue
		}
		switch c := s.found; {
		case c.missing:
			s.Do = Drop
		case c.odd != "":
			s.Do, s.Problem = Leave, &Problem{Err: fmt.Errorf("%s is in its place", c.odd), Fix: "remove it by hand, then run the command again", No: true}
		case c.matches(was.Digest):
			s.Do, s.keep = Delete, in.isOriginal(key)
		case in.o.Overwrite:
			s.Do, s.keep = Delete, true
			s.driftFrom()
		default:
			s.driftFrom()
			restore := in.overwrite(key, "removes it")
			why, fix := in.changed(s, restore, restore, false)
			s.Do, s.Problem = Leave, &Problem{Err: errors.New(why), Fix: fix, No: true}
		}
		if s.Do == Drop || s.Do == Delete {
			in.planSpots(ctx, s, was, func(string) lockfile.Form { return "" })
		}
	}
	return p
}

// PlanVerify compares the named skills, or without names all skills, with the disk. If judge is not
// nil, PlanVerify also names the held-back skills that the lock gives to clients.
func (in *Installer) PlanVerify(ctx context.Context, names []string, judge Judge) *Plan {
	p := &Plan{}
	keys, missing := in.named(names)
	p.Steps = append(missing, in.eachLocked(keys, func(key string, was lockfile.Skill) *Step {
		s := &Step{Name: was.Name, Key: key, Was: &was, Entry: was, Do: Matches}
		if in.verify(ctx, s) {
			in.requireSigner(s, Differs)
			in.verifySpots(ctx, s)
		}
		return s
	})...)
	var folders []string
	for _, s := range p.Steps {
		if in.stays(s) && s.found != nil && !s.found.missing {
			folders = append(folders, in.Folder(s.Key))
		}
	}
	if judge == nil || len(folders) == 0 {
		return p
	}
	why := judge(folders)
	for _, s := range p.Steps {
		if hold, isHeld := why[in.Folder(s.Key)]; isHeld {
			in.verifyHeld(ctx, s, hold)
		}
	}
	return p
}

// NoteUnlocked notes the skills that the lock covers and does not have, given the fix of each by its
// folder.
func (p *Plan) NoteUnlocked(fixes map[string]string) {
	p.Unlocked = slices.Sorted(maps.Keys(fixes))
	for _, key := range p.Unlocked {
		p.Notes = append(p.Notes, fmt.Sprintf("%s is beside the locked skills, and not in %s; %s", display.Echo(key), lockfile.Name, fixes[key]))
	}
}

// verify reports whether a skill's folder matches the lock. If not, the step gets the differences.
func (in *Installer) verify(ctx context.Context, s *Step) bool {
	if !in.see(ctx, s) || s.found.matches(s.Was.Digest) {
		return s.Do != Fail
	}
	if in.matchesThroughLink(ctx, s) {
		return true
	}
	s.Do = Differs
	switch c := s.found; {
	case c.missing:
		s.Problem = &Problem{Err: errors.New("the folder is missing"), Fix: in.command("sync") + " restores it", No: true}
		if in.isLost(s) {
			s.Problem.Fix = in.drops(s.Key)
		}
	case c.odd != "":
		s.Problem = &Problem{Err: fmt.Errorf("%s is in its place", c.odd), Fix: "remove it by hand, then run " + in.command("sync"), No: true}
	default:
		s.driftFrom()
		why, fix := in.changed(s, in.overwrite(s.Key, "restores it"), in.overwrite("", "restores it"), true)
		why, fix = in.orUnrecorded(s, why, fix)
		s.Problem = &Problem{Err: errors.New(why), Fix: fix, No: true}
	}
	return false
}

// matchesThroughLink reports whether the skill's place is a link to a folder with the locked files.
// Such a skill is served, so verify accepts it. Commands that write leave the link.
func (in *Installer) matchesThroughLink(ctx context.Context, s *Step) bool {
	if s.found.odd != aLink {
		return false
	}
	target, err := realpath.Eval(s.place)
	if err != nil {
		return false
	}
	c, err := in.look(ctx, target)
	if err != nil || !c.matches(s.Was.Digest) {
		return false
	}
	s.Warnings = append(s.Warnings, "its folder is a link to "+in.formatPath(target)+", which has the locked files; update, sync and remove leave it as it is")
	return true
}

// PlanSync plans to restore the named skills, or all skills, to their locked state.
func (in *Installer) PlanSync(ctx context.Context, names []string) *Plan {
	keys, missing := in.named(names)
	p := &Plan{Steps: append(missing, in.eachLocked(keys, func(key string, was lockfile.Skill) *Step {
		s := &Step{Name: was.Name, Key: key, Entry: was}
		if in.requireSigner(s, Leave); s.Do == Leave {
			return s
		}
		in.decide(ctx, s)
		if lost := lostExec(was.Files, s.found); s.Do == Nothing && len(lost) > 0 {
			s.Do, s.Warnings = Replace, []string{"not executable any more, as locked: " + shortList(lost)}
		}
		return s
	})...)}
	in.fetchLocked(ctx, p.Steps)
	return p
}

// fetchLocked fetches into the store the content that the steps write.
func (in *Installer) fetchLocked(ctx context.Context, steps []*Step) {
	type from struct{ source, want, revision string }
	needed := map[from][]*Step{}
	var order []from
	for _, s := range steps {
		if s.Do != Write && s.Do != Replace {
			continue
		}
		if _, err := in.o.Store.Find(s.Entry.Digest); err == nil {
			continue
		}
		f := from{s.Entry.Source, s.Entry.Want, s.Entry.Revision}
		if needed[f] == nil {
			order = append(order, f)
		}
		needed[f] = append(needed[f], s)
	}
	for _, f := range order {
		fail := func(s *Step, err error) {
			s.Do, s.Problem = Fail, ProblemOf(err)
		}
		got, err := in.fetch(ctx, f.source, f.want, origin.Revision{ID: f.revision}, pathsOf(needed[f]))
		for _, s := range needed[f] {
			switch g := got[s.Entry.Path]; {
			case errors.As(err, new(*origin.Gone)):
				fail(s, problem(in.takesNow(s.Key), "%w", err))
			case err != nil:
				fail(s, in.sourceProblem(s.Key, err))
			case errors.Is(g.err, errGone):
				fail(s, problem(in.drops(s.Key), "%w", g.err))
			case g.err != nil:
				fail(s, g.err)
			case g.skill.Digest != s.Entry.Digest:
				fail(s, problem(in.takesNow(s.Key), "%s no longer has the files that the lock names", s.Entry.Source))
			}
		}
	}
}

// mayHave is the hint about the places that may still have locked files that the source has lost.
const mayHave = "another clone of the project, or the author, may still have the locked files"

// takesNow returns the fix that installs the present state of a locked skill's source.
func (in *Installer) takesNow(key string) string {
	command := in.command("update", in.word(key))
	switch e := in.lock.Skills[key]; {
	case fixed(e):
		command = in.again(key)
	case e.Pinned:
		command = in.command("update", in.word(key), "--unpin")
	}
	return command + " takes the source's present files; " + mayHave
}

func pathsOf(steps []*Step) (paths []string) {
	for _, s := range steps {
		paths = append(paths, s.Entry.Path)
	}
	return paths
}
