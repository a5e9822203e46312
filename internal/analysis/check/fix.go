package check

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// Level tells how certain a fix is.
type Level int

// The levels. A certain fix cannot change the meaning of the skill. A guess most probably matches
// the author's intention.
const (
	None Level = iota
	Certain
	Guess
)

// String returns the level as in reports and flags: "", "certain" or "guess".
func (l Level) String() string { return [...]string{"", "certain", "guess"}[l] }

// Change is one change that [Fix] made.
type Change struct {
	Rule skill.RuleID
	Line int    // in the file before this change
	What string // in the past tense: "quoted the value of description"

	problem skill.Problem // the problem that the change solved
	ask     string        // the change as a request: "put the value in quotes"
	lines   []string      // the lines that the change wrote
	then    []Change      // fixes of problems that this change revealed
}

// candidate is a possible fix, with the resulting file.
type candidate struct {
	rule    skill.RuleID
	line    int
	what    string
	ask     string
	level   Level
	data    []byte
	problem skill.Problem // zero for a rule of this package
	// from and to are the old and the new name of a key that the fix renames, or "" if it renames
	// none.
	from, to string
}

// Fix repairs a SKILL.md. folder is the name of its folder. Fix tries each possible fix up to the
// given level, and keeps a fix only if it solves a problem and causes no new one. A fix must also
// keep the value of every readable field and every byte of the body. Fix does not try fixes for the
// rules in except. Fix changes nothing in a file that it has already fixed.
func Fix(data []byte, folder string, level Level, except ...skill.RuleID) ([]byte, []Change) {
	if level == None || !utf8.Valid(data) || len(data) > skill.MaxSkillMD {
		return data, nil
	}
	var all []Change
	now := judgeBytes(data, folder)
	for {
		i := slices.IndexFunc(now.candidates(folder), func(c candidate) bool {
			if c.level > level || slices.Contains(except, c.rule) {
				return false
			}
			next := judgeBytes(c.data, folder)
			if !next.better(now, c.rule, c.from, c.to) {
				return false
			}
			all = append(all, Change{Rule: c.rule, Line: c.line, What: c.what, problem: c.problem, ask: c.ask, lines: changedLines(now.lines, next.lines)})
			now = next
			return true
		})
		if i < 0 {
			return now.data, all
		}
	}
}

// markFixable records which findings [Fix] solves: it fixes the file and judges the result. The
// suggestion of such a finding becomes exactly the text that Fix would write.
func markFixable(s *subject, findings []Finding) {
	if !slices.ContainsFunc(findings, func(f Finding) bool { return fixable[f.Rule] }) {
		return
	}
	for _, level := range []Level{Guess, Certain} {
		if isLeftToAuthor(s.skill.Problems, s.doc) {
			break
		}
		data, changes := Fix([]byte(s.text), s.skill.Folder(), level)
		if len(changes) == 0 {
			continue
		}
		changes = consequences(changes, findings)
		left := map[kind]int{}
		after := judgeBytes(data, s.skill.Folder())
		for _, p := range after.problems {
			left[kind{p.Rule, p.Field, p.Message}]++
		}
		for i := range findings {
			f := &findings[i]
			same := kind{f.Rule, f.Field, f.Message}
			left[same]--
			if !fixable[f.Rule] || f.Rule != ruleAllowedTools && left[same] >= 0 {
				continue
			}
			at := slices.IndexFunc(changes, func(m Change) bool {
				return m.Rule == f.Rule && (f.Rule == ruleAllowedTools || same == kind{m.Rule, m.problem.Field, m.problem.Message})
			})
			if at >= 0 {
				f.Fix = changes[at].request(changes[at+1:], after.lines, f.Fix)
				changes = slices.Delete(changes, at, at+1)
			} else if f.Rule == ruleAllowedTools {
				continue
			}
			f.Fixable = level
		}
	}
	for i := range findings {
		if findings[i].Rule == frontmatter.FileSpelling {
			findings[i].Fixable = Guess
		}
	}
}

// kind identifies a problem. It matches a finding to the change that solved the finding's problem.
type kind struct {
	rule           skill.RuleID
	field, message string
}

