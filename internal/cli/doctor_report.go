package cli

import (
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
	"github.com/knack-dev/knack/tool"
)

// doctorReport is the JSON form of doctor without a name.
type doctorReport struct {
	Roots  []doctorRoot  `json:"roots"`
	Skills []doctorSkill `json:"skills"`
	Lists  []doctorList  `json:"lists"`
	Limits []string      `json:"limits"`
}

type doctorRoot struct {
	listedRoot
	Watching bool   `json:"watching"`
	Polling  string `json:"pollingBecause,omitempty"`
}

type doctorSkill struct {
	listedSkill
	Published   bool      `json:"published"`
	Unpublished []finding `json:"unpublishedBecause,omitempty"`
	Runner      string    `json:"otherFileForRunner,omitempty"`
	Files       int       `json:"files"`
	Bytes       int64     `json:"bytes"`
	Hidden      int       `json:"dotEntries"`
}

type doctorList struct {
	Client    string    `json:"client,omitempty"` // empty: every client without a known limit
	Limit     int       `json:"limit,omitempty"`
	Budget    int       `json:"budget"`
	Need      int       `json:"need"`
	Form      tool.Form `json:"form"`
	Cut       int       `json:"cut,omitempty"`
	Shortened []string  `json:"shortened,omitempty"`
	Left      []string  `json:"left,omitempty"`
}

func (x *examined) report() doctorReport {
	out := doctorReport{Roots: []doctorRoot{}, Skills: []doctorSkill{}, Lists: []doctorList{}, Limits: []string{}}
	for _, r := range rootsJSON(x.view, true) {
		w := x.watch[r.Label]
		out.Roots = append(out.Roots, doctorRoot{r, w.on, w.why})
	}
	for _, e := range x.view.Entries {
		out.Skills = append(out.Skills, x.skillReport(e))
	}
	for _, f := range x.fits {
		out.Lists = append(out.Lists, doctorList{f.Client, f.Limit, f.Budget, f.Need, f.Form, f.Cut, called(f.Shortened), called(f.Left)})
	}
	out.Limits = append(out.Limits, x.limits()...)
	return out
}

func (x *examined) skillReport(e *catalog.Entry) doctorSkill {
	in, why := x.skills[e], x.unpublished(e)
	published := e.Available && len(why) == 0
	return doctorSkill{skillJSON(e, published), published, why, notFor000(e), in.Files, in.Bytes, in.NHidden}
}

func called(entries []*catalog.Entry) []string {
	var out []string
	for _, e := range entries {
		out = append(out, e.Name)
	}
	return out
}

// print writes doctor's report for people.
func (x *examined) print(w io.Writer) {
	p := &paper{w: w}
	p.line("roots, the first that has a name answers to it")
	x.printRoots(p)
	x.printSkills(p)
	p.line("what clients are shown of the list of skills")
	for _, f := range x.fits {
		p.line("  %s", shownTo(f))
	}
	limits := x.limits()
	p.line("limits hit: %s", map[bool]string{true: "none"}[len(limits) == 0])
	for _, l := range limits {
		p.line("  %s", l)
	}
	p.line("%s", x.sum())
}

// paper writes clean lines.
type paper struct{ w io.Writer }

func (p *paper) line(format string, args ...any) {
	fmt.Fprintln(p.w, strings.TrimRight(clean(skillLine(fmt.Sprintf(format, args...))), " "))
}

// skillLine keeps a text that came from a skill in one line.
func skillLine(s string) string {
	indent := s[:len(s)-len(strings.TrimLeft(s, " "))]
	return indent + strings.NewReplacer("\r", " ", "\n", " ", "\t", " ").Replace(s[len(indent):])
}

func (x *examined) printRoots(p *paper) {
	var missing []string
	for _, r := range x.view.Roots {
		if r.Missing && r.Err == nil && len(r.Notices) == 0 {
			missing = append(missing, heading(r.Root))
			continue
		}
		p.line("  %s: %s", heading(r.Root), x.rootState(r))
		for _, e := range x.view.Entries {
			if e.Root.Label == r.Label && e.Link() != "" {
				p.line("    link followed: %s leads to %s", shownBelow(r.Root, e.Path), shown(e.Link(), []string{x.env.Dir}, x.env.Home))
			}
		}
		for _, n := range r.Notices {
			p.line("    %s", noticeLine(r.Root, n))
		}
	}
	if len(missing) > 0 {
		p.line("  not there: %s", strings.Join(missing, ", "))
	}
}

func noticeLine(r skill.Root, n skill.Notice) string {
	line := shownBelow(r, n.Path) + ": " + n.Message
	if n.Mend != "" {
		line += " (" + n.Mend + ")"
	}
	return line
}

// rootState is what there is to say of a root in one line.
func (x *examined) rootState(r catalog.RootStatus) string {
	if r.Err != nil {
		return unread(r)
	}
	if r.Missing {
		return "not there"
	}
	s := fmt.Sprintf("%s, %d found", r.Scope, r.Count)
	hidden := 0
	for _, e := range x.view.Entries {
		if e.Root.Label == r.Label {
			hidden += x.skills[e].NHidden
		}
	}
	if hidden > 0 {
		s += fmt.Sprintf(", %s left out", dotEntries(hidden))
	}
	if r.Dir == "" {
		return s
	}
	if watch := x.watch[r.Label]; !watch.on {
		return s + ", looked at every 30 s because " + watch.why
	}
	return s + ", watched for changes"
}

