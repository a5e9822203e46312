package doctor

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/check"
	"github.com/knack-dev/knack/internal/analysis/judgement"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/base/typo"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool"
)

// Print writes the explanation for people, to a terminal if w is a [console.Printer] for one.
func (s *Explanation) Print(w io.Writer) error {
	p := console.PrinterOf(w)
	s.printAnswer(p)
	for _, e := range s.entries {
		p.Line("")
		s.printEntry(p, s.report.verdicts[e])
	}
	if len(s.Folders)+len(s.Missing)+len(s.Strays)+len(s.notices)+len(s.near) > 0 {
		p.Line("")
	}
	for _, m := range s.Missing {
		p.Line("%s is missing: its lock has it, %s.", display.OneLine(m.Folder), origin(m.Source, m.Version, ""))
		p.Item(5, "  %s %s", fixWord, m.Fix)
	}
	for _, b := range s.Folders {
		printBare(p, b)
	}
	for _, t := range s.Strays {
		p.Line("%s %s.", t.At, t.Why)
		p.Item(5, "  %s %s", fixWord, t.Fix)
	}
	for _, n := range s.notices {
		if !s.isBare(n) {
			p.Line("%s", noticeLine(n.root, n.Notice))
		}
	}
	for _, e := range s.near {
		switch {
		case e.HeldBack():
			p.Line("A similar name: %s", tool.Reason(e))
		case e.Status == catalog.Skipped:
			p.Line("A similar name, skipped: %s", tool.Reason(e))
		default:
			p.Line("A similar name: %s  %s", display.OneLine(e.Name), e.Place())
		}
	}
	if !s.Available && len(s.entries) == 0 {
		s.printSearched(p)
	}
	return p.Failed()
}

// printAnswer prints whether an agent can load it.
func (s *Explanation) printAnswer(p *console.Printer) {
	name := display.Echo(s.Name)
	switch e := s.byFolder(); {
	case s.Available:
		p.Line("'%s' can be loaded.", name)
	case e != nil:
		p.Line("The folder '%s' contains the skill '%s', which loads as %s; no agent can load it as '%s'.",
			display.Spelt(e.Folder()), display.OneLine(e.Name), display.OneLine(s.report.view.Called(e)), name)
	case s.forPeople():
		p.Line("'%s' is for people, who are offered it as a prompt; no agent can load it.", name)
	case s.onlyRunner():
		p.Line("'%s' is there, and no agent can load it, except with --tools runner.", name)
	case s.isHeld():
		p.Line("'%s' is held back by the operator's policy, and no agent can load it.", name)
	case len(s.entries) > 0:
		p.Line("'%s' is there, and no agent can load it.", name)
	default:
		p.Line("There is no skill '%s'.", name)
	}
}

// Failure says in a few words that no agent can load the skill. It is empty if an agent can.
func (s *Explanation) Failure() string {
	switch {
	case s.Available:
		return ""
	case s.onlyRunner():
		return fmt.Sprintf("no agent can load '%s', except with --tools runner", display.Echo(s.Name))
	}
	return fmt.Sprintf("no agent can load '%s'", display.Echo(s.Name))
}

// isHeld reports whether the operator's policy holds back every skill of the name.
func (s *Explanation) isHeld() bool {
	return len(s.entries) > 0 && !slices.ContainsFunc(s.entries, func(e *catalog.Entry) bool { return !e.HeldBack() })
}

// forPeople reports whether it is a prompt only.
func (s *Explanation) forPeople() bool {
	return slices.ContainsFunc(s.entries, func(e *catalog.Entry) bool { return e.Status == catalog.Available && e.UserInvocable })
}

// onlyRunner reports whether no tool set but runner loads it by this name.
func (s *Explanation) onlyRunner() bool {
	return s.byFolder() == nil && !s.forPeople() && slices.ContainsFunc(s.entries, s.report.runnerLoads)
}

// runnerLoads reports whether the tool set runner loads a skill that is skipped. That set
// finds skills by their folders and does not judge the frontmatter.
func (r *Report) runnerLoads(e *catalog.Entry) bool {
	data := r.verdicts[e].Data
	return e.ModelInvocable && len(data) > 0 && utf8.Valid(data) && strings.EqualFold(e.Entry, skill.MainFile) &&
		notFor000(e) == "" && r.view.InFolder(e.Folder()) == e
}