// consequences assigns each fix of an unreported problem to the previous fix, which revealed that
// problem.
func consequences(changes []Change, findings []Finding) (out []Change) {
	reported := map[kind]bool{}
	for _, f := range findings {
		reported[kind{f.Rule, f.Field, f.Message}] = true
	}
	for _, m := range changes {
		if n := len(out); n > 0 && m.problem.Rule != "" && !reported[kind{m.Rule, m.problem.Field, m.problem.Message}] {
			out[n-1].then = append(out[n-1].then, m)
			continue
		}
		out = append(out, m)
	}
	return out
}

// maxWritten limits the bytes of a line that a suggestion quotes.
const maxWritten = 200

// request returns the change as a suggestion, with the lines that it writes. If a later fix changes
// these lines again, the suggestion has the final lines. If the lines cannot be quoted, request
// returns otherwise.
func (m Change) request(later []Change, file []line, otherwise string) string {
	lines := m.lines
	for _, l := range later {
		if l.problem.Field == m.problem.Field && m.problem.Field != "" && len(l.lines) > 0 && !hasLines(file, lines) {
			lines = l.lines
		}
	}
	for _, l := range lines {
		if len(l) > maxWritten {
			return otherwise
		}
	}
	if !hasLines(file, lines) {
		return otherwise
	}
	then := ""
	for _, m := range m.then {
		if len(m.lines) == 1 && len(m.lines[0]) <= maxWritten && hasLines(file, m.lines) {
			then += "; then " + m.ask + ": " + strings.TrimLeft(m.lines[0], " ")
		}
	}
	switch {
	case len(lines) == 0, !slices.ContainsFunc(lines, func(l string) bool { return l != "---" }):
		return m.ask + then
	case len(lines) == 1 && then == "":
		return m.ask + ": " + strings.TrimLeft(lines[0], " ")
	}
	return m.ask + then + ":\n" + strings.Join(lines, "\n")
}

// hasLines reports whether a file contains each of the lines.
func hasLines(file []line, lines []string) bool {
	for _, l := range lines {
		if !slices.ContainsFunc(file, func(f line) bool { return f.text == l }) {
			return false
		}
	}
	return true
}

// changedLines returns the lines of now that replace lines of old.
func changedLines(old, now []line) []string {
	from := 0
	for from < len(old) && from < len(now) && old[from].text == now[from].text && old[from].end() == now[from].end() {
		from++
	}
	end := 0
	for end < len(old)-from && end < len(now)-from && old[len(old)-1-end].text == now[len(now)-1-end].text {
		end++
	}
	return textsOf(now[from : len(now)-end])
}

// fixable lists the rules that have a fix.
var fixable = map[skill.RuleID]bool{
	frontmatter.FenceBlanks: true, frontmatter.FenceGlued: true, frontmatter.FenceLate: true, frontmatter.FenceUnclosed: true,
	frontmatter.FenceOpener: true, frontmatter.YAMLSyntax: true, frontmatter.YAMLDuplicate: true, frontmatter.NameType: true,
	frontmatter.DescriptionType: true, frontmatter.NameMissing: true, frontmatter.DescriptionMissing: true, frontmatter.FileSpelling: true, ruleAllowedTools: true,
}

// judged is a SKILL.md with the data that [Fix] needs.
type judged struct {
	data     []byte
	text     string
	doc      *frontmatter.Document
	lines    []line
	problems []skill.Problem // of the file and its fields
	tools    bool            // allowed-tools has a form that other clients misread
}

func judgeBytes(data []byte, folder string) *judged {
	s := (&skill.Skill{Bundle: &skill.Bundle{Path: folder, Entry: skill.MainFile}}).Parsed(data, skill.Stamp{})
	j := &judged{data: data, text: string(data), doc: frontmatter.Parse(data), problems: s.Problems}
	j.lines = linesOf(j.text)
	_, tools := j.toolsFix()
	j.tools = tools
	return j
}

func (j *judged) body() []byte { return j.data[j.doc.Body:] }

// weight returns a measure of the faults of a file. A fix is kept only if it lowers the weight.
func (j *judged) weight() int {
	n := 2 * len(j.problems)
	for _, p := range j.problems {
		if skill.RuleOf(p.Rule).Skips {
			n += 200 // a readable skill outweighs the problems that reading it reveals
		}
	}
	if j.tools {
		n++
	}
	return n
}

