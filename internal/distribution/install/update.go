package install

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/internal/base/semver"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/distribution/origin"
)

// UpdateRequest is the request of knack update.
type UpdateRequest struct {
	Skills []string // all if it is empty
	Check  bool     // only report the updates
	Latest bool     // a version may move to another major version
	Unpin  bool
}

// news is the present state of a locked source, or the error of the request for it.
type news struct {
	ref  origin.Ref
	at   origin.Revision
	tags *versions // the tags that were compared, or nil
	err  error
}

// versions has the tags of a source whose entry follows versions.
type versions struct {
	now    semver.Version
	all    []string
	latest bool
	wrong  int // the number of tags that were removed because their releases have other versions
}

// wrongMost is the maximum number of tags of one source that are skipped because they name releases
// of other versions.
const wrongMost = 16

// sourcesAtOnce is the maximum number of sources that are queried concurrently.
const sourcesAtOnce = 16

// PlanUpdate queries the sources of the locked skills for their present state, and plans to install
// the changes.
func (in *Installer) PlanUpdate(ctx context.Context, q UpdateRequest) *Plan {
	keys, steps := in.named(q.Skills)
	p := &Plan{Steps: steps}
	type asked struct{ source, want, version string }
	groups := map[asked][]*Step{}
	var order []asked
	for _, key := range keys {
		was := in.lock.Skills[key]
		s := &Step{Name: was.Name, Key: key, Was: &was, Entry: was}
		p.Steps = append(p.Steps, s)
		if fixed(was) && q.Unpin {
			s.Do, s.Problem = Leave, &Problem{Err: errors.New("it was added at a commit or digest, which never changes"), Fix: in.again(key) + " follows the source from now on", No: true}
			continue
		}
		if was.Pinned && !q.Unpin || fixed(was) {
			s.Do = Pinned
			continue
		}
		s.Entry.Pinned = false
		g := asked{was.Source, was.Want, was.Version}
		if groups[g] == nil {
			order = append(order, g)
		}
		groups[g] = append(groups[g], s)
	}
	found := make([]news, len(order))
	var wg sync.WaitGroup
	slots := make(chan struct{}, sourcesAtOnce)
	for i, g := range order {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			found[i] = in.ask(ctx, g.source, g.want, g.version, q.Latest)
		})
	}
	wg.Wait()
	// Read the groups that have the same present revision together.
	var done []int
	for i := range order {
		if slices.Contains(done, i) {
			continue
		}
		var same []*Step
		for j := i; j < len(order); j++ {
			if j == i || found[j].err == nil && found[i].err == nil && found[j].ref == found[i].ref && found[j].at == found[i].at {
				same = append(same, groups[order[j]]...)
				done = append(done, j)
			}
		}
		in.plan(ctx, same, found[i], q)
	}
	for i, g := range order {
		for _, s := range groups[g] {
			s.Latest = found[i].beyond()
		}
	}
	in.lookForSigners(ctx, p.Steps)
	in.unlessChanged(ctx, p.Steps, q)
	if q.Check {
		_ = in.scan(ctx, p) // scan reports every failure in its step
	}
	return p
}

// unlessChanged checks the folders of skills without an update, since they may be missing or
// changed by hand.
func (in *Installer) unlessChanged(ctx context.Context, steps []*Step, q UpdateRequest) {
	var same []*Step
	for _, s := range steps {
		if s.Do == Nothing {
			same = append(same, s)
		}
	}
	limit.Parallel(runtime.GOMAXPROCS(0), len(same), func(i int) {
		s := same[i]
		s.upToDate = true
		switch {
		case !q.Check:
			in.decide(ctx, s)
			s.tellNews("its source has nothing newer")
		case in.verify(ctx, s):
			s.Do = Nothing
		}
	})
	if !q.Check {
		in.fetchLocked(ctx, same)
	}
}

// tellNews adds to the problem of a skill that was changed by hand whether its source has an
// update.
func (s *Step) tellNews(text string) {
	if s.Do == Leave && s.Was != nil && s.Drift.Any() {
		s.Problem.Err = fmt.Errorf("%w; %s", s.Problem.Err, text)
	}
}

