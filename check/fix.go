package check

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/knack-dev/knack/skill"
)

// Level says how sure a mend is.
type Level int

// The levels. A certain mend cannot change what the skill means; a guess is most
// probably what its author meant.
const (
	None Level = iota
	Certain
	Guess
)

// String is the level as reports and flags write it: "", "certain" or "guess".
func (l Level) String() string { return [...]string{"", "certain", "guess"}[l] }

// Mended is one mend that Fix made.
type Mended struct {
	Rule skill.RuleID
	Line int    // in the file as it was when the mend was made
	What string // in the past tense: "quoted the value of description"

	of    skill.Problem // that it solves
	ask   string        // the same as a request: "put the value in quotes"
	lines []string      // what it wrote
	then  []Mended      // of problems that came to light by it
}

// candidate is a mend that is tried: the file as it would be.
type candidate struct {
	rule  skill.RuleID
	line  int
	what  string
	ask   string
	level Level
	data  []byte
	of    skill.Problem // zero where it is a rule of this package
	// from is a key that is written as to, "" where the keys stay as they are.
	from, to string
}

// Fix mends a SKILL.md in a folder of the given name, at the given level. Each
// mend is tried and kept only if it solves a problem, makes no new one, leaves
// every field that was readable with its value, and every byte of the body in its
// place. Mends of the rules in except are not tried. So Fix of what it returned changes nothing.
func Fix(data []byte, folder string, level Level, except ...skill.RuleID) ([]byte, []Mended) {
	if level == None || !utf8.Valid(data) || len(data) > skill.MaxSkillMD {
		return data, nil
	}
	var all []Mended
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
			all = append(all, Mended{Rule: c.rule, Line: c.line, What: c.what, of: c.of, ask: c.ask, lines: written(now.lines, next.lines)})
			now = next
			return true
		})
		if i < 0 {
			return now.data, all
		}
	}
}

// markFixable notes which findings a mend solves, by mending and judging again, and
// makes their words those of the mend: what it writes is what a person is told to.
func markFixable(s *subject, findings []Finding) {
	if !slices.ContainsFunc(findings, func(f Finding) bool { return mendable[f.Rule] }) {
		return
	}
	for _, level := range []Level{Guess, Certain} {
		if isForAuthor(s.skill.Problems, s.doc) {
			break
		}
		data, mended := Fix([]byte(s.text), s.skill.Folder(), level)
		if len(mended) == 0 {
			continue
		}
		mended = consequences(mended, findings)
		left := map[kind]int{}
		after := judgeBytes(data, s.skill.Folder())
		for _, p := range after.problems {
			left[kind{p.Rule, p.Field, p.Message}]++
		}
		for i := range findings {
			f := &findings[i]
			same := kind{f.Rule, f.Field, f.Message}
			left[same]--
			if !mendable[f.Rule] || f.Rule != RuleAllowedTools && left[same] >= 0 {
				continue
			}
			at := slices.IndexFunc(mended, func(m Mended) bool {
				return m.Rule == f.Rule && (f.Rule == RuleAllowedTools || same == kind{m.Rule, m.of.Field, m.of.Message})
			})
			if at >= 0 {
				f.Mend = mended[at].request(mended[at+1:], after.lines, f.Mend)
				mended = slices.Delete(mended, at, at+1)
			} else if f.Rule == RuleAllowedTools {
				continue
			}
			f.Fix = level
		}
	}
	for i := range findings {
		if findings[i].Rule == skill.RuleFileSpelling {
			findings[i].Fix = Guess
		}
	}
}

// kind is what a finding and the problem that it comes from have in common.
type kind struct {
	rule           skill.RuleID
	field, message string
}

// consequences gives each mend of a problem that nobody was told of to the one that
// brought it to light.
func consequences(mended []Mended, findings []Finding) (out []Mended) {
	told := map[kind]bool{}
	for _, f := range findings {
		told[kind{f.Rule, f.Field, f.Message}] = true
	}
	for _, m := range mended {
		if n := len(out); n > 0 && m.of.Rule != "" && !told[kind{m.Rule, m.of.Field, m.of.Message}] {
			out[n-1].then = append(out[n-1].then, m)
			continue
		}
		out = append(out, m)
	}
	return out
}

// maxWritten is how long a line may be to be told whole.
const maxWritten = 200

