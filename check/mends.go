package check

import (
	"regexp"
	"strings"

	"github.com/knack-dev/knack/skill"
)

// Beyond these a file is for its author: of problems, and of bytes of frontmatter
// (the longest real one has 9.6 kB). Every mend is tried, so they bound the work.
const (
	maxMends  = 20
	maxMended = 16 << 10
)

// candidates are the mends to try, the likeliest first. None of them needs to be
// right: better decides.
func (j *judged) candidates(folder string) []candidate {
	var out []candidate
	if len(j.problems) > maxMends || len(j.doc.Fields) > 0 && j.doc.Body > maxMended {
		return nil
	}
	try := func(rule skill.RuleID, line int, level Level, what string, data []byte) {
		if data != nil && string(data) != j.text {
			out = append(out, candidate{rule, line + 1, what, level, data})
		}
	}
	for _, p := range j.problems {
		at := p.Position.Line - 1
		if at < 0 || at >= len(j.lines) {
			continue
		}
		switch p.Rule {
		case skill.RuleFenceLate:
			try(p.Rule, 0, Certain, "deleted the blank lines before the frontmatter", j.dropLeading(at))
		case skill.RuleFenceBlanks:
			try(p.Rule, at, Certain, "deleted the blanks after ---", j.splice(at, at+1, strings.TrimRight(j.lines[at].text, " \t")+j.lines[at].end))
		case skill.RuleFenceGlued:
			l := j.lines[at]
			try(p.Rule, at, Certain, "put the text behind --- on the next line", j.splice(at, at+1, l.text[:3]+j.end(at)+l.text[3:]+l.end))
		case skill.RuleFenceUnclosed:
			if end, ok := j.blockEnd(at + 1); ok {
				try(p.Rule, end, Certain, "closed the frontmatter with ---", j.close(end))
			}
		case skill.RuleFenceOpener:
			if strings.HasPrefix(j.lines[at].text, "name:") || strings.HasPrefix(j.lines[at].text, "description:") {
				try(p.Rule, at, Certain, "put --- before the frontmatter", j.splice(at, at, "---"+j.end(0)))
				if end, ok := j.blockEnd(at); ok {
					both := &judged{text: string(j.close(end))}
					both.lines = linesOf(both.text)
					try(p.Rule, at, Certain, "put --- before and after the frontmatter", both.splice(at, at, "---"+j.end(0)))
				}
			}
		case skill.RuleYAMLSyntax:
			if p.Field == "name" {
				continue // a name is never guessed
			}
			j.syntaxMends(p, at, func(what string, data []byte) { try(p.Rule, at, Certain, what, data) })
		case skill.RuleYAMLDuplicate:
			try(p.Rule, at, Certain, "deleted the second of two equal lines", j.dropTwin(at))
		case skill.RuleNameType, skill.RuleDescriptionType:
			try(p.Rule, at, Certain, "quoted the value of "+p.Field, j.quoteLine(at))
		case skill.RuleNameMissing:
			if _, has := j.doc.Field("name"); !has && skill.ValidName(folder) && len(j.doc.Fields) > 0 {
				first := j.doc.Fields[0].KeyPosition.Line - 1
				try(p.Rule, first, Guess, "added the folder's name", j.splice(first, first, "name: "+folder+j.end(first)))
			}
		}
	}
	if data, ok := j.toolsMend(); ok {
		f, _ := j.doc.Field("allowed-tools")
		try(RuleAllowedTools, f.KeyPosition.Line-1, Certain, "separated the tools of allowed-tools by blanks", data)
	}
	return out
}

// dropLeading deletes blank lines before the line with this index, if nothing else
// stands there. A byte-order mark stays.
func (j *judged) dropLeading(at int) []byte {
	for _, l := range j.lines[:at] {
		if strings.TrimSpace(strings.TrimPrefix(l.text, mark)) != "" {
			return nil
		}
	}
	keep := ""
	if strings.HasPrefix(j.text, mark) {
		keep = mark
	}
	return j.splice(0, at, keep)
}