// isBare reports whether the explanation already has the folder without a skill of a notice.
func (s *Explanation) isBare(n rootNotice) bool {
	return n.File != "" && slices.ContainsFunc(s.Folders, func(b BareFolder) bool { return b.At == shownBelow(n.root, n.Path) })
}

func printBare(p *console.Printer, b BareFolder) {
	if b.Link != "" && holdsMain(b.dir) {
		p.Line("%s is a link to %s, and is not followed: it leads back, or is in a skill.", b.At, display.Echo(b.Link))
		p.Line("  fix: ask for the skill that it leads to, or put a copy of that into a folder of skills")
		return
	}
	if b.Link != "" {
		p.Line("%s is a link to %s, which has no SKILL.md.", b.At, display.Echo(b.Link))
		p.Line("  fix: let the link lead to the folder of a skill, or remove it")
		return
	}
	for _, f := range b.Files {
		if typo.IsMainFile(f) {
			p.Line("%s has no SKILL.md, but %s.", b.At, display.Spelt(f))
			p.Line("  fix: rename %s to SKILL.md", display.Spelt(f))
			return
		}
	}
	entries := entriesOf(b.dir)
	switch {
	case len(b.Files) > 0:
		p.Line("%s has no SKILL.md, only %s.", b.At, firstOf(b.Files))
	case len(entries) > 0:
		p.Line("%s has no SKILL.md, only hidden files, for example %s.", b.At, display.Spelt(entries[0].Name()))
	default:
		p.Line("%s is empty.", b.At)
	}
	fix := "put a SKILL.md there"
	if command := newCommand(b.At); command != "" {
		fix += "; '" + command + "' writes one to start from"
	}
	p.Item(5, "  %s %s", fixWord, fix)
	var left []string
	for _, e := range entries {
		if edit.IsTemporary(e.Name()) {
			left = append(left, e.Name())
		}
	}
	if len(left) > 0 {
		p.Line("  left over: %s", leftOver(left))
	}
}

// printSearched prints the places in which a skill would be found.
func (s *Explanation) printSearched(p *console.Printer) {
	var there []string
	for _, r := range s.report.view.Roots {
		if !r.Missing && r.Err == nil {
			there = append(there, Heading(r.Root))
		}
	}
	p.Line("")
	if len(there) == 0 {
		there = []string{"no folder, since none of those for skills exists"}
	}
	p.Line("Looked in %s, and found %s.", strings.Join(there, ", "), display.Count(len(s.report.view.Entries), "skill"))
	for _, b := range s.Unsearched {
		p.Line("Not searched: %s", b)
	}
	p.Line("A skill is a folder with a SKILL.md in one of these; knack doctor --verbose lists every folder that is searched.")
}

func (s *Explanation) printEntry(p *console.Printer, d *judgement.Verdict) {
	e := d.Entry
	switch e.Status {
	case catalog.Available:
		p.Line("%s is available", console.Bold.Of(e.Place()))
		p.Item(11, "  loads as   %s, or %s", display.OneLine(e.Name), e.URI())
	case catalog.Shadowed:
		p.Line("%s is shadowed: %s has the same name and comes first", console.Bold.Of(e.Place()), e.By.Place())
		p.Item(11, "  loads as   %s", s.report.view.Called(e))
	case catalog.Copy:
		p.Line("%s is a copy of %s, which comes first", console.Bold.Of(e.Place()), e.By.Place())
		p.Item(11, "  loads as   %s", s.report.view.Called(e))
	case catalog.Unlisted:
		p.Line("%s is unlisted: %s", console.Bold.Of(e.Place()), Excluded(e))
		p.Item(11, "  loads as   %s", s.report.view.Called(e))
	case catalog.Skipped:
		what := "skipped"
		if e.HeldBack() {
			what = "held back"
		}
		p.Line("%s is %s", console.Bold.Of(e.Place()), what)
	}
	p.Item(11, "  root       %s, %s", Heading(*e.Root), e.Root.Scope)
	if e.Link() != "" {
		p.Item(11, "  link       its folder is a link to %s", s.report.o.Shown(e.Link()))
	}
	if line := lockLine(d.Locked); line != "" && e.Status != catalog.Skipped {
		p.Item(11, "  lock       %s", line)
	} else if d.Locked.Source != "" {
		p.Item(11, "  lock       %s", origin(d.Locked.Source, d.Locked.Version, d.Locked.Revision))
	}
	if e.Status != catalog.Skipped {
		p.Item(11, "  models     %s", s.report.forModels(e))
		p.Item(11, "  people     %s", map[bool]string{true: "offered as a prompt", false: "not offered as a prompt"}[e.Status == catalog.Available && e.UserInvocable])
		printPublished(p, d)
	}
	if line := s.report.scanLine(d); line != "" {
		p.Item(11, "  scan       %s", line)
	}
	if !e.HeldBack() { // or they cannot be listed
		s.printFiles(p, d)
	}
	if other := notFor000(e); other != "" {
		p.Item(11, "  note       %s", other)
	}
	printProblems(p, d)
}

