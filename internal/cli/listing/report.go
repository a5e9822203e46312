package listing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/check"
	"github.com/knack-dev/knack/internal/analysis/doctor"
	"github.com/knack-dev/knack/internal/analysis/judgement"
	"github.com/knack-dev/knack/internal/analysis/scan"
	"github.com/knack-dev/knack/internal/base/agents"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool"
)

// rootsTitle is the heading above the list of roots.
const rootsTitle = "folders with skills, in the order of the search: of two skills with one name, the first is loaded"

// report prints a report of doctor.
type report struct{ *doctor.Report }

// PrintReport prints a whole report of doctor.
func PrintReport(p *console.Printer, d *doctor.Report) {
	r := report{d}
	p.Line("%s", rootsTitle)
	printRoots(p, r.View.Roots, r.Options.Verbose, r.rootState, func(root catalog.RootStatus) {
		for _, e := range r.View.Entries {
			if e.Root.Label == root.Label && e.Link() != "" {
				p.Line("    link followed: %s leads to %s", doctor.Below(root.Root, e.Path), r.Options.Shown(e.Link()))
			}
		}
		for _, n := range root.Notices {
			p.Line("    %s", doctor.NoticeLine(doctor.Below(root.Root, n.Path), n))
		}
	})
	PrintPlugins(p, r.Plugins)
	PrintFollowed(p, r.Followed)
	if len(r.Settings) > 0 {
		p.Line("settings")
	}
	for _, s := range r.Settings {
		p.Line("  %s", s)
	}
	if len(r.Unused) > 0 {
		p.Line("settings that are not used")
	}
	for _, s := range r.Unused {
		p.Line("  %s", display.OneLine(s))
	}
	r.printSkills(p)
	locked := map[*catalog.Entry]catalog.Locked{}
	for e, d := range r.Verdicts {
		locked[e] = d.Locked
	}
	PrintLocks(p, r.View, locked)
	r.printScans(p)
	p.Line("what clients are shown of the list of skills")
	for _, f := range r.Fits {
		p.Line("  %s", fitLine(f))
	}
	p.Line("limits hit: %s", map[bool]string{true: "none"}[len(r.Limits) == 0])
	for _, l := range r.Limits {
		p.Line("  %s", l)
	}
	p.Line("%s", r.summaryLine())
}

// briefState describes a root that was read. It leaves out how changes of the root are noticed.
func (r report) briefState(root catalog.RootStatus) string {
	by := readers(root.Root)
	if by != "" {
		by = "read by " + by + ", "
	}
	return fmt.Sprintf("%s, %s%d found", root.Scope, by, root.Count)
}

func (r report) root(label string) doctor.Root {
	return r.Roots[slices.IndexFunc(r.Roots, func(w doctor.Root) bool { return w.Label == label })]
}

// rootState describes a root that was read.
func (r report) rootState(root catalog.RootStatus) string {
	watch, s := r.root(root.Label), r.briefState(root)
	hidden := 0
	for _, k := range r.Skills {
		if k.Root == root.Label {
			hidden += k.Hidden
		}
	}
	if hidden > 0 {
		s += fmt.Sprintf(", %s left out", dotEntries(hidden))
	}
	switch {
	case root.Dir == "":
		return s
	case watch.Watching:
		return s + ", watched for changes"
	}
	return s + ", scanned every 30 s because " + watch.Polling
}

// maxReaders bounds the number of clients in a line about a root.
const maxReaders = 2

// readers lists the clients that read a root's folder themselves.
func readers(r skill.Root) string {
	switch clients := doctor.Readers(r); {
	case len(clients) > 0 && clients[0] == agents.Any:
		return agents.Any
	case len(clients) > maxReaders:
		return fmt.Sprintf("%s and %d others", strings.Join(clients[:maxReaders], ", "), len(clients)-maxReaders)
	default:
		return strings.Join(clients, " and ")
	}
}

func dotEntries(n int) string {
	if n == 1 {
		return "1 dot-entry"
	}
	return fmt.Sprintf("%d dot-entries", n)
}

