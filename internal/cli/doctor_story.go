package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/check"
	"github.com/knack-dev/knack/edit"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
	"github.com/knack-dev/knack/tool"
)

// story is everything that bears on one name.
type story struct {
	name    string
	path    bool             // it is the path of a skill
	loads   *catalog.Entry   // what an agent gets that gives the name, or nil
	entries []*catalog.Entry // those that have the name, in order
	near    []*catalog.Entry // those that nearly do
	bare    []bareFolder     // folders of that name without a SKILL.md
	notices []place          // what was passed over under that name
	strays  []stray          // what has the name where no skill is served
	blind   []string         // where knack could not look
}

// bareFiles is how many files of a folder without a skill are named.
const bareFiles = 20

// bareFolder is a folder in which no skill was found.
type bareFolder struct {
	At    string   `json:"folder"`
	Files []string `json:"files"`
	Link  string   `json:"link,omitempty"` // where it leads, if it is a link
	dir   string   // its absolute path
}

type place struct {
	Root skill.Root
	skill.Notice
}

func errNotAvailable(name string) error {
	return fmt.Errorf("no agent can load '%s'", skill.Echo(name))
}

func (x *examined) story(ctx context.Context, name string) *story {
	s := &story{name: name, loads: tool.Loads(x.view, name)}
	v, key := x.view, skill.KeyOf(name)
	label, rest, labelled := strings.Cut(strings.TrimSpace(name), ":")
	var owner *catalog.Entry
	if uri, err := skill.ParseURI(name); err == nil {
		owner, _ = v.At(uri)
	}
	for _, e := range v.Entries {
		isPath := x.isPath(e, name)
		s.path = s.path || isPath
		switch {
		case e == owner, e == s.loads, isPath, e.Name != "" && e.Key == key, skill.KeyOf(e.Folder()) == key:
			s.entries = append(s.entries, e)
		case labelled && strings.EqualFold(e.Root.Label, label) && (e.Name != "" && e.Key == skill.KeyOf(rest) || skill.KeyOf(e.Folder()) == skill.KeyOf(rest)):
			s.entries = append(s.entries, e)
		}
	}
	for _, e := range slices.Concat(v.Near(name, 3), v.SkippedNear(name, 3)) {
		if !slices.Contains(s.entries, e) && !slices.Contains(s.near, e) {
			s.near = append(s.near, e)
		}
	}
	for _, f := range x.folders {
		names, ok := f.Names(name, bareFiles)
		known := slices.ContainsFunc(s.entries, func(e *catalog.Entry) bool { return e.Root.Label == f.Root().Label && e.Path == name })
		if ok && !known {
			target, _ := os.Readlink(filepath.Join(f.Root().Dir, name)) // fails where it is none
			s.bare = append(s.bare, bareFolder{shownBelow(f.Root(), name), names, target, filepath.Join(f.Root().Dir, name)})
		}
	}
	if len(s.entries) == 0 {
		last := filepath.Base(strings.TrimSuffix(filepath.ToSlash(name), "/"+skill.MainFile)) // of a path
		x.lookElsewhere(ctx, s, skill.KeyOf(last))
	}
	s.lookAround(x, key)
	// Where a notice knows better what the folder is, it says so.
	s.bare = slices.DeleteFunc(s.bare, func(b bareFolder) bool {
		return slices.ContainsFunc(s.notices, func(n place) bool {
			switch {
			case shownBelow(n.Root, n.Path) != b.At:
				return false
			case n.Rule == dir.RuleNearMiss:
				return !slices.ContainsFunc(b.Files, skill.NearMain)
			}
			return b.Link != "" || n.Rule == dir.RuleUnreadable && len(b.Files) == 0
		})
	})
	return s
}