// fixed reports whether an entry's reference always refers to the same revision.
func fixed(e lockfile.Skill) bool {
	if strings.Contains(e.Want, "sha256:") {
		return true
	}
	hex := len(e.Want) >= 7 && strings.Trim(e.Want, "0123456789abcdef") == ""
	return hex && strings.HasPrefix(e.Revision, "git:"+e.Want)
}

// ask resolves a locked source again. A full version moves to the highest version with the same
// major version, or with latest to the highest of all.
func (in *Installer) ask(ctx context.Context, source, want, version string, latest bool) news {
	ref, err := origin.Locked(source, want, in.o.Root, in.o.Home)
	if err != nil {
		return news{err: refProblem(source, err)}
	}
	o, err := in.origin(ctx, ref)
	if err != nil {
		return news{err: err}
	}
	n := news{ref: ref}
	if now, full := semver.Parse(want); full {
		tags, err := o.Versions(ctx, ref)
		if err != nil {
			return news{err: err}
		}
		if locked, ok := semver.Parse(version); ok { // the version to which an earlier update moved
			locked.Prefix = now.Prefix
			now = locked
		}
		n.tags = &versions{now: now, all: tags, latest: latest}
	}
	return n.resolve(ctx, o)
}

// beyond returns the highest version of a source that only --latest installs, or "". It makes no
// request.
func (n news) beyond() string {
	if n.err != nil || n.tags == nil || n.tags.latest {
		return ""
	}
	best := newest(n.tags.now, n.tags.all, true)
	if best == newest(n.tags.now, n.tags.all, false) {
		return ""
	}
	v, _ := semver.Parse(best)
	return v.String()
}

// resolve resolves the reference, or the tag of the highest version if the entry follows versions.
func (n news) resolve(ctx context.Context, o origin.Origin) news {
	moved := ""
	if n.tags != nil {
		if moved = newest(n.tags.now, n.tags.all, n.tags.latest); moved != "" {
			n.ref.Want = moved
		}
	}
	if n.at, n.err = o.Resolve(ctx, n.ref); n.err == nil && moved != "" && n.at.Version == "" {
		n.at.Version = moved
	}
	return n
}

// below returns the news at the next lower version, if the tag of n names a release of another
// version. It returns false if there is no lower version.
func (in *Installer) below(ctx context.Context, n news) (news, bool) {
	if n.tags == nil || n.tags.wrong == wrongMost {
		return news{}, false
	}
	tags := *n.tags
	tags.wrong++
	tags.all = slices.DeleteFunc(slices.Clone(tags.all), func(tag string) bool { return tag == n.ref.Want })
	if newest(tags.now, tags.all, tags.latest) == "" {
		return news{}, false
	}
	o, err := in.origin(ctx, n.ref)
	if err != nil {
		return news{}, false
	}
	return news{ref: n.ref, tags: &tags}.resolve(ctx, o), true
}

// matches reports whether a locked skill is at this revision, under a tag of its version.
func (n news) matches(was lockfile.Skill) bool {
	return n.at.ID != "" && n.at.ID == was.Revision && (n.ref.Kind != origin.OCI || n.tags == nil || semver.Names(n.ref.Want, was.Version))
}