func (r report) printSkills(p *console.Printer) {
	skipped := "skipped: no agent can load these"
	if r.RunnerLoads {
		skipped += ", except with --tools runner"
	}
	for _, group := range []struct {
		status   catalog.Status
		heldBack bool
		title    string
	}{
		{catalog.Available, false, "available"},
		{catalog.Shadowed, false, "shadowed: another skill has the same name and comes first"},
		{catalog.Copy, false, "copies"},
		{catalog.Unlisted, false, "unlisted: in no list and no search, since the root is excluded"},
		{catalog.Skipped, false, skipped},
		{catalog.Skipped, true, "held back by the operator's policy: no agent can load these"},
	} {
		first := true
		for i, e := range r.View.Entries {
			if e.Status != group.status || e.HeldBack() != group.heldBack {
				continue
			}
			if first {
				p.Line("%s", group.title)
				first = false
			}
			r.printSkill(p, r.Verdicts[e], r.Skills[i].Runner)
		}
	}
}

// fixWord is printed before a fix.
var fixWord = console.Cyan.Of("fix:")

func (r report) printSkill(p *console.Printer, d *judgement.Verdict, runner string) {
	e := d.Entry
	switch e.Status {
	case catalog.Skipped:
		reason, _ := e.SkipReason()
		p.Line("  %s", console.Bold.Of(check.Place{File: e.Place(), Position: reason.Position}.String()))
		p.Line("    %s", strings.TrimPrefix(reason.Message, doctor.HeldBecause))
		if reason.Fix != "" {
			p.Item(5, "    %s %s", fixWord, reason.Fix)
		}
		return
	case catalog.Available:
		p.Line("  %s  %s", console.Bold.Of(display.OneLine(e.Name)), console.Dim.Of(e.Place()))
	case catalog.Unlisted:
		p.Line("  %s  load it as %s", console.Bold.Of(e.Place()), r.View.Called(e))
	default:
		printShadowed(p, r.View, e)
	}
	if !e.ModelInvocable {
		p.Line("    not for models: its SKILL.md says %s", display.OneLine(e.Disabled))
	}
	unpublished := d.Unpublished()
	for _, f := range unpublished {
		p.Line("    %s %s", console.Yellow.Of("not offered by the Skills extension:"), doctor.FindingLine(f))
	}
	if problems := unreported(d, unpublished); strings.Contains(problems, "error") {
		p.Line("    %s", console.Red.Of(problems))
	} else if problems != "" {
		p.Line("    %s", console.Yellow.Of(problems))
	}
	for _, a := range doctor.AcceptedIn(d) {
		p.Line("    accepted: %s", a)
	}
	if len(d.Left) > 0 {
		p.Line("    left over: %s", doctor.LeftOver(d.Left))
	}
	if runner != "" {
		p.Line("    %s", runner)
	}
}

// unreported returns the number of errors and warnings that reported lacks, in words.
func unreported(d *judgement.Verdict, reported []check.Finding) string {
	left := d.Summary()
	for _, f := range append(slices.Clip(reported), duplicates(d.Findings)...) {
		*left.Of(f.Severity)--
	}
	var parts []string
	if left.Errors > 0 {
		parts = append(parts, display.Count(left.Errors, "error"))
	}
	if left.Warnings > 0 {
		parts = append(parts, display.Count(left.Warnings, "warning"))
	}
	return strings.Join(parts, ", ")
}

// duplicates returns the findings about duplicates, which the line of a shadowed skill reports.
func duplicates(all []check.Finding) (out []check.Finding) {
	for _, f := range all {
		if f.Related != nil {
			out = append(out, f)
		}
	}
	return out
}

