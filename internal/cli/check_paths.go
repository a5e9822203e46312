package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/knack-dev/knack/check"
	"github.com/knack-dev/knack/config"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// checkedSkill is a report with the names under which people know its files.
type checkedSkill struct {
	check.Report
	folder   string // the skill's folder as it is shown
	base     string // see [target]
	source   *sourceText
	settings config.Check
}

// shown is one of the skill's files as it is shown.
func (c *checkedSkill) shown(file string) string { return path.Join(c.folder, file) }

// checkedFinding is a finding with its file as it is shown. Skill is nil where a
// scan found it.
type checkedFinding struct {
	check.Finding
	shown    string
	skill    *checkedSkill
	settings config.Check
	related  *otherPlace // the other place that it speaks of
	near     string      // the file that should be called SKILL.md, of a near miss
	base     string      // see [target], of a near miss
}

// otherPlace is a position in a file as it is shown.
type otherPlace struct {
	file string
	at   skill.Position
}

// checkRun is what one run of check found.
type checkRun struct {
	skills   []*checkedSkill
	notices  []checkedFinding
	findings []checkedFinding // without those that are ignored
	silenced int              // how many a configuration file left out
	used     []*configFile
	lost     []*failure // paths in which nothing could be looked at
}

// files names the configuration files that hold.
func (r *checkRun) files() string {
	names := make([]string, len(r.used))
	for i, f := range r.used {
		names[i] = f.shown
	}
	return strings.Join(names, " and ")
}

// target is a place to look for skills: a root, and whether only the skill that
// the root itself is counts.
type target struct {
	root     skill.Root
	only     bool
	given    string // as the user wrote it, "" for a root that nobody named
	base     string // where the search for a configuration file begins
	settings config.Check
}

// targets are the paths that were given, or else the project's roots. Lost are the
// paths that are not there.
func targets(env *Env, from *sourceFlags, paths []string) (out []target, lost []*failure, err error) {
	if len(paths) == 0 {
		if err := from.check(*env); err != nil {
			return nil, nil, err
		}
		roots := from.roots(*env, nil)
		if err := from.checkExcluded(roots); err != nil {
			return nil, nil, err
		}
		base := env.Dir
		if from.project != "" {
			base = absolute(*env, from.project)
		}
		for _, r := range roots {
			if len(from.dirs) > 0 {
				base = r.Dir
			}
			if r.Scope == skill.ScopeProject && !from.excluded(r.Label) {
				out = append(out, target{root: r, base: base})
			}
		}
		return out, nil, nil
	}
	for _, flag := range []string{"dir", "project", "exclude", "no-builtin"} {
		if from.given(flag) {
			return nil, nil, usageError("give the one or the other", "--%s chooses roots, and a path was given", flag)
		}
	}
	for _, p := range paths {
		abs := absolute(*env, p)
		info, err := os.Stat(abs)
		switch {
		case p == "":
			return nil, nil, usageError("give a file or a folder", "the path is empty")
		case err != nil:
			lost = append(lost, &failure{exitError, fmt.Errorf("%s: %s", p, skill.Reason(err)), "check the path"})
		case info.IsDir():
			out = append(out, target{root: checkRoot(abs, p), given: p, base: abs})
		case strings.EqualFold(filepath.Base(abs), skill.MainFile):
			out = append(out, target{root: checkRoot(filepath.Dir(abs), filepath.Dir(p)), only: true, given: p, base: filepath.Dir(abs)})
		case skill.NearMain(filepath.Base(abs)):
			return nil, nil, usageError("rename it to SKILL.md; 'knack check --fix=guess "+filepath.ToSlash(filepath.Dir(p))+"' does it", "%s: only a SKILL.md can be checked alone", p)
		default:
			return nil, nil, usageError("give a SKILL.md, or the folder of a skill or of many", "%s: only a SKILL.md can be checked alone", p)
		}
	}
	return out, lost, nil
}

func checkRoot(abs, shown string) skill.Root {
	return skill.Root{Label: shown, Scope: skill.ScopeProject, Dir: abs, Shown: path.Clean(filepath.ToSlash(shown))}
}

