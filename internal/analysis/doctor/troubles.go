package doctor

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/check"
	"github.com/knack-dev/knack/internal/analysis/judgement"
	"github.com/knack-dev/knack/internal/analysis/scan"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill"
)

// Trouble is one problem of a skill, a root or a file that matters to the user, with its fix.
type Trouble struct {
	At, Why string
	Fix     string // in words, or ""
	Run     string // the command that fixes it, or ""
}

// Troubles lists the troubles of one kind.
type Troubles struct {
	Title string
	All   []Trouble
}

// Troubles returns all problems that matter to the user, the worst first: skills that no agent
// gets, dangerous and changed skills, skills that another skill replaces, and faults.
func (r *Report) Troubles() (out []Troubles) {
	for _, t := range []Troubles{
		{Title: "settings that are not used", All: r.unused()},
		{Title: "not read", All: r.unread()},
		{Title: "not up to date", All: r.stale()},
		r.skipped(),
		{Title: "held back by the operator's policy: no agent can load these", All: r.heldBack()},
		{Title: "dangerous by a scan", All: r.dangerous()},
		{Title: "different from their lock", All: r.drifted()},
		{Title: "beside locked skills, but not in the lock", All: r.unlocked()},
		{Title: "shadowed: another skill has the same name and comes first", All: r.shadowed()},
		{Title: "not as it should be on disk", All: r.notices()},
		{Title: "plugins whose skills are not served", All: r.plugins()},
		{Title: "knack serves these; agents that read the folder themselves may leave them out", All: r.Unpublished()},
		r.faulty(),
	} {
		if len(t.All) > 0 {
			out = append(out, t)
		}
	}
	return out
}

// unused returns the settings files that are not used.
func (r *Report) unused() (out []Trouble) {
	for _, text := range r.Unused {
		at, why, _ := strings.Cut(text, ": ")
		out = append(out, Trouble{At: at, Why: why})
	}
	return out
}

// unread returns the roots, sources and locks that cannot be read.
func (r *Report) unread() (out []Trouble) {
	for _, root := range r.View.Roots {
		if root.Err == nil {
			continue
		}
		reason, fix := root.Reason()
		out = append(out, Trouble{At: Heading(root.Root), Why: reason, Fix: fix})
	}
	for _, f := range r.Followed {
		if f.Error != "" {
			out = append(out, Trouble{At: f.Name + " (" + f.From + ")", Why: f.Error, Fix: f.Fix})
		}
	}
	for _, l := range r.Locks {
		if l.Error != "" {
			out = append(out, Trouble{At: l.File, Why: l.Error, Fix: l.Fix})
		}
	}
	return out
}

// stale returns the sources that serve an earlier release because the last poll failed.
func (r *Report) stale() (out []Trouble) {
	for _, f := range r.Followed {
		if why := f.Failed(); why != "" && f.Error == "" {
			out = append(out, Trouble{At: f.Name + " (" + f.From + ")", Why: why + "; its last release is served, with " + display.Count(f.Skills, "skill")})
		}
	}
	return out
}

// skipped returns the skills that no agent can load.
func (r *Report) skipped() Troubles {
	t := Troubles{Title: "skipped: no agent can load these"}
	if r.RunnerLoads {
		t.Title += ", except with --tools runner"
	}
	skipped, _ := SplitSkipped(r.View)
	for _, e := range skipped {
		reason, _ := e.SkipReason()
		t.All = append(t.All, Trouble{At: check.Place{File: e.Place(), Position: reason.Position}.String(), Why: reason.Message, Fix: reason.Fix, Run: r.fixCommand(e, reason.Rule)})
	}
	return t
}

// fixCommand returns the command that fixes a finding of a rule in a skill, or "" if knack cannot
// fix it.
func (r *Report) fixCommand(e *catalog.Entry, rule skill.RuleID) string {
	if e.Dir() == "" {
		return ""
	}
	for _, f := range r.Verdicts[e].Findings {
		switch {
		case f.Rule == rule && f.Fixable == check.Certain:
			return r.CommandOn(e, "check", "--fix")
		case f.Rule == rule && f.Fixable == check.Guess:
			return r.CommandOn(e, "check", "--fix=guess")
		}
	}
	return ""
}

// Command returns a knack command for people to run.
func (r *Report) Command(words ...string) string { return format(r.Options.Command, words) }

// CommandOn returns a command, such as check or scan, for a skill, which is named by its folder.
func (r *Report) CommandOn(e *catalog.Entry, words ...string) string {
	if e.Dir() == "" {
		return r.Command(append(words, cmp.Or(e.Name, e.Folder()))...)
	}
	return r.commandAt(e.Dir(), words...)
}

// commandAt returns a check or scan of a folder.
func (r *Report) commandAt(dir string, words ...string) string {
	return format(r.Options.CommandAt, append(words, r.Options.Shown(dir)))
}

func format(command func(words ...string) string, words []string) string {
	if command == nil {
		command = new(console.Env).Command
	}
	return command(words...)
}

func (r *Report) heldBack() (out []Trouble) {
	_, entries := SplitSkipped(r.View)
	for _, e := range entries {
		why, fix := HeldReason(e)
		out = append(out, Trouble{At: e.Place(), Why: why, Fix: fix + "; " + r.CommandOn(e, "scan") + " shows it"})
	}
	return out
}

