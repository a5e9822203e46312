package doctor

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/check"
	"github.com/knack-dev/knack/internal/analysis/judgement"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
	"github.com/knack-dev/knack/source/dir"
	"github.com/knack-dev/knack/tool"
)

// Print writes the report for people, to a terminal if w is a [console.Printer] for one.
func (r *Report) Print(w io.Writer) error {
	p := console.PrinterOf(w)
	p.Line("roots; of skills with the same name, the first one is loaded")
	r.printRoots(p)
	PrintFollowed(p, r.Followed)
	if len(r.Settings) > 0 {
		p.Line("settings of the project")
	}
	for _, s := range r.Settings {
		p.Line("  %s", s)
	}
	r.printSkills(p)
	PrintLocks(p, r.view, func(e *catalog.Entry) catalog.Locked { return r.verdicts[e].Locked })
	r.printScans(p)
	p.Line("what clients are shown of the list of skills")
	for _, f := range r.fits {
		p.Line("  %s", shownTo(f))
	}
	p.Line("limits hit: %s", map[bool]string{true: "none"}[len(r.Limits) == 0])
	for _, l := range r.Limits {
		p.Line("  %s", l)
	}
	p.Line("%s", r.summaryLine())
	return p.Failed()
}

// Heading names a root, and its folder if it has one.
func Heading(r skill.Root) string {
	if r.Dir == "" {
		return r.Label
	}
	return r.Label + " (" + r.Shown + ")"
}

// Absent counts the missing roots and names the command that lists them.
func Absent(roots int) string {
	return display.Count(roots, "root") + " not there; knack doctor --verbose lists them"
}

// UnreadReason says why a root is not read, and the fix, for a line that names the root.
func UnreadReason(r catalog.RootStatus) string {
	reason, fix := r.Reason()
	if r.State() == catalog.RootUnreadable {
		reason = "cannot be read: " + reason
	}
	return reason + " (" + fix + ")"
}

// shownBelow returns the path of a file or folder below a root, for people.
func shownBelow(r skill.Root, path string) string {
	at := r.Name()
	if path == "." {
		return at
	}
	return strings.TrimSuffix(at, "/") + "/" + path
}

func noticeLine(r skill.Root, n skill.Notice) string {
	line := shownBelow(r, n.Path) + ": " + n.Message
	if n.Fix != "" {
		line += " (" + n.Fix + ")"
	}
	return line
}

func (r *Report) printRoots(p *console.Printer) {
	missing, folded := 0, map[string]string{}
	if !r.o.Verbose {
		folded = Folded(r.view.Roots)
	}
	for i, root := range r.view.Roots {
		if root.IsAbsent() && !r.o.Verbose {
			missing++
			continue
		}
		if line, ok := folded[root.Label]; ok {
			if line != "" {
				p.Line("  %s", console.Red.Of(line))
			}
			continue
		}
		state := console.Style("").Of(r.rootState(root, r.Roots[i]))
		switch {
		case root.Err != nil:
			state = console.Red.Of(UnreadReason(root))
		case root.Missing:
			state = console.Dim.Of("not there")
		}
		folder := strings.TrimPrefix(Heading(root.Root), root.Label)
		p.Line("  %s%s: %s", console.Bold.Of(root.Label), console.Dim.Of(folder), state)
		for _, e := range r.view.Entries {
			if e.Root.Label == root.Label && e.Link() != "" {
				p.Line("    link followed: %s leads to %s", shownBelow(root.Root, e.Path), r.o.Shown(e.Link()))
			}
		}
		for _, n := range root.Notices {
			p.Line("    %s", noticeLine(root.Root, n))
		}
	}
	if missing > 0 {
		p.Line("  %s", console.Dim.Of(Absent(missing)))
	}
}