// Excluded says why a skill is unlisted.
func Excluded(e *catalog.Entry) string {
	if e.Root.Unlisted || e.By == nil {
		return "its root is excluded"
	}
	return "it is a copy of " + e.By.Place() + ", whose root is excluded"
}

func printPublished(p *console.Printer, d *judgement.Verdict) {
	if d.Entry.Status == catalog.Unlisted {
		p.Item(11, "  published  no: %s", Excluded(d.Entry))
		return
	}
	why := d.Unpublished()
	if len(why) == 0 {
		p.Item(11, "  published  yes")
		return
	}
	reasons := make([]string, len(why))
	for i, f := range why {
		reasons[i] = f.Message
		if f.Position.Line == 0 && f.Fix != "" {
			reasons[i] += " (" + f.Fix + ")"
		}
	}
	p.Item(11, "  published  no: %s", strings.Join(reasons, "; "))
}

func (s *Explanation) printFiles(p *console.Printer, d *judgement.Verdict) {
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
		p.Item(11, "  left over  %s", leftOver(d.Left))
	}
	for _, r := range s.report.view.Roots {
		if r.Label != d.Entry.Root.Label {
			continue
		}
		for _, n := range r.Notices {
			if d.Entry.Contains(n.Path) {
				p.Item(11, "  left out   %s", noticeLine(r.Root, n))
			}
		}
	}
}

// forModels describes how models learn of the skill.
func (r *Report) forModels(e *catalog.Entry) string {
	switch {
	case !e.ModelInvocable:
		return "neither listed nor loadable: its SKILL.md says " + display.OneLine(e.Disabled)
	case e.Status != catalog.Available:
		return "not listed; the name in 'loads as' loads it"
	}
	text := "listed"
	for _, f := range r.fits {
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

// printProblems prints each error and warning with its place in the file, beginning with the
// problems that skip the skill. Infos are left to check --info.
func printProblems(p *console.Printer, d *judgement.Verdict) {
	if why, fix := HeldReason(d.Entry); why != "" {
		p.Line("")
		p.Line("  %s: %s", console.Red.Of("held back because"), why)
		if fix != "" {
			p.Item(5, "  %s %s", fixWord, fix)
		}
	}
	source := check.NewSource(d.Data)
	findings := slices.DeleteFunc(slices.Clone(d.Findings), func(f check.Finding) bool {
		return f.Severity == skill.SeverityInfo || f.Related != nil // the first line says so already
	})
	slices.SortStableFunc(findings, func(a, b check.Finding) int { return rank(a) - rank(b) })
	for i, f := range findings {
		if slices.ContainsFunc(findings[:i], func(o check.Finding) bool {
			return o.File == f.File && o.Position == f.Position && o.Fix == f.Fix && f.Position.Line > 0
		}) {
			continue // one mistake that breaks two rules
		}
		what := string(f.Severity)
		if f.Kind() == check.KindScan {
			what = "scan " + what
		}
		if skill.RuleOf(f.Rule).Skips {
			what = "skipped because"
		}
		if f.File != "" && !strings.Contains(f.Message, f.File) && (f.File != d.Skill.Entry || f.Position.Line == 0) {
			what += ": " + display.Spelt(f.File)
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

// severityStyle returns the colour of a printed finding: an error or a warning.
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