// lookAt scans the targets and judges every skill found.
func lookAt(ctx context.Context, env *Env, all []target) (*checkRun, error) {
	run := &checkRun{}
	watches := dir.NewWatches()
	seen := map[string]bool{}
	var bundles []*skill.Bundle
	var shown []string
	var targets []target
	for _, t := range all {
		scan, err := dir.New(dir.Options{Root: t.root, Required: t.given != "", Watches: watches}).Scan(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			run.lost = append(run.lost, &failure{exitError, fmt.Errorf("%s: %s", t.root.Shown, skill.Reason(err)), ""})
			continue
		}
		found := 0
		for _, b := range scan.Bundles {
			if t.only && b.Path != "." {
				continue
			}
			found++
			if seen[b.Dir()] {
				continue
			}
			seen[b.Dir()] = true
			bundles = append(bundles, b)
			shown = append(shown, path.Join(t.root.Shown, b.Path))
			targets = append(targets, t)
		}
		if found == 0 && t.given != "" {
			run.lost = append(run.lost, noSkill(t))
		}
		for _, n := range scan.Notices {
			run.notices = append(run.notices, noticed(t, n))
		}
	}
	run.skills = make([]*checkedSkill, len(bundles))
	each(len(bundles), func(i int) {
		s := &checkedSkill{Report: check.Skill(ctx, bundles[i]), folder: shown[i], base: targets[i].base, settings: targets[i].settings}
		s.source = newSourceText(s.Data)
		for n, f := range s.Findings {
			if f.Fix == check.None {
				s.Findings[n].Mend = exactly(f.Mend, s.source, f.Position)
			}
		}
		run.skills[i] = s
	})
	return run, ctx.Err()
}

// noSkill says that nothing was found in a place that somebody named, and which
// file there was perhaps meant for a SKILL.md.
func noSkill(t target) *failure {
	f := &failure{exitNo, fmt.Errorf("%s: no skill was found there", t.given), "a skill is a folder with a SKILL.md"}
	entries, _ := os.ReadDir(t.root.Dir)
	for _, e := range entries {
		if !e.IsDir() && skill.NearMain(e.Name()) {
			f.hint = "a skill is a folder with a SKILL.md; rename " + skill.Echo(e.Name()) + " to SKILL.md"
		}
	}
	return f
}

// failure is the error for the paths that were lost, or nil. All but one are said
// on their own; where there are findings, all are.
func (r *checkRun) failure(env *Env) *failure {
	if len(r.lost) == 0 {
		return nil
	}
	last := r.lost[len(r.lost)-1]
	code := exitNo
	for _, f := range r.lost {
		if f.code == exitError {
			code = exitError
		}
		if f != last {
			fmt.Fprintf(env.Stderr, "not checked: %s\n", clean(f.Error()))
		}
	}
	return &failure{code, last.err, last.hint}
}

// each calls work for 0 to n-1, on every processor.
func each(n int, work func(i int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(2*runtime.GOMAXPROCS(0), n) {
		wg.Go(func() {
			for i := range next {
				work(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// collect gathers the findings but those that flags or files leave out, with the
// severities that these give them. Strict makes errors of warnings.
func (r *checkRun) collect(f *checkFlags) {
	r.findings, r.silenced = nil, 0
	add := func(found checkedFinding) {
		if f.ignores(found.Rule) {
			return
		}
		switch found.Severity = found.settings.Severity(found.Rule, found.Severity); {
		case found.Severity == config.Off:
			r.silenced++
			return
		case found.Severity == skill.SeverityWarning && f.isStrict(found.settings):
			found.Severity = skill.SeverityError
		}
		r.findings = append(r.findings, found)
	}
	for _, n := range r.notices {
		add(n)
	}
	twins := r.twins()
	for i, s := range r.skills {
		all := make([]checkedFinding, 0, len(s.Findings)+1)
		for _, found := range s.Findings {
			all = append(all, checkedFinding{Finding: found, shown: s.shown(found.File), skill: s, settings: s.settings})
		}
		if t, ok := twins[i]; ok {
			at, _ := slices.BinarySearchFunc(all, t.Finding, func(a checkedFinding, b check.Finding) int {
				return cmp.Or(cmp.Compare(a.File, b.File), a.Position.Line-b.Position.Line, a.Position.Column-b.Position.Column, -1)
			})
			first := r.skills[t.First]
			all = slices.Insert(all, at, checkedFinding{Finding: t.Finding, shown: s.shown(t.File), skill: s, settings: s.settings,
				related: &otherPlace{first.shown(first.Skill.Entry), t.FirstAt}})
		}
		for _, found := range all {
			add(found)
		}
	}
}

// twins are the skills whose name one before them has.
func (r *checkRun) twins() map[int]check.Twin {
	reports := make([]check.Report, len(r.skills))
	for i, s := range r.skills {
		reports[i] = s.Report
	}
	out := map[int]check.Twin{}
	for _, t := range check.Twins(reports, func(i int) string { return r.skills[i].shown(r.skills[i].Skill.Entry) }) {
		out[t.Index] = t
	}
	return out
}

func (r *checkRun) count(severity skill.Severity) (n int) {
	for _, f := range r.findings {
		if f.Severity == severity {
			n++
		}
	}
	return n
}