var (
	reField = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*[ \t]*:([ \t]|$)`)
	reEntry = regexp.MustCompile(`^([ \t]*(?:-[ \t]+)*(?:[^\s"'#&*!|>%@,?:{}\[\]\x60-][^"'#:]*|"[^"\\]*"|'[^']*')[ \t]*:)([ \t]*)(.*)$`)
	reItem  = regexp.MustCompile(`^([ \t]*-)([ \t]+)(.*)$`)
	reText  = regexp.MustCompile(`^([>|][+-]?)[ \t]+([^#\s].*)$`)
)

// blockEnd is the line before which frontmatter that begins at from must have
// ended: the first that is blank or a heading. Where fields go on behind it,
// nobody knows.
func (j *judged) blockEnd(from int) (int, bool) {
	end := len(j.lines)
	for i := from; i < len(j.lines); i++ {
		if t := strings.TrimSpace(j.lines[i].text); t == "" || strings.HasPrefix(t, "#") {
			end = i
			break
		}
	}
	for i := end; i < min(end+20, len(j.lines)); i++ {
		if reField.MatchString(j.lines[i].text) {
			return 0, false
		}
	}
	return end, end > from
}

// close puts --- before the line with this index.
func (j *judged) close(end int) []byte {
	if end == len(j.lines) && j.lines[end-1].end == "" {
		return []byte(j.text + j.end(0) + "---")
	}
	return j.splice(end, end, "---"+j.end(end-1))
}

// syntaxMends tries what the frequent faults of YAML need.
func (j *judged) syntaxMends(p skill.Problem, at int, try func(string, []byte)) {
	key := p.Field
	from, to := j.chunk(key, at)
	for _, i := range []int{at, from} {
		if m := reEntry.FindStringSubmatch(j.lines[i].text); m != nil && m[2] == "" && m[3] != "" {
			try("put a blank behind the colon", j.splice(i, i+1, m[1]+" "+m[3]+j.lines[i].end))
		}
	}
	what := "quoted the value"
	if key != "" {
		what += " of " + skill.Excerpt(key)
	}
	for _, i := range []int{at, from} {
		try("put the text behind > or | on the next line", j.unfold(i, to))
	}
	if _, value, _ := strings.Cut(j.lines[from].text, ":"); strings.HasPrefix(strings.TrimLeft(value, " \t"), "{") || isList(key, value) {
		return // a structure, which text would destroy
	}
	if from < at && to-from > 1 {
		try(what, j.asText(key, from, to))
	}
	try(what, j.quoteLine(at))
	if from != at {
		try(what, j.quoteLine(from))
	}
	try(what, j.asText(key, from, to))
}

// isList: a value in brackets means a list but where clients show it as text.
func isList(key, value string) bool {
	return strings.HasPrefix(strings.TrimLeft(value, " \t"), "[") && key != "description" && key != "argument-hint"
}

// chunk is the lines of the top-level field that holds the line at.
func (j *judged) chunk(key string, at int) (from, to int) {
	from, to = at, at+1
	for from > 0 && !(key != "" && strings.HasPrefix(strings.TrimLeft(j.lines[from].text, `"'`), key) || key == "" && reField.MatchString(j.lines[from].text)) {
		from--
	}
	if strings.HasPrefix(j.lines[from].text, "---") {
		return at, at + 1
	}
	to = max(to, from+1)
	for to < len(j.lines) && !reField.MatchString(j.lines[to].text) && !strings.HasPrefix(j.lines[to].text, "---") {
		to++
	}
	return from, to
}

// quoteLine puts the value on one line in single quotes.
func (j *judged) quoteLine(at int) []byte {
	l := j.lines[at]
	m := reEntry.FindStringSubmatch(l.text)
	if m == nil || m[2] == "" {
		if m = reItem.FindStringSubmatch(l.text); m == nil {
			return nil
		}
	}
	value := strings.TrimRight(m[3], " \t")
	if value == "" || strings.ContainsAny(value[:1], `'"`) && value[0] == value[len(value)-1] && len(value) > 1 && !strings.ContainsRune(value[1:len(value)-1], rune(value[0])) {
		return nil
	}
	return j.splice(at, at+1, m[1]+m[2]+quote(value)+l.end)
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// unfold puts the text behind a block indicator on a line of its own.
func (j *judged) unfold(at, to int) []byte {
	l := j.lines[at]
	m := reEntry.FindStringSubmatch(l.text)
	if m == nil {
		return nil
	}
	t := reText.FindStringSubmatch(m[3])
	if t == nil {
		return nil
	}
	own := len(l.text) - len(strings.TrimLeft(l.text, " "))
	indent := strings.Repeat(" ", own+2)
	if at+1 < to {
		if next := j.lines[at+1].text; strings.TrimSpace(next) != "" {
			if n := len(next) - len(strings.TrimLeft(next, " ")); n > own {
				indent = next[:n]
			}
		}
	}
	end := j.end(at)
	return j.splice(at, at+1, m[1]+m[2]+t[1]+end+indent+t[2]+l.end)
}

// asText writes a top-level field with the text that knack reads in it. Where the
// lines look like a structure, that text is not what the author meant.
func (j *judged) asText(key string, from, to int) []byte {
	f, ok := j.doc.Field(key)
	if !ok || key == "name" || f.Value.Kind != skill.String || f.Value.Text == "" || f.KeyPosition.Line-1 != from {
		return nil
	}
	for _, l := range j.lines[from+1 : to] {
		t := strings.TrimSpace(l.text)
		if strings.HasPrefix(t, "- ") || reField.MatchString(t) || strings.HasPrefix(t, "#") {
			return nil
		}
	}
	first := j.lines[from].text
	colon := strings.IndexByte(first, ':')
	if colon < 0 {
		return nil
	}
	last := to
	for last > from+1 && strings.TrimSpace(j.lines[last-1].text) == "" {
		last--
	}
	return j.splice(from, last, first[:colon+1]+" "+quote(skill.OneLine(f.Value.Text))+j.end(last-1))
}

// dropTwin deletes a line that repeats an earlier one of the frontmatter.
func (j *judged) dropTwin(at int) []byte {
	if to := at + 1; to < len(j.lines) && strings.HasPrefix(j.lines[to].text, " ") || !reField.MatchString(j.lines[at].text) {
		return nil
	}
	for _, l := range j.lines[:at] {
		if l.text == j.lines[at].text {
			return j.splice(at, at+1, "")
		}
	}
	return nil
}

// toolsMend writes allowed-tools as the specification does, where every reader
// then sees the same tools.
func (j *judged) toolsMend() ([]byte, bool) {
	f, ok := j.doc.Field("allowed-tools")
	if !ok || j.faulty(f) || f.Value.Kind == skill.String && !strings.Contains(outsideParens(f.Value.Text), ",") {
		return nil, false
	}
	tools, ok := toolsOf(f.Value)
	if !ok || f.KeyPosition.Column != 1 {
		return nil, false
	}
	from := f.KeyPosition.Line - 1
	to := from + 1
	for to < len(j.lines) && (strings.HasPrefix(j.lines[to].text, " ") || strings.HasPrefix(j.lines[to].text, "- ") || strings.HasPrefix(j.lines[to].text, "]")) {
		to++
	}
	for _, l := range j.lines[from:to] {
		if strings.Contains(l.text, "#") {
			return nil, false // a comment, perhaps
		}
	}
	joined := strings.Join(tools, " ")
	if strings.Contains(joined, ": ") || strings.HasSuffix(joined, ":") || strings.ContainsAny(joined[:1], "!&*-?|>@`%{}[]#") {
		joined = quote(joined)
	}
	return j.splice(from, to, "allowed-tools: "+joined+j.end(to-1)), true
}
