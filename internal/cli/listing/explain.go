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
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool"
)

// explanation prints an explanation of doctor.
type explanation struct{ *doctor.Explanation }

// PrintExplanation prints an explanation of doctor.
func PrintExplanation(p *console.Printer, d *doctor.Explanation) {
	s := explanation{d}
	s.printAnswer(p)
	for i, e := range s.Entries {
		p.Line("")
		s.printEntry(p, s.Report.Verdicts[e], s.Skills[i].Runner)
	}
	if len(s.Folders)+len(s.Missing)+len(s.Strays)+len(s.Passed)+len(s.Similar) > 0 {
		p.Line("")
	}
	for _, m := range s.Missing {
		p.Line("%s is missing: its lock has it, %s.", display.OneLine(m.Folder), origin(m.Source, m.Version, ""))
		p.Item(5, "  %s %s", fixWord, m.Fix)
	}
	for _, b := range s.Folders {
		p.Line("%s %s.", b.At, b.Why)
		p.Item(5, "  %s %s", fixWord, b.Fix)
		if len(b.Left) > 0 {
			p.Line("  left over: %s", doctor.LeftOver(b.Left))
		}
	}
	for _, t := range s.Strays {
		p.Line("%s %s.", t.At, t.Why)
		p.Item(5, "  %s %s", fixWord, t.Fix)
	}
	for _, n := range s.Passed {
		p.Line("%s", doctor.NoticeLine(n.At(), n.Notice))
	}
	for _, e := range s.Similar {
		switch {
		case e.HeldBack():
			p.Line("A similar name: %s", tool.Reason(e))
		case e.Status == catalog.Skipped:
			p.Line("A similar name, skipped: %s", tool.Reason(e))
		default:
			p.Line("A similar name: %s  %s", display.OneLine(e.Name), e.Place())
		}
	}
	if !s.Available && len(s.Entries) == 0 {
		s.printSearched(p)
	}
}

// printAnswer prints whether an agent can load the skill.
func (s explanation) printAnswer(p *console.Printer) {
	name := display.Echo(s.Name)
	switch e := s.Other; s.Answer {
	case doctor.Loads:
		p.Line("'%s' can be loaded%s.", name, s.otherReaders())
	case doctor.LoadsOtherwise:
		p.Line("The folder '%s' contains the skill '%s', which loads as %s; no agent can load it as '%s'.",
			display.Spelt(e.Folder()), display.OneLine(e.Name), display.OneLine(s.Report.View.Called(e)), name)
	case doctor.OnlyForPeople:
		p.Line("'%s' is for people, who are offered it as a prompt; no agent can load it.", name)
	case doctor.OnlyForRunner:
		p.Line("'%s' is there, and no agent can load it, except with --tools runner.", name)
	case doctor.OnlyHeld:
		p.Line("'%s' is held back by the operator's policy, and no agent can load it.", name)
	case doctor.NotLoadable:
		p.Line("'%s' is there, and no agent can load it.", name)
	default:
		p.Line("There is no skill '%s'.", name)
	}
}

// otherReaders describes the clients that read the skill without knack, if they may leave it out
// because it violates the specification. For a valid skill it returns "".
func (s explanation) otherReaders() string {
	for _, e := range s.Entries {
		if e.Status != catalog.Available || len(s.Report.Verdicts[e].Unpublished()) == 0 {
			continue
		}
		if by := readers(*e.Root); by != "" {
			return " through knack. Its folder is also read by " + by + ", which may leave the skill out for the reason given at 'resources'"
		}
	}
	return ""
}

// printSearched prints where a skill would have been found.
func (s explanation) printSearched(p *console.Printer) {
	var there []string
	for _, r := range s.Report.View.Roots {
		if !r.Missing && r.Err == nil {
			there = append(there, doctor.Heading(r.Root))
		}
	}
	p.Line("")
	if len(there) == 0 {
		there = []string{"no folder, since no folder for skills exists here"}
	}
	p.Line("Looked in %s, and found %s.", strings.Join(there, ", "), display.Count(len(s.Report.View.Entries), "skill"))
	for _, b := range s.Unsearched {
		p.Line("Not searched: %s", b)
	}
	p.Line("A skill is a folder with a SKILL.md in one of these; %s lists every folder that is searched.", p.Command("doctor", "--verbose"))
}