// fitLine describes in one line how much of the list of skills a client sees.
func fitLine(f tool.Fit) string {
	who := "other clients: "
	if f.Client != "" {
		who = fmt.Sprintf("%s shows %s characters of a description: ", f.Client, display.Thousands(f.Limit))
	}
	room := fmt.Sprintf("the list takes %s characters, there is room for %s; ", display.Thousands(f.Need), display.Thousands(f.Budget))
	switch {
	case f.Form == tool.FormWhole:
		return who + room + "all of it fits"
	case f.Form == tool.FormShortened:
		return who + room + fmt.Sprintf("descriptions over %d characters are cut: %s", f.Cut, doctor.FirstOf(doctor.Names(f.Shortened)))
	case f.Form == tool.FormMixed:
		return who + room + fmt.Sprintf("descriptions are cut, and %d are left out: %s", len(f.ByName), doctor.FirstOf(doctor.Names(f.ByName)))
	case len(f.Left) == 0:
		return who + room + "names alone, without descriptions"
	}
	return who + room + fmt.Sprintf("names alone, and %d not even by name: %s; find_skills finds them", len(f.Left), doctor.FirstOf(doctor.Names(f.Left)))
}

// summaryLine returns a summary of the report in one line.
func (r report) summaryLine() string {
	c := r.Count
	s := fmt.Sprintf("%d available", c.Available) + notAvailable(c.Statuses)
	if n := len(r.Unpublished()); n > 0 {
		s += fmt.Sprintf(", %d not offered by the Skills extension", n)
	}
	if c.Errors+c.Warnings > 0 {
		s += fmt.Sprintf("; %s, %s", display.Count(c.Errors, "error"), display.Count(c.Warnings, "warning"))
	}
	return s + "; " + r.Command("doctor", "SKILL") + " explains one skill"
}

// laneFindings returns the scan findings of a skill in one lane.
func laneFindings(d *judgement.Verdict, lane scan.Lane) (out []check.Finding) {
	for _, f := range d.Findings {
		if f.Kind() == check.KindScan && f.Lane() == lane && f.Accepted == "" {
			out = append(out, f)
		}
	}
	return out
}

// printScans prints for each lane the number of scan findings, and their rules.
func (r report) printScans(p *console.Printer) {
	if r.Scan.Enforce.Findings+r.Scan.Review.Findings+r.Scan.Unscanned == 0 {
		return
	}
	p.Line("findings of a scan; %s shows them line by line", p.Command("scan", "NAME"))
	for _, l := range []struct {
		what string
		judgement.LaneCount
	}{{"to enforce", r.Scan.Enforce}, {"to review", r.Scan.Review}} {
		if l.Findings == 0 {
			p.Line("  %s: nothing", l.what)
			continue
		}
		p.Item(4, "  %s: %s in %s: %s", l.what, display.Count(l.Findings, "finding"), display.Count(l.Skills, "skill"), ruleNames(l.Rules))
	}
	if n := r.Scan.Unscanned; n > 0 {
		p.Line("  not scanned: %s", display.Count(n, "skill"))
	}
}

// scanLine summarizes the scan of a skill in one line, or reports that the skill was not scanned.
func (r report) scanLine(d *judgement.Verdict) string {
	if !d.Whole {
		return map[bool]string{false: "not scanned"}[d.Entry.Status == catalog.Skipped]
	}
	var parts []string
	var rules []skill.RuleID
	for _, lane := range []scan.Lane{scan.Enforce, scan.Review} {
		found := laneFindings(d, lane)
		if len(found) > 0 {
			parts = append(parts, display.Count(len(found), "finding")+" to "+string(lane))
		}
		for _, f := range found {
			if !slices.Contains(rules, f.Rule) {
				rules = append(rules, f.Rule)
			}
		}
	}
	if len(parts) == 0 {
		return "no finding"
	}
	return strings.Join(parts, ", ") + ": " + ruleNames(rules) + "; " + r.scanCommand(d.Entry) + " shows each"
}

// scanCommand returns the scan of a skill. By path, the operator's lanes and acceptances would not
// count.
func (r report) scanCommand(e *catalog.Entry) string {
	if e.Status == catalog.Skipped {
		return r.CommandOn(e, "scan")
	}
	return r.Command("scan", r.View.Called(e))
}

func ruleNames(ids []skill.RuleID) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = string(id)
	}
	return strings.Join(names, ", ")
}
