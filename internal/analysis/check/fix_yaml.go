package check

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// syntaxFixes calls try with fixes for frequent syntax errors of YAML.
func (j *judged) syntaxFixes(p skill.Problem, at int, try func(level Level, what, ask string, data []byte)) {
	key := p.Field
	from, to := j.chunk(key, at)
	level := Certain
	for _, l := range j.lines[from:to] {
		if reNote().MatchString(l.text) {
			level = Guess // knack reads it as text, YAML as a comment
		}
		if strings.IndexFunc(l.text, unwritable) >= 0 {
			return // the author has to decide
		}
	}
	for _, i := range []int{at, from} {
		if m := reEntry().FindStringSubmatch(j.lines[i].text); m != nil && m[2] == "" && m[3] != "" {
			try(level, "put a space after the colon", "put a space after the colon", j.splice(i, i+1, m[1]+" "+strings.TrimLeftFunc(m[3], unicode.IsSpace)+j.lines[i].end()))
		}
	}
	what := "quoted the value"
	if key != "" {
		what += " of " + display.Excerpt(key)
	}
	for _, i := range []int{at, from} {
		try(level, "put the text after > or | on the next line", "put the text on the next line", j.unfold(i, to))
	}
	_, value, _ := strings.Cut(j.lines[from].text, ":")
	if value = strings.TrimLeft(value, " \t"); strings.HasPrefix(value, "{") || isList(key, value) {
		return // quotes would destroy the structure
	}
	if value != "" && key == "metadata" {
		return // it must not be a string
	}
	text, joins := j.asText(key, from, to)
	joins = max(joins, level)
	if from < at && to-from > 1 {
		try(joins, what, askWhole, text)
	}
	try(level, what, askQuotes, j.quoteLine(at))
	if from != at {
		try(level, what, askQuotes, j.quoteLine(from))
	}
	if to-from > 1 {
		try(joins, what, askWhole, text)
	} else {
		try(joins, what, askQuotes, text)
	}
}

// unwritable reports whether YAML does not allow a character.
func unwritable(r rune) bool {
	return unicode.IsControl(r) && r != '\t' || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffe || r == 0xffff
}

// isMeant reports whether the value begins with an anchor, a tag, or an alias of an anchor in the
// file. Knack refuses these, but other readers accept them. In quotes, the value would mean
// something else to those readers.
func (j *judged) isMeant(value string) bool {
	if strings.HasPrefix(value, "!") || reAnchor().MatchString(value) {
		return true
	}
	m := reAlias().FindStringSubmatch(value)
	return m != nil && strings.Contains(j.text, "&"+m[1])
}

// isList reports whether a value begins like a list. In fields that clients show as text, a bracket
// does not begin a list.
func isList(key, value string) bool {
	return strings.HasPrefix(strings.TrimLeft(value, " \t"), "[") && key != "description" && key != "argument-hint"
}

// chunk returns the range of lines of the top-level field that contains the line at.
func (j *judged) chunk(key string, at int) (from, to int) {
	from, to = at, at+1
	for from > 0 && !(key != "" && strings.HasPrefix(strings.TrimLeft(j.lines[from].text, `"'`), key) || key == "" && reField().MatchString(j.lines[from].text)) {
		from--
	}
	if strings.HasPrefix(j.lines[from].text, "---") {
		return at, at + 1
	}
	to = max(to, from+1)
	for to < len(j.lines) && !j.begins(to) && !strings.HasPrefix(j.lines[to].text, "---") {
		to++
	}
	return from, to
}

// begins reports whether a field begins on the line, even a malformed one.
func (j *judged) begins(at int) bool {
	return reField().MatchString(j.lines[at].text) || reUnusualField().MatchString(j.lines[at].text) ||
		slices.ContainsFunc(j.doc.Fields, func(f frontmatter.Field) bool { return f.KeyPosition.Line-1 == at })
}