func (s explanation) printEntry(p *console.Printer, d *judgement.Verdict, runner string) {
	e := d.Entry
	switch e.Status {
	case catalog.Available:
		p.Line("%s is available", console.Bold.Of(e.Place()))
		p.Item(11, "  loads as   %s, or %s", display.OneLine(e.Name), e.URI())
	case catalog.Shadowed:
		p.Line("%s is shadowed: %s has the same name and comes first", console.Bold.Of(e.Place()), e.By.Place())
		p.Item(11, "  loads as   %s", s.Report.View.Called(e))
	case catalog.Copy:
		p.Line("%s %s %s, which comes first", console.Bold.Of(e.Place()), copyOf(e), e.By.Place())
		p.Item(11, "  loads as   %s", s.Report.View.Called(e))
	case catalog.Unlisted:
		p.Line("%s is unlisted: %s", console.Bold.Of(e.Place()), doctor.Excluded(e))
		p.Item(11, "  loads as   %s", s.Report.View.Called(e))
	case catalog.Skipped:
		what := "skipped"
		if e.HeldBack() {
			what = "held back"
		}
		p.Line("%s is %s", console.Bold.Of(e.Place()), what)
	}
	p.Item(11, "  root       %s, %s", doctor.Heading(*e.Root), e.Root.Scope)
	if e.Link() != "" {
		p.Item(11, "  link       its folder is a link to %s", s.Report.Options.Shown(e.Link()))
	}
	if line := lockLine(d.Locked); line != "" && e.Status != catalog.Skipped {
		p.Item(11, "  lock       %s", line)
	} else if d.Locked.Source != "" {
		p.Item(11, "  lock       %s", origin(d.Locked.Source, d.Locked.Version, d.Locked.Revision))
	}
	if e.Status != catalog.Skipped {
		p.Item(11, "  models     %s", report{s.Report}.forModels(e))
		p.Item(11, "  people     %s", map[bool]string{true: "offered as a prompt", false: "not offered as a prompt"}[e.Status == catalog.Available && e.UserInvocable])
		printResources(p, d)
	}
	if line := (report{s.Report}).scanLine(d); line != "" {
		p.Item(11, "  scan       %s", line)
	}
	if !skill.IsWithheld(e.Fault()) { // otherwise they cannot be listed
		s.printFiles(p, d)
	}
	if runner != "" {
		p.Item(11, "  note       %s", runner)
	}
	printProblems(p, d)
}

func printResources(p *console.Printer, d *judgement.Verdict) {
	if d.Entry.Status == catalog.Unlisted {
		p.Item(11, "  resources  not offered by the Skills extension: %s", doctor.Excluded(d.Entry))
		return
	}
	why := d.Unpublished()
	if len(why) == 0 {
		p.Item(11, "  resources  offered by the Skills extension")
		return
	}
	reasons := make([]string, len(why))
	for i, f := range why {
		reasons[i] = f.Message
		if f.Position.Line == 0 && f.Fix != "" {
			reasons[i] += " (" + f.Fix + ")"
		}
	}
	p.Item(11, "  resources  not offered by the Skills extension: %s", strings.Join(reasons, "; "))
}

func (s explanation) printFiles(p *console.Printer, d *judgement.Verdict) {
	text := display.Count(d.Cost.Files, "file")
	if d.Cost.More {
		text = "more than " + text
	}
	text += fmt.Sprintf(", %s bytes", display.Thousands(int(d.Cost.Bytes)))
	if d.NHidden > 0 {
		text += fmt.Sprintf("; %s left out: %s", dotEntries(d.NHidden), strings.Join(d.Hidden, ", "))
		if d.NHidden > len(d.Hidden) {
			text += ", …"
		}
	}
	p.Item(11, "  files      %s", text)
	if len(d.Left) > 0 {
		p.Item(11, "  left over  %s", doctor.LeftOver(d.Left))
	}
	for _, r := range s.Report.View.Roots {
		if r.Label != d.Entry.Root.Label {
			continue
		}
		for _, n := range r.Notices {
			if d.Entry.Contains(n.Path) {
				p.Item(11, "  left out   %s", doctor.NoticeLine(doctor.Below(r.Root, n.Path), n))
			}
		}
	}
}