// lookAround collects what a scan passed over, by that name or blindly.
func (s *story) lookAround(x *examined, key skill.Key) {
	for _, r := range x.view.Roots {
		if r.Err != nil {
			s.blind = append(s.blind, heading(r.Root)+": "+unread(r))
		}
		for _, n := range r.Notices {
			named := false
			for part := range strings.SplitSeq(n.Path, "/") {
				named = named || skill.KeyOf(part) == key
			}
			switch {
			case named:
				s.notices = append(s.notices, place{r.Root, n})
			case n.Rule == dir.RuleUnreadable, n.Rule == dir.RuleDepthLimit, n.Rule == dir.RuleFolderLimit, n.Rule == dir.RuleNoticesCut, n.Rule == dir.RuleNameNotUTF8, n.Rule == dir.RuleLinkIgnored:
				s.blind = append(s.blind, noticeLine(r.Root, n))
			}
		}
	}
}

// loadable: an agent can load the skill, under whatever name.
func loadable(e *catalog.Entry) bool { return e.Status != catalog.Skipped && e.ModelInvocable }

// available: an agent that gives what doctor was asked for gets a skill; of a path,
// which means nothing to an agent, that it can load the skill there.
func (s *story) available() bool {
	if s.path {
		return slices.ContainsFunc(s.entries, loadable)
	}
	return s.loads != nil && loadable(s.loads)
}

// held is the skill that can be loaded by another name only, where what was asked
// for is its folder's.
func (s *story) held() *catalog.Entry {
	if i := slices.IndexFunc(s.entries, loadable); i >= 0 && s.loads == nil {
		return s.entries[i]
	}
	return nil
}

// storyReport is the JSON form of doctor with a name.
type storyReport struct {
	Name      string         `json:"name"`
	Available bool           `json:"available"`
	Skills    []doctorSkill  `json:"skills"`
	Near      []doctorSkill  `json:"near"`
	Folders   []bareFolder   `json:"foldersWithoutSkill"`
	Strays    []stray        `json:"elsewhere"`
	Passed    []listedNotice `json:"passedOver"`
	Blind     []string       `json:"notLookedAt"`
}

func (s *story) report(x *examined) storyReport {
	out := storyReport{Name: s.name, Available: s.available(), Skills: []doctorSkill{}, Near: []doctorSkill{},
		Folders: append([]bareFolder{}, s.bare...), Strays: append([]stray{}, s.strays...), Passed: []listedNotice{}, Blind: append([]string{}, s.blind...)}
	for _, e := range s.entries {
		out.Skills = append(out.Skills, x.skillReport(e))
	}
	for _, e := range s.near {
		out.Near = append(out.Near, x.skillReport(e))
	}
	for _, n := range s.notices {
		out.Passed = append(out.Passed, listedNotice{shownBelow(n.Root, n.Path), n.Rule, n.Message, n.Mend})
	}
	return out
}

func (s *story) print(w io.Writer, x *examined) {
	p := &paper{w: w}
	name := skill.Echo(s.name)
	switch {
	case s.available():
		p.line("'%s' can be loaded.", name)
	case s.held() != nil:
		p.line("The folder '%s' holds the skill '%s', which loads as %s; no agent can load it as '%s'.",
			skill.Spelt(s.held().Folder()), skill.OneLine(s.held().Name), skill.OneLine(x.view.Called(s.held())), name)
	case slices.ContainsFunc(s.entries, func(e *catalog.Entry) bool { return e.Status == catalog.Available && e.UserInvocable }):
		p.line("'%s' is for people, who are offered it as a prompt; no agent can load it.", name)
	case len(s.entries) > 0:
		p.line("'%s' is there, and no agent can load it.", name)
	default:
		p.line("There is no skill '%s'.", name)
	}
	for _, e := range s.entries {
		p.line("")
		s.printEntry(p, x, e)
	}
	if len(s.bare)+len(s.strays)+len(s.notices)+len(s.near) > 0 {
		p.line("")
	}
	for _, b := range s.bare {
		p.printBare(b)
	}
	for _, t := range s.strays {
		p.line("%s %s.", t.At, t.Why)
		p.line("  mend: %s", t.Mend)
	}
	for _, n := range s.notices {
		if !s.isBare(n) {
			p.line("%s", noticeLine(n.Root, n.Notice))
		}
	}
	for _, e := range s.near {
		if e.Status == catalog.Skipped {
			p.line("Nearly that name, and skipped: %s", tool.Reason(e))
		} else {
			p.line("Nearly that name: %s  %s", skill.OneLine(e.Name), e.Place())
		}
	}
	if !s.available() {
		s.printSearched(p, x)
	}
}