// request is the mend as somebody is asked for it, with the lines that it writes.
// Where a later mend changes them again, those that the file then holds count; where
// they are not to be told, otherwise is the request.
func (m Mended) request(later []Mended, file []line, otherwise string) string {
	lines := m.lines
	for _, l := range later {
		if l.of.Field == m.of.Field && m.of.Field != "" && len(l.lines) > 0 && !hold(file, lines) {
			lines = l.lines
		}
	}
	for _, l := range lines {
		if len(l) > maxWritten {
			return otherwise
		}
	}
	if !hold(file, lines) {
		return otherwise
	}
	then := ""
	for _, m := range m.then {
		if len(m.lines) == 1 && len(m.lines[0]) <= maxWritten && hold(file, m.lines) {
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

func hold(file []line, lines []string) bool {
	for _, l := range lines {
		if !slices.ContainsFunc(file, func(f line) bool { return f.text == l }) {
			return false
		}
	}
	return true
}

// written are the lines of now that stand in the place of others of old.
func written(old, now []line) []string {
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

// mendable are the rules for which there is a mend.
var mendable = map[skill.RuleID]bool{
	skill.RuleFenceBlanks: true, skill.RuleFenceGlued: true, skill.RuleFenceLate: true, skill.RuleFenceUnclosed: true,
	skill.RuleFenceOpener: true, skill.RuleYAMLSyntax: true, skill.RuleYAMLDuplicate: true, skill.RuleNameType: true,
	skill.RuleDescriptionType: true, skill.RuleNameMissing: true, skill.RuleDescriptionMissing: true, skill.RuleFileSpelling: true, RuleAllowedTools: true,
}

// judged is a file with what its mending needs to know of it.
type judged struct {
	data     []byte
	text     string
	doc      *skill.Document
	lines    []line
	problems []skill.Problem // of the file and its fields
	tools    bool            // allowed-tools has a form that other clients stumble over
}

func judgeBytes(data []byte, folder string) *judged {
	s := (&skill.Skill{Bundle: &skill.Bundle{Path: folder, Entry: skill.MainFile}}).Parsed(data, skill.Stamp{})
	j := &judged{data: data, text: string(data), doc: skill.Parse(data), problems: s.Problems}
	j.lines = linesOf(j.text)
	_, tools := j.toolsMend()
	j.tools = tools
	return j
}

func (j *judged) body() []byte { return j.data[j.doc.Body:] }

// weight is what a mend must lower.
func (j *judged) weight() int {
	n := 2 * len(j.problems)
	for _, p := range j.problems {
		if skill.RuleOf(p.Rule).Skips {
			n += 200 // reading a skill at all outweighs what then comes to light in it
		}
	}
	if j.tools {
		n++
	}
	return n
}

// better reports whether a mend of the rule that led from old to j may stand. It may
// write the key to for the key from, if there is one.
func (j *judged) better(old *judged, rule skill.RuleID, from, to string) bool {
	if j.weight() >= old.weight() || len(j.data) > skill.MaxSkillMD {
		return false
	}
	if from == "" && rule != skill.RuleYAMLDuplicate && !holdsInOrder(words(j.data), words(old.data)) {
		return false // only the line that stands twice may go
	}
	if from == "" && rule != skill.RuleNameMissing && !holdsInOrder(words(old.data), words(j.data)) {
		return false // only a name may come
	}
	was, is := old.body(), j.body()
	if len(was) == 0 && len(old.doc.Fields) == 0 {
		// The fence was not understood: all the text must still be there, in order.
		if !holdsInOrder(j.data, old.data) {
			return false
		}
	} else if !bytes.Equal(was, is) {
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
			if !ok || now.Value.Kind == skill.String && !sameText(f.Value.Text, now.Value.Text) {
				return false
			}
		case !ok || !sameValue(f.Key, f.Value, now.Value):
			return false
		}
	}
	return true
}

// faulty: the field was read as text because it could not be read as YAML.
func (j *judged) faulty(f skill.Field) bool {
	for _, p := range j.doc.Problems {
		if p.Field == f.Key && p.Rule == skill.RuleYAMLSyntax {
			return true
		}
	}
	return false
}

// sameText compares the text that was read in a field with a fault with what is
// read now. Blanks around it are dropped where it is used; a block of lines keeps
// its line ends.
func sameText(was, is string) bool {
	was, is = strings.TrimSpace(was), strings.TrimSpace(is)
	return was == is || strings.Contains(is, "\n") && was == skill.OneLine(is)
}

// sameValue compares what was read before with what is read now. The type of a
// name or description may become the string that it should be, and allowed-tools
// its other form; nothing else changes.
func sameValue(key string, was, is skill.Value) bool {
	if bytes.Equal(was.AppendJSON(nil), is.AppendJSON(nil)) {
		return true
	}
	switch key {
	case "name", "description":
		return was.Text == is.Text && was.Kind != skill.List && was.Kind != skill.Map && is.Kind == skill.String
	case "allowed-tools":
		a, ok := toolsOf(was)
		b, fine := toolsOf(is)
		return ok && fine && slices.Equal(a, b)
	}
	return false
}

// words is the text without what a mend writes anew: blanks, line ends, quotes, and
// the marks of lists and of blocks of text.
func words(data []byte) []byte {
	return bytes.Map(func(r rune) rune {
		if unicode.IsSpace(r) || strings.ContainsRune("\"'-,[]>|", r) {
			return -1
		}
		return r
	}, data)
}

// holdsInOrder reports whether every byte of old stands in data, in its order.
func holdsInOrder(data, old []byte) bool {
	for _, c := range data {
		if len(old) > 0 && old[0] == c {
			old = old[1:]
		}
	}
	return len(old) == 0
}

// splice is the file with the lines [from,to) replaced by text.
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

// end is the line end to write after the line with this index: its own, or else
// the first line's.
func (j *judged) end(i int) string {
	if i < len(j.lines) && j.lines[i].end() != "" {
		return j.lines[i].end()
	}
	if len(j.lines) > 0 && j.lines[0].end() != "" {
		return j.lines[0].end()
	}
	return "\n"
}

func (c candidate) String() string { return fmt.Sprintf("%d: %s: %s", c.line, c.rule, c.what) }