// forModels describes how models learn about the skill.
func (r report) forModels(e *catalog.Entry) string {
	switch {
	case !e.ModelInvocable:
		return "neither listed nor loadable: its SKILL.md says " + display.OneLine(e.Disabled)
	case e.Status != catalog.Available:
		return "not listed; the name in 'loads as' loads it"
	}
	text := "listed"
	for _, f := range r.Fits {
		who := f.Client
		if who == "" {
			who = "most clients"
		}
		switch {
		case slices.Contains(f.Left, e):
			text += "; in the list for " + who + " there is no room for its name"
		case slices.Contains(f.ByName, e):
			text += "; for " + who + " its name alone, without the description"
		case slices.Contains(f.Shortened, e) && f.Form == tool.FormShortened:
			text += fmt.Sprintf("; for %s its description is cut to %d characters", who, f.Cut)
		case slices.Contains(f.Shortened, e):
			text += "; for " + who + " its description is cut"
		}
	}
	return text
}

// printProblems prints each error and warning with its position. The problems for which the skill
// is skipped come first. Infos are printed only by check --info.
func printProblems(p *console.Printer, d *judgement.Verdict) {
	why, fix := doctor.HeldReason(d.Entry)
	if why != "" {
		p.Line("")
		p.Line("  %s: %s", console.Red.Of("held back because"), why)
		if fix != "" {
			p.Item(5, "  %s %s", fixWord, fix)
		}
	}
	for _, a := range doctor.AcceptedIn(d) {
		p.Line("")
		p.Line("  accepted: %s", a)
	}
	source := check.NewSource(d.Data)
	findings := slices.DeleteFunc(slices.Clone(d.Findings), func(f check.Finding) bool {
		return f.Severity == skill.SeverityInfo || f.Related != nil || // in the first line
			why != "" && strings.Contains(why, fmt.Sprintf("%s [%s]", f.Message, f.Rule)) // with its fix
	})
	slices.SortStableFunc(findings, func(a, b check.Finding) int { return rank(a) - rank(b) })
	for i, f := range findings {
		if slices.ContainsFunc(findings[:i], func(o check.Finding) bool {
			return o.File == f.File && o.Position == f.Position && o.Fix == f.Fix && f.Position.Line > 0
		}) {
			continue // the same mistake breaks two rules
		}
		what := string(f.Severity)
		if f.Kind() == check.KindScan {
			what = "scan " + what
		}
		if skill.RuleOf(f.Rule).Skips {
			what = "skipped because"
		}
		if f.File != "" && !strings.Contains(f.Message, f.File) && (f.File != d.Skill.Entry || f.Position.Line == 0) {
			what += ": " + check.Place{File: display.Spelt(scan.MaskSecrets(f.File)), Position: f.Position}.String()
		}
		p.Line("")
		p.Line("  %s: %s  [%s]", severityStyle(f).Of(what), f.Message, f.Rule)
		if f.File == d.Skill.Entry {
			number := fmt.Sprint(f.Position.Line)
			if text, under, ok := source.Excerpt(f.Position, f.Length, p.Room(len("     | ")+len(number))); ok {
				p.Row("    %s | %s", number, text)
				p.Row("    %s | %s", strings.Repeat(" ", len(number)), severityStyle(f).Of(under))
			}
		}
		if f.Fix != "" {
			ask, lines, _ := strings.Cut(f.Fix, "\n")
			p.Item(5, "  %s %s", fixWord, ask)
			for l := range strings.Lines(lines) {
				p.Row("    | %s", strings.TrimRight(l, "\n"))
			}
		}
	}
}

// severityStyle returns the colour of an error or a warning.
func severityStyle(f check.Finding) console.Style {
	if f.Severity == skill.SeverityError {
		return console.Red
	}
	return console.Yellow
}

func rank(f check.Finding) int {
	switch {
	case skill.RuleOf(f.Rule).Skips:
		return 0
	case f.Severity == skill.SeverityError:
		return 1
	}
	return 2
}