func dotEntries(n int) string {
	if n == 1 {
		return "1 dot-entry"
	}
	return fmt.Sprintf("%d dot-entries", n)
}

func (x *examined) printSkills(p *paper) {
	for _, group := range []struct {
		status catalog.Status
		title  string
	}{
		{catalog.Available, "available"},
		{catalog.Shadowed, "shadowed: another skill answers to the name"},
		{catalog.Copy, "copies"},
		{catalog.Skipped, "skipped: no agent can load these"},
	} {
		first := true
		for _, e := range x.view.Entries {
			if e.Status != group.status {
				continue
			}
			if first {
				p.line("%s", group.title)
				first = false
			}
			x.printSkill(p, e)
		}
	}
}

func (x *examined) printSkill(p *paper, e *catalog.Entry) {
	switch e.Status {
	case catalog.Skipped:
		reason, _ := e.SkipReason()
		at := e.Place()
		if pos := reason.Position.String(); pos != "" {
			at += ":" + pos
		}
		p.line("  %s", at)
		p.line("    %s", reason.Message)
		if reason.Mend != "" {
			p.line("    mend: %s", reason.Mend)
		}
		return
	case catalog.Available:
		p.line("  %s  %s", skill.OneLine(e.Name), e.Place())
	case catalog.Copy:
		p.line("  %s  is a copy of %s; load it as %s", e.Place(), e.By.Place(), x.view.Called(e))
	default:
		p.line("  %s  has the same name as %s; load it as %s", e.Place(), e.By.Place(), x.view.Called(e))
	}
	if !e.ModelInvocable {
		p.line("    not for models: its SKILL.md says %s", skill.OneLine(e.Disabled))
	}
	for _, f := range x.unpublished(e) {
		p.line("    not published: %s", f.brief())
	}
	if left := x.skills[e].Left; len(left) > 0 {
		p.line("    left over: %s", leftOver(left))
	}
	if other := notFor000(e); other != "" {
		p.line("    %s", other)
	}
}

func (f finding) brief() string {
	s := f.Message
	if f.Line > 0 {
		s = fmt.Sprintf("%d:%d: %s", f.Line, f.Column, s)
	}
	if f.Mend != "" {
		s += " (" + f.Mend + ")"
	}
	return s
}

// shownTo says in one line what a client sees of the list.
func shownTo(f tool.Fit) string {
	who := "other clients: "
	if f.Client != "" {
		who = fmt.Sprintf("%s shows %s characters of a description: ", f.Client, thousands(f.Limit))
	}
	room := fmt.Sprintf("the list takes %s characters, there is room for %s; ", thousands(f.Need), thousands(f.Budget))
	switch {
	case f.Form == tool.FormWhole:
		return who + room + "all of it fits"
	case f.Form == tool.FormShortened:
		return who + room + fmt.Sprintf("descriptions over %d characters are cut: %s", f.Cut, some(called(f.Shortened)))
	case len(f.Left) == 0:
		return who + room + "names alone, without descriptions"
	}
	return who + room + fmt.Sprintf("names alone, and %d not even by name: %s; find_skills finds them", len(f.Left), some(called(f.Left)))
}

// some names the first few of a list.
func some(names []string) string {
	const few = 5
	if len(names) > few+1 {
		return strings.Join(names[:few], ", ") + fmt.Sprintf(" and %d more", len(names)-few)
	}
	return strings.Join(names, ", ")
}

func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// limits lists where a bound of knack's, or of the specification, was met.
func (x *examined) limits() []string {
	var out []string
	for _, r := range x.view.Roots {
		for _, n := range r.Notices {
			switch n.Rule {
			case dir.RuleDepthLimit, dir.RuleFolderLimit, dir.RuleNoticesCut:
				out = append(out, noticeLine(r.Root, n))
			}
		}
	}
	prompts := 0
	for _, e := range x.view.Entries {
		if e.Status == catalog.Available && e.UserInvocable {
			prompts++
		}
		if in := x.skills[e]; in.More || in.Bytes > skill.MaxSkillSize {
			for _, f := range x.unpublished(e) {
				if f.Line == 0 && strings.HasPrefix(string(f.Rule), "too-many") {
					out = append(out, path.Dir(e.Place())+": "+f.brief())
				}
			}
		}
		for _, p := range e.Problems {
			switch p.Rule {
			case skill.RuleFileTooLarge, skill.RuleFenceTooLong, skill.RuleNameLength, skill.RuleDescriptionLength:
				out = append(out, e.Place()+": "+findingOf(p).brief())
			}
		}
	}
	if prompts > mostPrompts {
		out = append(out, fmt.Sprintf("%d skills could be prompts; clients are offered the first %d", prompts, mostPrompts))
	}
	return out
}

// mostPrompts is how many skills the server offers as prompts (product limit).
const mostPrompts = 100

func (x *examined) sum() string {
	n := map[catalog.Status]int{}
	unpublished := 0
	for _, e := range x.view.Entries {
		n[e.Status]++
		if e.Available && len(x.unpublished(e)) > 0 {
			unpublished++
		}
	}
	s := fmt.Sprintf("%d available", n[catalog.Available])
	for _, c := range []struct {
		n    int
		what string
	}{
		{n[catalog.Shadowed], "shadowed"}, {n[catalog.Copy], "copied"}, {n[catalog.Skipped], "skipped"}, {unpublished, "not published"},
	} {
		if c.n > 0 {
			s += fmt.Sprintf(", %d %s", c.n, c.what)
		}
	}
	return s + "; knack doctor SKILL tells the story of one"
}