// holdsMain reports whether a folder holds a file that serves as SKILL.md.
func holdsMain(folder string) bool {
	return slices.ContainsFunc(skill.EntryNames[:], func(name string) bool {
		_, err := os.Stat(filepath.Join(folder, name))
		return err == nil
	})
}

// isBare: the folder without a skill that the notice speaks of is told of already.
func (s *story) isBare(n place) bool {
	return n.Rule == dir.RuleNearMiss && slices.ContainsFunc(s.bare, func(b bareFolder) bool { return b.At == shownBelow(n.Root, n.Path) })
}

func (p *paper) printBare(b bareFolder) {
	if b.Link != "" && holdsMain(b.dir) {
		p.line("%s is a link to %s, and is not followed: it leads back, or lies in a skill.", b.At, skill.Echo(b.Link))
		p.line("  mend: ask for the skill that it leads to, or put a copy of that into a folder of skills")
		return
	}
	if b.Link != "" {
		p.line("%s is a link to %s, which holds no SKILL.md.", b.At, skill.Echo(b.Link))
		p.line("  mend: let the link lead to the folder of a skill, or remove it")
		return
	}
	for _, f := range b.Files {
		if skill.NearMain(f) {
			p.line("%s holds no SKILL.md, but %s.", b.At, skill.Spelt(f))
			p.line("  mend: rename %s to SKILL.md", skill.Spelt(f))
			return
		}
	}
	entries, _ := os.ReadDir(b.dir)
	if len(b.Files) == 0 && len(entries) > 0 {
		p.line("%s holds no SKILL.md, only hidden files, such as %s.", b.At, skill.Spelt(entries[0].Name()))
	} else if len(b.Files) == 0 {
		p.line("%s holds no SKILL.md, and nothing else.", b.At)
	} else {
		p.line("%s holds no SKILL.md, only %s.", b.At, some(b.Files))
	}
	mend := "put a SKILL.md there"
	if name, parent := path.Base(b.At), path.Dir(b.At); skill.ValidName(name) && !strings.ContainsAny(parent, " '\"\\$`;&|<>()*?") {
		mend += "; 'knack new --dir " + parent + " " + name + "' writes one to start from"
	}
	p.line("  mend: %s", mend)
	var left []string
	for _, e := range entries {
		if edit.IsTemporary(e.Name()) {
			left = append(left, e.Name())
		}
	}
	if len(left) > 0 {
		p.line("  left over: %s", leftOver(left))
	}
}

// printSearched says where a skill would have been found.
func (s *story) printSearched(p *paper, x *examined) {
	if len(s.entries) > 0 {
		return
	}
	var there []string
	for _, r := range x.view.Roots {
		if !r.Missing && r.Err == nil {
			there = append(there, heading(r.Root))
		}
	}
	p.line("")
	if len(there) == 0 {
		there = []string{"no folder: none of those for skills is there"}
	}
	p.line("Looked in %s, and found %s.", strings.Join(there, ", "), skill.Count(len(x.view.Entries), "skill"))
	for _, b := range s.blind {
		p.line("Could not look: %s", b)
	}
	p.line("A skill is a folder with a SKILL.md in one of these; knack doctor lists every folder that is looked in.")
}

