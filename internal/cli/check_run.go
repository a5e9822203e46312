package cli

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"path/filepath"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/check"
	"github.com/knack-dev/knack/internal/analysis/judgement"
	"github.com/knack-dev/knack/internal/analysis/plugins"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/typo"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/cli/report"
	"github.com/knack-dev/knack/internal/workspace"
	"github.com/knack-dev/knack/internal/workspace/config"
	"github.com/knack-dev/knack/internal/workspace/settings"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// checkedSkill is a skill of a report, with the data that its fixes need.
type checkedSkill struct {
	report.Judged
	base     string // see [target]
	settings config.Check
	byName   bool
}

// checkedFinding is a finding of a report, with the data that its fix needs.
type checkedFinding struct {
	report.Finding
	settings config.Check
	near     string // only for a near miss: the file that should be called SKILL.md
	base     string // only for a near miss: see [target]
}

// checkRun is the result of one run of check.
type checkRun struct {
	skills       []*checkedSkill
	plugins      []report.Plugin
	marketplaces []report.Marketplace
	notices      []checkedFinding
	report       report.Run         // the printed report, see collect
	unread       []*command.Failure // paths that could not be read
}

// scanTargets judges each skill found in the targets and each skill given by name.
func scanTargets(ctx context.Context, env *console.Env, all []target, named *namedSkills) (*checkRun, error) {
	run := &checkRun{}
	watches := dir.NewWatches()
	var sources []catalog.Source
	by := map[string]*target{}
	for i := range all {
		t := &all[i]
		if by[t.root.Label] != nil {
			continue // the folder was given twice
		}
		by[t.root.Label] = t
		if t.given != "" && len(all) > 1 {
			t.root.Prefix = fmt.Sprintf("dir-%d", i+1) // as with several --dir
		}
		if t.given != "" {
			t.Source = dir.New(dir.Options{Root: t.root, Required: true, Watches: watches, Load: true})
		} else {
			t.Source = named.opened.Folder(t.root, watches)
		}
		sources = append(sources, t)
	}
	v, err := workspace.Read(ctx, env, catalog.New(sources, catalog.Options{}))
	if err != nil {
		return nil, err
	}
	ctx, done := showJudging(ctx, env, v)
	judged, err := judgement.Judge{}.All(ctx, v)
	done()
	if err != nil {
		return nil, workspace.Interrupted(err)
	}
	found, seen := map[string]int{}, map[string]bool{}
	for _, d := range judged {
		e := d.Entry
		if found[e.Root.Label]++; seen[e.Dir()] {
			continue // another target contains this skill too
		}
		seen[e.Dir()] = true
		t := by[e.Root.Label]
		run.skills = append(run.skills, &checkedSkill{report.Judged{Verdict: d, Folder: path.Join(t.root.Shown, e.Path)}, t.base, t.settings, false})
	}
	for _, r := range v.Roots {
		t := by[r.Label]
		packed, err := run.judgePlugins(ctx, t, seen)
		if err != nil {
			return nil, err
		}
		if r.Err != nil {
			run.unread = append(run.unread, command.Fail(command.Error, fmt.Errorf("%s: %s", r.Shown, skill.Reason(r.Err)), ""))
		} else if found[r.Label] == 0 && t.given != "" && !packed {
			none := noSkill(env, *t)
			none.Hint = cmp.Or(named.hidden(ctx, t.given), none.Hint)
			run.unread = append(run.unread, none)
		}
		for _, n := range r.Notices {
			at := filepath.Join(r.Dir, filepath.FromSlash(n.Path)) + " " + string(n.Rule)
			if !seen[at] {
				seen[at] = true
				run.notices = append(run.notices, findingOf(*t, n))
			}
		}
	}
	return run, named.addVerdicts(ctx, run)
}

// judgePlugins adds the verdicts on the plugins and marketplaces of a given folder, and reports
// whether there are any. seen is the set of folders and findings that other targets have had
// already.
func (r *checkRun) judgePlugins(ctx context.Context, t *target, seen map[string]bool) (found bool, err error) {
	if t.given == "" || t.only {
		return false, nil
	}
	judged, err := plugins.Judge(ctx, t.root.Dir, t.plugin)
	if ctx.Err() != nil {
		return false, workspace.Interrupted(ctx.Err())
	}
	if err != nil || judged == nil {
		return false, nil // the scan reports a folder that cannot be read
	}
	isNew := func(file, what string) bool {
		at := filepath.Join(t.root.Dir, filepath.FromSlash(file)) + " " + what
		defer func() { seen[at] = true }()
		return !seen[at]
	}
	for _, p := range judged.Plugins {
		if isNew(p.Folder, "plugin") {
			r.plugins = append(r.plugins, report.Plugin{Plugin: p, Shown: path.Join(t.root.Shown, p.Folder)})
		}
	}
	for _, m := range judged.Marketplaces {
		if isNew(m.File, "marketplace") {
			r.marketplaces = append(r.marketplaces, report.Marketplace{Marketplace: m, Shown: path.Join(t.root.Shown, m.File)})
		}
	}
	for _, f := range judged.Findings {
		if isNew(f.File, fmt.Sprint(f.Rule, f.Position, f.Field, f.Message)) {
			r.notices = append(r.notices, checkedFinding{settings: t.settings, Finding: report.Finding{Shown: path.Join(t.root.Shown, f.File), Finding: f.Finding, Text: f.Text}})
		}
	}
	return true, nil
}

// notChecked precedes the error for a path that was not read.
const notChecked = "not checked:"

// collect builds the report. It drops ignored findings and applies the configured severities. With
// the strict setting, warnings become errors.
func (r *checkRun) collect(f *checkFlags, files *settings.Finder) {
	r.report = report.Run{Infos: f.info, Plugins: r.plugins, Marketplaces: r.marketplaces}
	for _, file := range files.Used {
		r.report.Settings = append(r.report.Settings, file.Shown)
	}
	add := func(found checkedFinding) {
		if f.ignores(found.Rule) {
			return
		}
		var reported bool
		switch found.Severity, reported = found.settings.Severity(found.Rule, found.Severity); {
		case !reported:
			r.report.Silenced++
			return
		case found.Severity == skill.SeverityWarning && f.isStrict(found.settings):
			found.Severity = skill.SeverityError
		}
		r.report.Findings = append(r.report.Findings, found.Finding)
	}
	for _, n := range r.notices {
		add(n)
	}
	for _, s := range r.skills {
		r.report.Skills = append(r.report.Skills, &s.Judged)
		for _, found := range s.Findings {
			add(checkedFinding{Finding: report.Finding{Finding: found, Shown: s.Shown(found.File), Skill: &s.Judged}, settings: s.settings})
		}
	}
}

// findingOf converts a notice of a scan into a finding.
func findingOf(t target, n skill.Notice) checkedFinding {
	f := checkedFinding{settings: t.settings, Finding: report.Finding{Shown: path.Join(t.root.Shown, n.Path), Finding: check.OfNotice(n)}}
	if n.File == "" {
		return f
	}
	f.Shown, f.base = path.Join(f.Shown, n.File), t.base
	f.near = filepath.Join(t.root.Dir, filepath.FromSlash(n.Path), n.File)
	if typo.IsDraft(n.File) {
		f.Fix += ", once it is to be served" // renaming it would publish an inactive file
	} else if n.Meant {
		f.Fixable = check.Guess
	}
	return f
}