// quoteLine returns the file with the one-line value at this index in single quotes, or nil.
func (j *judged) quoteLine(at int) []byte {
	l := j.lines[at]
	m := reEntry().FindStringSubmatch(l.text)
	if m == nil || m[2] == "" {
		if m = reItem().FindStringSubmatch(l.text); m == nil {
			return nil
		}
	}
	value := strings.TrimRight(m[3], " \t")
	if value != "" && (j.isMeant(value) || strings.ContainsAny(value[:1], `'"`) && strings.Count(value, value[:1]) == 1) {
		return nil // a quote that is never closed is another fault
	}
	if value == "" || strings.ContainsAny(value[:1], `'"`) && value[0] == value[len(value)-1] && len(value) > 1 && !strings.ContainsRune(value[1:len(value)-1], rune(value[0])) {
		return nil
	}
	return j.splice(at, at+1, m[1]+m[2]+quote(value)+l.end())
}

// quote returns a text as a string of YAML in single quotes.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// unfold returns the file with the text after the indicator of a block scalar moved to a line of
// its own, or nil.
func (j *judged) unfold(at, to int) []byte {
	l := j.lines[at]
	m := reEntry().FindStringSubmatch(l.text)
	if m == nil {
		return nil
	}
	t := reText().FindStringSubmatch(m[3])
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
	return j.splice(at, at+1, m[1]+m[2]+t[1]+end+indent+t[2]+l.end())
}

// asText returns the file with the value of a top-level field in quotes, as the text that knack
// reads. It returns nil if the lines look like a structure, which a text would destroy. A line
// without indentation makes the fix a guess. The line may belong to the value, be a field without
// its colon, or be the body after a missing fence.
func (j *judged) asText(key string, from, to int) ([]byte, Level) {
	f, ok := j.doc.Field(key)
	if !ok || key == "name" || f.Value.Kind != frontmatter.String || f.Value.Text == "" || f.KeyPosition.Line-1 != from {
		return nil, None
	}
	first := j.lines[from].text
	colon := strings.Index(first, f.Key) // the key may contain colons and be quoted
	if colon < 0 || colon > 1 {
		return nil, None
	}
	colon += len(f.Key)
	after := strings.IndexByte(first[colon:], ':')
	if after < 0 {
		return nil, None
	}
	colon += after
	value := strings.TrimLeft(first[colon+1:], " \t")
	if j.isMeant(value) || value != "" && strings.ContainsAny(value[:1], `'"`) && strings.Count(strings.Join(textsOf(j.lines[from:to]), "\n")[colon:], value[:1]) == 1 {
		return nil, None
	}
	level := Certain
	for _, l := range j.lines[from+1 : to] {
		t := strings.TrimSpace(l.text)
		switch {
		case t == "":
			continue
		case strings.HasPrefix(t, "- "), reField().MatchString(t), strings.HasPrefix(t, "#"), strings.Trim(t, "-*_=~`.+—–―") == "":
			return nil, None
		case l.text[0] == ' ' || l.text[0] == '\t':
			continue
		}
		word, _, _ := strings.Cut(t, " ")
		if r, _ := utf8.DecodeRuneInString(t); !unicode.IsLetter(r) || known[word] || strings.Contains(t+" ", ": ") {
			return nil, None
		}
		level = Guess
	}
	last := to
	for last > from+1 && strings.TrimSpace(j.lines[last-1].text) == "" {
		last--
	}
	return j.splice(from, last, first[:colon+1]+" "+quote(display.OneLine(f.Value.Text))+j.end(last-1)), level
}

func textsOf(lines []line) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = l.text
	}
	return out
}

// dropRepeated returns the file without a line that repeats an earlier line of the frontmatter, or
// nil.
func (j *judged) dropRepeated(at int) []byte {
	if to := at + 1; to < len(j.lines) && strings.HasPrefix(j.lines[to].text, " ") || !reField().MatchString(j.lines[at].text) {
		return nil
	}
	for _, l := range j.lines[:at] {
		if l.text == j.lines[at].text {
			return j.splice(at, at+1, "")
		}
	}
	return nil
}