func (s *story) printEntry(p *paper, x *examined, e *catalog.Entry) {
	switch e.Status {
	case catalog.Available:
		p.line("%s is available", e.Place())
		p.line("  loads as   %s, or %s", skill.OneLine(e.Name), e.URI())
	case catalog.Shadowed:
		p.line("%s is shadowed: %s has the same name and comes first", e.Place(), e.By.Place())
		p.line("  loads as   %s", x.view.Called(e))
	case catalog.Copy:
		p.line("%s is a copy of %s, which comes first", e.Place(), e.By.Place())
		p.line("  loads as   %s", x.view.Called(e))
	case catalog.Skipped:
		p.line("%s is skipped", e.Place())
	}
	p.line("  root       %s, %s", heading(*e.Root), e.Root.Scope)
	if e.Link() != "" {
		p.line("  link       its folder is a link to %s", shown(e.Link(), []string{x.env.Dir}, x.env.Home))
	}
	if e.Status != catalog.Skipped {
		p.line("  models     %s", s.forModels(x, e))
		p.line("  people     %s", map[bool]string{true: "offered as a prompt", false: "not offered as a prompt"}[e.Status == catalog.Available && e.UserInvocable])
		x.printPublished(p, e)
	}
	x.printFiles(p, e)
	if other := notFor000(e); other != "" {
		p.line("  beware     %s", other)
	}
	x.printProblems(p, e)
}

func (x *examined) printPublished(p *paper, e *catalog.Entry) {
	why := x.unpublished(e)
	if len(why) == 0 {
		p.line("  published  yes")
		return
	}
	reasons := make([]string, len(why))
	for i, f := range why {
		reasons[i] = f.Message
		if f.Line == 0 && f.Mend != "" {
			reasons[i] += " (" + f.Mend + ")"
		}
	}
	p.line("  published  no: %s", strings.Join(reasons, "; "))
}

func (x *examined) printFiles(p *paper, e *catalog.Entry) {
	in := x.skills[e]
	text := skill.Count(in.Files, "file")
	if in.More {
		text = "more than " + text
	}
	text += fmt.Sprintf(", %s bytes", thousands(int(in.Bytes)))
	if in.NHidden > 0 {
		text += fmt.Sprintf("; %s left out: %s", dotEntries(in.NHidden), strings.Join(in.Hidden, ", "))
		if in.NHidden > len(in.Hidden) {
			text += ", …"
		}
	}
	p.line("  files      %s", text)
	if len(in.Left) > 0 {
		p.line("  left over  %s", leftOver(in.Left))
	}
	for _, r := range x.view.Roots {
		if r.Label != e.Root.Label {
			continue
		}
		for _, n := range r.Notices {
			if skill.IsBelow(n.Path, e.Path) {
				p.line("  left out   %s", noticeLine(r.Root, n))
			}
		}
	}
}

// forModels says how models learn of the skill.
func (s *story) forModels(x *examined, e *catalog.Entry) string {
	switch {
	case !e.ModelInvocable:
		return "neither listed nor loadable: its SKILL.md says " + skill.OneLine(e.Disabled)
	case e.Status != catalog.Available:
		return "not listed; the name in 'loads as' loads it"
	}
	text := "listed"
	for _, f := range x.fits {
		who := f.Client
		if who == "" {
			who = "most clients"
		}
		switch {
		case slices.Contains(f.Left, e):
			text += "; in the list for " + who + " there is no room for its name"
		case slices.Contains(f.Shortened, e) && f.Form == tool.FormShortened:
			text += fmt.Sprintf("; for %s its description is cut to %d characters", who, f.Cut)
		case slices.Contains(f.Shortened, e):
			text += "; for " + who + " its name alone, without the description"
		}
	}
	return text
}