// plan plans the updates of skills that have the same source.
func (in *Installer) plan(ctx context.Context, steps []*Step, n news, q UpdateRequest) {
	if n.err != nil {
		for _, s := range steps {
			s.Do, s.Problem = Fail, in.sourceProblem(s.Key, n.err)
			if n.ref.Kind == origin.Git && errors.Is(n.err, origin.ErrGone) {
				s.Problem.Fix = in.again(s.Key) + " follows the source from now on"
			}
		}
		return
	}
	var open []*Step
	for _, s := range steps {
		if n.matches(*s.Was) {
			s.Do = Nothing
			continue
		}
		open = append(open, s)
	}
	if len(open) == 0 {
		return
	}
	got, at, err := in.fetchNow(ctx, n, open)
	if errors.As(err, new(*origin.Misnamed)) {
		if lower, ok := in.below(ctx, n); ok {
			in.plan(ctx, open, lower, q)
			higher := false
			for _, s := range open {
				if s.Do == Nothing {
					s.Do, s.Problem = Leave, ProblemOf(err)
				}
				higher = higher || s.Problem == nil
			}
			if higher {
				in.warn("%s, so a lower tag is taken: ask its publisher whether the tag was moved", err)
			}
			return
		}
	}
	for _, s := range open {
		g := got[s.Was.Path]
		switch {
		case err != nil:
			s.Do, s.Problem = Fail, in.sourceProblem(s.Key, err)
			if errors.As(err, new(*origin.Misnamed)) {
				s.Do = Leave
			}
			continue
		case errors.Is(g.err, errGone):
			s.Do, s.Warnings = Gone, []string{"its source has no skill in " + s.Was.Path + " any more; it stays as it is, and " + in.command("remove", in.word(s.Key)) + " removes it"}
			if len(g.others) > 0 {
				s.Warnings = append(s.Warnings, "a skill of its name, with other content, is in "+shortList(g.others)+": "+in.addAt(s.Key, g.others[0])+" takes it")
			}
			continue
		case g.err != nil:
			s.Do, s.Problem = Fail, ProblemOf(g.err)
			continue
		}
		e := in.entryOf(g, n.ref, at, s.Entry.Pinned)
		e.Source, e.Want = s.Was.Source, s.Was.Want // only add changes them
		if e.Digest == s.Was.Digest && e.Path == s.Was.Path && (s.Was.Signer != "" || e.Signer == "") {
			s.Do = Nothing
			if _, full := semver.Parse(s.Entry.Want); full && !semver.Lower(e.Version, s.Entry.Version) && g.verdict.By(s.Was.Signer).Signer == s.Was.Signer {
				s.Entry.Version, s.Entry.Revision = e.Version, e.Revision
			}
			continue
		}
		s.Entry = e
		s.warn(g.skill.Files, g.source)
		if e.Path != s.Was.Path {
			s.Warnings = append(s.Warnings, "its source moved it from "+s.Was.Path+" to "+e.Path)
		}
		in.sign(s, g.verdict)
		if moved(n.ref.Want, at, *s.Was) {
			s.Warnings = append(s.Warnings, fmt.Sprintf("the tag %s was moved: it names another state of the source than before", display.Echo(n.ref.Want)))
		}
		s.Changes = compare(s.Was.Files, e.Files)
		in.decide(ctx, s)
		s.tellNews("its source has a newer one")
		if !in.keepSigner(s) || !in.keepVersion(s) {
			continue
		}
		if q.Check && (s.Do == Write || s.Do == Replace || s.Do == Record || s.Do == Leave && s.Drift.Any()) {
			s.Do = Newer // a skill that was changed by hand keeps its problem
		}
	}
}

// moved reports whether the tag of a version names another revision than the locked one.
func moved(tag string, at origin.Revision, was lockfile.Skill) bool {
	version, full := semver.Parse(tag)
	before, had := semver.Parse(was.Version)
	if !had {
		before, had = semver.Parse(was.Want)
	}
	return full && had && version.Compare(before) == 0 && at.ID != "" && was.Revision != "" && at.ID != was.Revision
}

func (in *Installer) fetchNow(ctx context.Context, n news, steps []*Step) (map[string]got, origin.Revision, error) {
	l, err := in.open(ctx, n.ref, n.at, false)
	if err != nil {
		return nil, n.at, err
	}
	defer l.Close()
	at := n.at
	if r := l.Revision(); r.ID != "" {
		at = r
	}
	if err := in.checkTag(l); err != nil {
		return nil, at, err
	}
	skills, err := l.Skills(ctx)
	if err != nil {
		return nil, at, err
	}
	paths := pathsOf(steps)
	out, err := in.take(ctx, l, slices.DeleteFunc(slices.Clone(skills), func(s origin.Skill) bool { return !slices.Contains(paths, s.Path) }))
	for _, s := range steps {
		path := s.Was.Path
		if _, ok := out[path]; ok || err != nil {
			continue
		}
		found, others, failed := in.follow(ctx, l, skills, *s.Was)
		switch {
		case failed != nil:
			err = failed
		case found != nil:
			out[path] = *found
		default:
			out[path] = got{err: errGone, others: others}
		}
	}
	return out, at, err
}