// dangerous returns the served skills with a finding to enforce.
func (r *Report) dangerous() (out []Trouble) {
	for _, e := range r.View.Entries {
		if e.HeldBack() {
			continue
		}
		for _, f := range r.Verdicts[e].Findings {
			if f.Kind() == check.KindScan && f.Lane() == scan.Enforce {
				out = append(out, Trouble{At: placeOf(e, f).String(), Why: fmt.Sprintf("%s [%s]", f.Message, f.Rule), Run: r.CommandOn(e, "scan")})
				break
			}
		}
	}
	return out
}

// drifted returns the skills that differ from their lock, and the locked skills that are missing.
func (r *Report) drifted() (out []Trouble) {
	out = r.lockFaults(func(s catalog.LockState) bool { return s != catalog.NotLocked })
	for _, l := range r.View.Locks() {
		if l.NMissing > 0 {
			var names []string
			for _, m := range l.Missing {
				names = append(names, m.Name)
			}
			out = append(out, Trouble{At: l.Name, Why: display.Count(l.NMissing, "locked skill") + " missing: " + FirstOf(names), Run: l.Restore})
		}
	}
	return out
}

// unlocked returns the skills beside locked skills that the lock does not have.
func (r *Report) unlocked() []Trouble {
	return r.lockFaults(func(s catalog.LockState) bool { return s == catalog.NotLocked })
}

// lockFaults returns the skills whose lock state has a fix and satisfies fits.
func (r *Report) lockFaults(fits func(catalog.LockState) bool) (out []Trouble) {
	for _, e := range r.View.Entries {
		if l := r.Verdicts[e].Locked; l.Fix != "" && fits(l.State) {
			out = append(out, Trouble{At: path.Dir(e.Place()), Why: cmp.Or(l.Reason, l.Words()), Fix: l.Fix})
		}
	}
	return out
}

func (r *Report) shadowed() (out []Trouble) {
	for _, e := range r.View.Entries {
		if e.Status == catalog.Shadowed {
			out = append(out, Trouble{At: e.Place(), Why: "has the same name as " + e.By.Place(), Fix: "load it as " + r.View.Called(e) + ", or rename it"})
		}
	}
	return out
}

// notices returns the notices of roots above the severity info, and the files that an interrupted
// knack left behind.
func (r *Report) notices() (out []Trouble) {
	for _, root := range r.View.Roots {
		for _, n := range root.Notices {
			if check.OfNotice(n).Severity != skill.SeverityInfo {
				out = append(out, Trouble{At: Below(root.Root, n.Path), Why: n.Message, Fix: n.Fix})
			}
		}
	}
	for _, e := range r.View.Entries {
		if left := r.Verdicts[e].Left; len(left) > 0 {
			out = append(out, Trouble{At: path.Dir(e.Place()), Why: LeftOver(left)})
		}
	}
	return out
}

// plugins returns the plugins with a fault. A plugin that is merely disabled is no trouble.
func (r *Report) plugins() (out []Trouble) {
	for _, p := range r.Plugins {
		if p.Reason != "" && p.Fix != "" {
			out = append(out, Trouble{At: p.Title(), Why: p.State + ": " + p.Reason, Fix: p.Fix})
		}
	}
	return out
}

// Unpublished returns the available skills that the Skills extension leaves out.
func (r *Report) Unpublished() (out []Trouble) {
	for _, e := range r.View.Entries {
		if why := r.Verdicts[e].Unpublished(); len(why) > 0 && e.Status == catalog.Available {
			fix, _, _ := strings.Cut(why[0].Fix, "\n")
			out = append(out, Trouble{At: placeOf(e, why[0]).String(), Why: why[0].Message, Fix: fix, Run: r.fixCommand(e, why[0].Rule)})
		}
	}
	return out
}

// faulty counts, for each root, the errors and warnings of the skills that no other group of
// troubles contains. If a root has only one such skill, the trouble is about that skill.
func (r *Report) faulty() (t Troubles) {
	t.Title = "with other errors or warnings"
	for _, root := range r.View.Roots {
		var s judgement.Severities
		skills := 0
		var last *catalog.Entry
		for _, e := range r.View.Entries {
			if e.Root.Label != root.Label || e.Status != catalog.Available || len(r.Verdicts[e].Unpublished()) > 0 {
				continue
			}
			d := r.Verdicts[e].Summary()
			d.Errors -= d.Scan.Errors // the group of dangerous skills has these
			if d.Errors+d.Warnings > 0 {
				skills, last = skills+1, e
				s.Merge(d.Severities)
			}
		}
		why := display.Count(s.Errors, "error") + ", " + display.Count(s.Warnings, "warning")
		switch {
		case skills == 1 && root.Dir == "":
			t.All = append(t.All, Trouble{At: last.Place(), Why: why, Run: r.Command("doctor", r.View.Called(last))})
		case skills == 1:
			t.All = append(t.All, Trouble{At: last.Place(), Why: why, Run: r.CommandOn(last, "check")})
		case skills > 1:
			run := r.Command("doctor", "--all")
			if root.Dir != "" {
				run = r.commandAt(root.Dir, "check")
			}
			t.All = append(t.All, Trouble{At: Heading(root.Root), Why: display.Count(skills, "skill") + ": " + why, Run: run})
		}
	}
	return t
}