// printProblems shows each problem at its place in the file, what skips the skill
// first.
func (x *examined) printProblems(p *paper, e *catalog.Entry) {
	if len(e.Problems) == 0 {
		return
	}
	var data []byte
	if e.Entry != "" {
		data, _, _ = e.Read()
	}
	source, mends := newSourceText(data), check.Mends(e.Skill, data)
	problems := slices.Clone(e.Problems)
	slices.SortStableFunc(problems, func(a, b skill.Problem) int { return rank(a) - rank(b) })
	for i, problem := range problems {
		if slices.ContainsFunc(problems[:i], func(p skill.Problem) bool { return p.Position == problem.Position && p.Mend == problem.Mend }) {
			continue // one slip of the pen that breaks two rules
		}
		what := string(skill.RuleOf(problem.Rule).Severity)
		if skill.RuleOf(problem.Rule).Skips {
			what = "skipped because"
		}
		p.line("")
		p.line("  %s: %s  [%s]", what, problem.Message, problem.Rule)
		for _, l := range snippet(source, problem.Position) {
			p.line("    %s", l)
		}
		if problem.Mend != "" {
			ask, lines, _ := strings.Cut(mends[problem], "\n")
			p.line("  mend: %s", cmp.Or(ask, exactly(problem.Mend, source, problem.Position)))
			for l := range strings.Lines(lines) {
				p.line("    | %s", strings.TrimRight(l, "\n"))
			}
		}
	}
}

// exactly fills the author's own value into a mend that asks for quotes around it:
// all of its lines, as the one that can be typed instead.
func exactly(mend string, source *sourceText, at skill.Position) string {
	if !strings.Contains(mend, "'…'") {
		return mend
	}
	first, _ := source.line(at.Line)
	line := strings.TrimLeft(first, " ")
	key, value, ok := strings.Cut(line, ":")
	value = strings.TrimSpace(value)
	if !ok || value == "" || strings.ContainsAny(value[:1], "|>'\"") {
		return mend
	}
	whole := value
	for n := at.Line + 1; ; n++ {
		next, _ := source.line(n)
		text := strings.TrimLeft(next, " \t")
		if text == "" || next == "---" || len(next)-len(text) == 0 && reAnyField.MatchString(next) {
			break
		}
		if indent := len(next) - len(text); indent <= len(first)-len(line) {
			if indent == 0 {
				return mend // whether it belongs to the value, nobody knows
			}
			break
		}
		whole += " " + strings.TrimSpace(text)
		if len(whole) > 200 {
			break
		}
	}
	if len(whole) > 200 {
		return mend
	}
	filled := strings.Replace(mend, key+": '…'", key+": '"+strings.ReplaceAll(whole, "'", "''")+"'", 1)
	if whole != value {
		filled = strings.Replace(filled, "put the value in quotes:", "put the whole value in quotes, on one line:", 1)
	}
	return filled
}

// reAnyField is a line with which a field begins.
var reAnyField = regexp.MustCompile(`^[^\s:#-][^:#]*:`)

func rank(p skill.Problem) int {
	switch r := skill.RuleOf(p.Rule); {
	case r.Skips:
		return 0
	case r.Severity == skill.SeverityError:
		return 1
	}
	return 2
}

// snippet is a line of a file with a caret below the column, cut to a width that
// fits beside the margin.
func snippet(source *sourceText, at skill.Position) []string {
	const width = 90
	found, ok := source.characters(at.Line)
	if !ok {
		return nil
	}
	line := slices.Clone(found)
	for i, r := range line {
		if r == '\t' {
			line[i] = ' '
		} else if isUnseen(r) {
			line[i] = '\ufffd'
		}
	}
	column := min(at.Column-1, len(line))
	from := max(column-width*2/3, 0)
	to := min(from+width, len(line))
	before, after := "", ""
	if from > 0 {
		before = "…"
	}
	if to < len(line) {
		after = "…"
	}
	margin := fmt.Sprintf("%d | ", at.Line)
	out := []string{margin + before + string(line[from:to]) + after}
	if at.Column > 0 {
		blank := strings.Repeat(" ", len(margin)-2) + "| "
		indent := len([]rune(before))
		for _, r := range line[from:column] {
			indent += columns(r)
		}
		out = append(out, blank+strings.Repeat(" ", indent)+"^")
	}
	return out
}