// better reports whether to keep a fix of the rule. The fix has changed the file from old to j.
// from and to are the old and the new name of a key that the fix renames, or "" if it renames none.
func (j *judged) better(old *judged, rule skill.RuleID, from, to string) bool {
	if j.weight() >= old.weight() || len(j.data) > skill.MaxSkillMD {
		return false
	}
	if from == "" {
		now, before := differing(j.text, old.text)
		if rule != frontmatter.YAMLDuplicate && !holdsInOrder(words(now), words(before)) {
			return false // only the duplicate line may go
		}
		if rule != frontmatter.NameMissing && !holdsInOrder(words(before), words(now)) {
			return false // only a name may be added
		}
	}
	was, after := old.body(), j.body()
	if len(was) == 0 && len(old.doc.Fields) == 0 {
		// The fence was not recognised, so all the text must still be there, in order.
		if now, before := differing(j.text, old.text); !holdsInOrder(now, before) {
			return false
		}
	} else if !bytes.Equal(was, after) {
		return false
	}
	for _, f := range old.doc.Fields {
		key := f.Key
		if from != "" && key == from {
			key = to
		}
		now, ok := j.doc.Field(key)
		switch {
		case old.faulty(f):
			if !ok || now.Value.Kind == frontmatter.String && !sameText(f.Value.Text, now.Value.Text) {
				return false
			}
		case !ok || !sameValue(f.Key, f.Value, now.Value):
			return false
		}
	}
	return true
}

// faulty reports whether a field was read as text because it is not valid YAML.
func (j *judged) faulty(f frontmatter.Field) bool {
	for _, p := range j.doc.Problems {
		if p.Field == f.Key && p.Rule == frontmatter.YAMLSyntax {
			return true
		}
	}
	return false
}

// sameText compares the text of a faulty field with the value of the fixed field. Surrounding white
// space does not count, since readers drop it. A value of several lines is compared as one line.
func sameText(was, after string) bool {
	was, after = strings.TrimSpace(was), strings.TrimSpace(after)
	return was == after || strings.Contains(after, "\n") && was == display.OneLine(after)
}

// sameValue reports whether a fix keeps the value of a field. A name or a description may become a
// string, and allowed-tools may change from one form to another. Nothing else may change.
func sameValue(key string, was, after frontmatter.Value) bool {
	if bytes.Equal(was.AppendJSON(nil), after.AppendJSON(nil)) {
		return true
	}
	switch key {
	case "name", "description":
		return was.Text == after.Text && was.Kind != frontmatter.List && was.Kind != frontmatter.Map && after.Kind == frontmatter.String
	case "allowed-tools":
		a, ok := toolsOf(was)
		b, fine := toolsOf(after)
		return ok && fine && slices.Equal(a, b)
	}
	return false
}

// differing removes the lines with which both texts begin, and the lines with which both end. A fix
// changes only a few lines of a file that may have thousands.
func differing(a, b string) (string, string) {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	n = strings.LastIndexByte(a[:n], '\n') + 1
	a, b = a[n:], b[n:]
	n = 0
	for n < min(len(a), len(b)) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	_, end, _ := strings.Cut(a[len(a)-n:], "\n")
	return a[:len(a)-len(end)], b[:len(b)-len(end)]
}

// words returns the text without the characters that a fix may change: white space, quotes, and the
// marks of lists and blocks.
func words(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || strings.ContainsRune("\"'-,[]>|", r) {
			return -1
		}
		return r
	}, text)
}

// holdsInOrder reports whether text contains all bytes of old in their order.
func holdsInOrder(text, old string) bool {
	for i := range len(text) {
		if len(old) > 0 && old[0] == text[i] {
			old = old[1:]
		}
	}
	return len(old) == 0
}

// splice returns the file with the lines [from,to) replaced with text.
func (j *judged) splice(from, to int, text string) []byte {
	begin, end := len(j.text), len(j.text)
	if from < len(j.lines) {
		begin = j.lines[from].offset()
	}
	if to < len(j.lines) {
		end = j.lines[to].offset()
	}
	return []byte(j.text[:begin] + text + j.text[end:])
}

// end returns the line ending for the line with this index: its own, or otherwise the ending of the
// first line.
func (j *judged) end(i int) string {
	if i < len(j.lines) && j.lines[i].end() != "" {
		return j.lines[i].end()
	}
	if len(j.lines) > 0 && j.lines[0].end() != "" {
		return j.lines[0].end()
	}
	return "\n"
}
