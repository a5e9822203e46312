package cli

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/check"
	"github.com/knack-dev/knack/config"
	"github.com/knack-dev/knack/doctor"
	"github.com/knack-dev/knack/internal/console"
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
	unread   []*failure // paths that could not be read
}

// files lists the configuration files in effect.
func (r *checkRun) files() string {
	names := make([]string, len(r.used))
	for i, f := range r.used {
		names[i] = f.shown
	}
	return strings.Join(names, " and ")
}

// scanTargets scans the targets and judges every skill found.
func scanTargets(ctx context.Context, env *console.Env, all []target) (*checkRun, error) {
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
	done := console.ShowWait(env, judgingNotice)
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
			run.unread = append(run.unread, &failure{exitError, fmt.Errorf("%s: %s", r.Shown, skill.Reason(r.Err)), ""})
		} else if found[r.Label] == 0 && t.given != "" {
			run.unread = append(run.unread, noSkill(*t))
		}
		for _, n := range r.Notices {
			at := filepath.Join(r.Dir, filepath.FromSlash(n.Path)) + " " + string(n.Rule)
			if !seen[at] {
				seen[at] = true
				run.notices = append(run.notices, findingOf(*t, n))
			}
		}
	}
	return run, nil
}

// failure returns the error for the unread paths, or nil. It prints all but one as separate
// messages; if there are findings, it prints all.
func (r *checkRun) failure(env *console.Env) *failure {
	if len(r.unread) == 0 {
		return nil
	}
	last := r.unread[len(r.unread)-1]
	code := exitNo
	for _, f := range r.unread {
		if f.code == exitError {
			code = exitError
		}
		if f != last {
			fmt.Fprintf(env.Stderr, "not checked: %s\n", console.Clean(f.Error()))
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
		var reported bool
		switch found.Severity, reported = found.settings.Severity(found.Rule, found.Severity); {
		case !reported:
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

// findingOf returns a notice of a scan as a finding.
func findingOf(t target, n skill.Notice) checkedFinding {
	rule, _ := check.RuleOf(n.Rule)
	f := checkedFinding{shown: path.Join(t.root.Shown, n.Path), settings: t.settings, Finding: check.Finding{
		Rule: n.Rule, Severity: rule.Severity, File: n.Path, Message: n.Message, Fix: n.Fix,
	}}
	if n.File == "" {
		return f
	}
	f.shown, f.base = path.Join(f.shown, n.File), t.base
	f.near = filepath.Join(t.root.Dir, filepath.FromSlash(n.Path), n.File)
	if typo.IsDraft(n.File) {
		f.Fix += ", once it is to be served" // renaming it would publish an inactive file
	} else if n.Meant {
		f.Fixable = check.Guess
	}
	return f
}
