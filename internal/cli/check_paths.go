package cli

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/check"
	"github.com/knack-dev/knack/config"
	"github.com/knack-dev/knack/doctor"
	"github.com/knack-dev/knack/internal/display"
	"github.com/knack-dev/knack/internal/typo"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// checkedSkill is a verdict with the paths of its files as shown to users.
type checkedSkill struct {
	*doctor.Verdict
	folder   string // the skill's folder as it is shown
	base     string // see [target]
	source   *check.Source
	settings config.Check
}

// shown returns the displayed path of one of the skill's files.
func (c *checkedSkill) shown(file string) string { return path.Join(c.folder, file) }

// checkedFinding is a finding with the displayed path of its file. Skill is nil for a
// notice of a scan.
type checkedFinding struct {
	check.Finding
	shown    string
	skill    *checkedSkill
	settings config.Check
	near     string // for a near miss, the file that should be called SKILL.md
	base     string // for a near miss, see [target]
}

// checkRun is the result of one run of check.
type checkRun struct {
	skills   []*checkedSkill
	notices  []checkedFinding
	findings []checkedFinding // without the ignored ones
	silenced int              // the number that a configuration file dropped
	used     []*configFile
	lost     []*failure // paths that could not be read
}

// files lists the configuration files in effect.
func (r *checkRun) files() string {
	names := make([]string, len(r.used))
	for i, f := range r.used {
		names[i] = f.shown
	}
	return strings.Join(names, " and ")
}

// target is a root in which to look for skills, and whether only the skill in the root's
// own folder counts.
type target struct {
	catalog.Source // made when the target is scanned
	root           skill.Root
	only           bool
	given          string // as the user wrote it, "" for a well-known root
	base           string // where the search for a configuration file begins
	settings       config.Check
}

// targets returns the given paths, or else the project's roots. lost has the paths that do
// not exist.
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
		case typo.IsMainFile(filepath.Base(abs)):
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

// Scan scans the folder, or only the skill in the folder itself.
func (t *target) Scan(ctx context.Context) (skill.Scan, error) {
	scan, err := t.Source.Scan(ctx)
	if t.only {
		scan.Bundles = slices.DeleteFunc(slices.Clone(scan.Bundles), func(b *skill.Bundle) bool { return b.Path != "." })
		scan.Version = 0 // it was replaced meanwhile
	}
	return scan, err
}

// lookAt scans the targets and judges every skill found.
func lookAt(ctx context.Context, env *Env, all []target) (*checkRun, error) {
	run := &checkRun{}
	watches := dir.NewWatches()
	var sources []catalog.Source
	by := map[string]*target{}
	for i := range all {
		t := &all[i]
		if by[t.root.Label] != nil {
			continue // it was given twice
		}
		by[t.root.Label] = t
		if t.given != "" && len(all) > 1 {
			t.root.Prefix = fmt.Sprintf("dir-%d", i+1) // as with several --dir
		}
		t.Source = dir.New(dir.Options{Root: t.root, Required: t.given != "", Watches: watches})
		sources = append(sources, t)
	}
	_, v, err := scanned(ctx, env, sources)
	if err != nil {
		return nil, err
	}
	done := waiting(env, judging)
	judged, err := doctor.JudgeAll(ctx, v)
	done()
	if err != nil {
		return nil, interrupted(err)
	}
	found, seen := map[string]int{}, map[string]bool{}
	for _, d := range judged {
		e := d.Entry
		if found[e.Root.Label]++; seen[e.Dir()] {
			continue // another target holds it too
		}
		seen[e.Dir()] = true
		t := by[e.Root.Label]
		run.skills = append(run.skills, &checkedSkill{Verdict: d, folder: path.Join(t.root.Shown, e.Path), base: t.base, source: check.NewSource(d.Data), settings: t.settings})
	}
	for _, r := range v.Roots {
		t := by[r.Label]
		if r.Err != nil {
			run.lost = append(run.lost, &failure{exitError, fmt.Errorf("%s: %s", r.Shown, skill.Reason(r.Err)), ""})
		} else if found[r.Label] == 0 && t.given != "" {
			run.lost = append(run.lost, noSkill(*t))
		}
		for _, n := range r.Notices {
			at := filepath.Join(r.Dir, filepath.FromSlash(n.Path)) + " " + string(n.Rule)
			if !seen[at] {
				seen[at] = true
				run.notices = append(run.notices, noticed(*t, n))
			}
		}
	}
	return run, nil
}

// noSkill returns the error for a named place without a skill, with the file there that was
// perhaps meant as a SKILL.md.
func noSkill(t target) *failure {
	f := &failure{exitNo, fmt.Errorf("%s: no skill was found there", t.given), "a skill is a folder with a SKILL.md"}
	entries, _ := os.ReadDir(t.root.Dir)
	for _, e := range entries {
		if !e.IsDir() && typo.IsMainFile(e.Name()) {
			f.hint = "a skill is a folder with a SKILL.md; rename " + display.Echo(e.Name()) + " to SKILL.md"
		}
	}
	return f
}

// failure returns the error for the lost paths, or nil. It prints all but one as separate
// messages; if there are findings, it prints all.
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

// collect returns the findings without those that flags or files drop, with the configured
// severities. Strict turns warnings into errors.
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
	for _, s := range r.skills {
		for _, found := range s.Findings {
			add(checkedFinding{Finding: found, shown: s.shown(found.File), skill: s, settings: s.settings})
		}
	}
}

func (r *checkRun) count(severity skill.Severity) (n int) {
	for _, f := range r.findings {
		if f.Severity == severity {
			n++
		}
	}
	return n
}