// rootState describes a root that was read.
func (r *Report) rootState(root catalog.RootStatus, watch Root) string {
	s := fmt.Sprintf("%s, %d found", root.Scope, root.Count)
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

func dotEntries(n int) string {
	if n == 1 {
		return "1 dot-entry"
	}
	return fmt.Sprintf("%d dot-entries", n)
}

func (r *Report) printSkills(p *console.Printer) {
	skipped := "skipped: no agent can load these"
	if slices.ContainsFunc(r.view.Entries, func(e *catalog.Entry) bool { return e.Status == catalog.Skipped && r.runnerLoads(e) }) {
		skipped += ", except with --tools runner"
	}
	for _, group := range []struct {
		status catalog.Status
		held   bool
		title  string
	}{
		{catalog.Available, false, "available"},
		{catalog.Shadowed, false, "shadowed: another skill answers to the name"},
		{catalog.Copy, false, "copies"},
		{catalog.Unlisted, false, "unlisted: in no list and no search, since the root is excluded"},
		{catalog.Skipped, false, skipped},
		{catalog.Skipped, true, "held back by the operator's policy: no agent can load these"},
	} {
		first := true
		for _, e := range r.view.Entries {
			if e.Status != group.status || e.HeldBack() != group.held {
				continue
			}
			if first {
				p.Line("%s", group.title)
				first = false
			}
			r.printSkill(p, r.verdicts[e])
		}
	}
}

// fixWord precedes a fix.
var fixWord = console.Cyan.Of("fix:")

func (r *Report) printSkill(p *console.Printer, d *judgement.Verdict) {
	e := d.Entry
	switch e.Status {
	case catalog.Skipped:
		reason, _ := e.SkipReason()
		at := e.Place()
		if pos := reason.Position.String(); pos != "" {
			at += ":" + pos
		}
		p.Line("  %s", console.Bold.Of(at))
		p.Line("    %s", strings.TrimPrefix(reason.Message, heldBecause))
		if reason.Fix != "" {
			p.Item(5, "    %s %s", fixWord, reason.Fix)
		}
		return
	case catalog.Available:
		p.Line("  %s  %s", console.Bold.Of(display.OneLine(e.Name)), console.Dim.Of(e.Place()))
	case catalog.Unlisted:
		p.Line("  %s  load it as %s", console.Bold.Of(e.Place()), r.view.Called(e))
	case catalog.Copy:
		p.Line("  %s  is a copy of %s; load it as %s", console.Bold.Of(e.Place()), e.By.Place(), r.view.Called(e))
	default:
		p.Line("  %s  has the same name as %s; load it as %s", console.Bold.Of(e.Place()), e.By.Place(), r.view.Called(e))
	}
	if !e.ModelInvocable {
		p.Line("    not for models: its SKILL.md says %s", display.OneLine(e.Disabled))
	}
	unpublished := d.Unpublished()
	for _, f := range unpublished {
		p.Line("    %s %s", console.Yellow.Of("not published:"), oneLine(f))
	}
	if problems := others(d, unpublished); strings.Contains(problems, "error") {
		p.Line("    %s", console.Red.Of(problems))
	} else if problems != "" {
		p.Line("    %s", console.Yellow.Of(problems))
	}
	if len(d.Left) > 0 {
		p.Line("    left over: %s", leftOver(d.Left))
	}
	if other := notFor000(e); other != "" {
		p.Line("    %s", other)
	}
}

// others counts the errors and warnings that are not in reported.
func others(d *judgement.Verdict, reported []check.Finding) string {
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

// duplicates returns the findings that the line of a shadowed skill reports.
func duplicates(all []check.Finding) (out []check.Finding) {
	for _, f := range all {
		if f.Related != nil {
			out = append(out, f)
		}
	}
	return out
}

// oneLine returns a finding in one line, without its file.
func oneLine(f check.Finding) string {
	s := f.Message
	if at := f.Position.String(); at != "" {
		s = at + ": " + s
	}
	if ask, _, _ := strings.Cut(f.Fix, "\n"); ask != "" {
		s += " (" + ask + ")"
	}
	return s
}

// leftOver describes the files that an interrupted knack left behind.
func leftOver(names []string) string {
	return firstOf(names) + ": knack was interrupted while it wrote here (delete what it left)"
}

// shownTo describes in one line how much of the list a client sees.
func shownTo(f tool.Fit) string {
	who := "other clients: "
	if f.Client != "" {
		who = fmt.Sprintf("%s shows %s characters of a description: ", f.Client, display.Thousands(f.Limit))
	}
	room := fmt.Sprintf("the list takes %s characters, there is room for %s; ", display.Thousands(f.Need), display.Thousands(f.Budget))
	switch {
	case f.Form == tool.FormWhole:
		return who + room + "all of it fits"
	case f.Form == tool.FormShortened:
		return who + room + fmt.Sprintf("descriptions over %d characters are cut: %s", f.Cut, firstOf(namesOf(f.Shortened)))
	case f.Form == tool.FormMixed:
		return who + room + fmt.Sprintf("descriptions are cut, and %d are left out: %s", len(f.ByName), firstOf(namesOf(f.ByName)))
	case len(f.Left) == 0:
		return who + room + "names alone, without descriptions"
	}
	return who + room + fmt.Sprintf("names alone, and %d not even by name: %s; find_skills finds them", len(f.Left), firstOf(namesOf(f.Left)))
}

// firstOf names the first few of a list.
func firstOf(names []string) string {
	const few = 5
	if len(names) > few+1 {
		return strings.Join(names[:few], ", ") + fmt.Sprintf(" and %d more", len(names)-few)
	}
	return strings.Join(names, ", ")
}

// mostPrompts is how many skills the server offers as prompts (product limit).
const mostPrompts = 100

// limits lists the places that reach a bound of knack or of the specification.
func (r *Report) limits() []string {
	var out []string
	for _, root := range r.view.Roots {
		for _, n := range root.Notices {
			if dir.AtLimit(n.Rule) {
				out = append(out, noticeLine(root.Root, n))
			}
		}
	}
	prompts := 0
	for _, e := range r.view.Entries {
		if e.Status == catalog.Available && e.UserInvocable {
			prompts++
		}
		for _, f := range r.verdicts[e].Findings {
			switch f.Rule {
			case frontmatter.FilesMany, frontmatter.FilesLarge:
				out = append(out, path.Dir(e.Place())+": "+oneLine(f))
			case frontmatter.FileTooLarge, frontmatter.FenceTooLong, frontmatter.NameLength, frontmatter.DescriptionLength:
				out = append(out, e.Place()+": "+oneLine(f))
			}
		}
	}
	if prompts > mostPrompts {
		out = append(out, fmt.Sprintf("%d skills could be prompts; clients are offered the first %d", prompts, mostPrompts))
	}
	return out
}

// summaryLine returns the report in one line.
func (r *Report) summaryLine() string {
	c := r.Count
	s := fmt.Sprintf("%d available", c.Available)
	for _, part := range []struct {
		n    int
		what string
	}{
		{c.Shadowed, "shadowed"}, {c.Copies, "copied"}, {c.Unlisted, "unlisted"}, {c.Skipped, "skipped"}, {c.Held, "held back"},
		{c.Skills - c.Unlisted - c.Skipped - c.Held - c.Publishable, "not published"},
	} {
		if part.n > 0 {
			s += fmt.Sprintf(", %d %s", part.n, part.what)
		}
	}
	if c.Errors+c.Warnings > 0 {
		s += fmt.Sprintf("; %s, %s", display.Count(c.Errors, "error"), display.Count(c.Warnings, "warning"))
	}
	return s + "; knack doctor SKILL explains one skill"
}
