package check

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/display"
	"github.com/knack-dev/knack/internal/naming"
	"github.com/knack-dev/knack/internal/ruleid"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// The largest number of problems and bytes of frontmatter to fix; the longest real
// frontmatter has 9.6 kB. They bound the work, since every fix is tried.
const (
	maxMends  = 20
	maxMended = 16 << 10
)

// isForAuthor reports whether a file is left to its author, without trying a fix.
func isForAuthor(problems []skill.Problem, doc *frontmatter.Document) bool {
	return len(problems) > maxMends || len(doc.Fields) > 0 && doc.Body > maxMended
}

// Suggestions that precede the line that a fix writes.
const (
	askQuotes = "put the value in quotes"
	askWhole  = "put the whole value in quotes, on one line"
)

// candidates returns the fixes to try, the most likely first. They need not be right:
// better decides.
func (j *judged) candidates(folder string) []candidate {
	var out []candidate
	if isForAuthor(j.problems, j.doc) {
		return nil
	}
	var p skill.Problem
	try := func(rule skill.RuleID, line int, level Level, what, ask string, data []byte) {
		if data != nil && string(data) != j.text {
			out = append(out, candidate{rule: rule, line: line + 1, what: what, ask: ask, level: level, data: data, of: p})
		}
	}
	for _, p = range j.problems {
		at := p.Position.Line - 1
		if at < 0 || at >= len(j.lines) {
			continue
		}
		switch p.Rule {
		case ruleid.FenceLate:
			try(p.Rule, 0, Certain, "deleted the blank lines before the frontmatter", "delete the blank lines before the frontmatter", j.dropLeading(at))
		case ruleid.FenceBlanks:
			try(p.Rule, at, Certain, "deleted the blanks after ---", "delete the spaces after ---", j.splice(at, at+1, strings.TrimRight(j.lines[at].text, " \t")+j.lines[at].end()))
		case ruleid.FenceGlued:
			l := j.lines[at]
			try(p.Rule, at, Certain, "put the text behind --- on the next line", "put the text behind --- on the next line", j.splice(at, at+1, l.text[:3]+j.end(at)+l.text[3:]+l.end()))
		case ruleid.FenceUnclosed:
			if end, ok := j.blockEnd(at + 1); ok {
				if level := j.closable(at+1, end); level != None {
					try(p.Rule, end, level, "closed the frontmatter with ---", fmt.Sprintf("write --- on a line of its own below line %d", end), j.close(end))
				}
			}
		case ruleid.FenceOpener:
			if !strings.HasPrefix(j.lines[at].text, "name:") && !strings.HasPrefix(j.lines[at].text, "description:") {
				continue
			}
			if level := j.closable(at, j.closer(at)); level != None {
				try(p.Rule, at, level, "put --- before the frontmatter", "write --- on a line of its own before the frontmatter", j.splice(at, at, "---"+j.end(0)))
			} else if end, ok := j.blockEnd(at); ok {
				if level := j.closable(at, end); level != None {
					both := &judged{text: string(j.close(end))}
					both.lines = linesOf(both.text)
					try(p.Rule, at, level, "put --- before and after the frontmatter", "write --- on lines of their own before and after the frontmatter", both.splice(at, at, "---"+j.end(0)))
				}
			}
		case ruleid.YAMLSyntax:
			if p.Field == "name" {
				continue // a name is never guessed
			}
			j.syntaxMends(p, at, func(level Level, what, ask string, data []byte) {
				try(p.Rule, at, level, what, ask, data)
			})
		case ruleid.YAMLDuplicate:
			try(p.Rule, at, Certain, "deleted the second of two equal lines", "delete the second of the two equal lines", j.dropTwin(at))
		case ruleid.NameType, ruleid.DescriptionType:
			try(p.Rule, at, Certain, "quoted the value of "+p.Field, askQuotes, j.quoteLine(at))
		case ruleid.NameMissing, ruleid.DescriptionMissing:
			if level, data := j.renameKey(p.Field); data != nil {
				try(p.Rule, at, level, "wrote the key "+p.Field, "write the key so", data)
				out[len(out)-1].from, out[len(out)-1].to = j.meant(p.Field), p.Field
				continue
			}
			if p.Rule != ruleid.NameMissing {
				continue
			}
			has := slices.ContainsFunc(j.doc.Fields, func(f frontmatter.Field) bool { return strings.EqualFold(strings.TrimSpace(f.Key), "name") })
			if !has && skill.ValidName(folder) && len(j.doc.Fields) > 0 {
				first := j.doc.Fields[0].KeyPosition.Line - 1
				try(p.Rule, first, Guess, "added the folder's name", "add the line", j.splice(first, first, naming.Line(folder)+j.end(first)))
			}
		}
	}
	p = skill.Problem{}
	if data, ok := j.toolsMend(); ok {
		f, _ := j.doc.Field("allowed-tools")
		try(RuleAllowedTools, f.KeyPosition.Line-1, Certain, "separated the tools of allowed-tools by blanks", "write the tools in one line, separated by blanks", data)
	}
	return out
}

// renameKey replaces a misspelt key by the missing field.
func (j *judged) renameKey(field string) (Level, []byte) {
	f, certain, ok := j.doc.Meant(field)
	at := f.KeyPosition.Line - 1
	if _, there := j.doc.Field(field); !ok || there || at < 0 || at >= len(j.lines) {
		return None, nil
	}
	l := j.lines[at]
	i := l.index(f.KeyPosition.Column)
	rest, found := strings.CutPrefix(l.text[i:], f.Key)
	if !found {
		return None, nil // in quotes, with escapes
	}
	level := Guess
	if certain {
		level = Certain
	}
	return level, j.splice(at, at+1, l.text[:i]+field+rest+l.end())
}

// meant returns the key that renameKey replaces.
func (j *judged) meant(field string) string {
	f, _, _ := j.doc.Meant(field)
	return f.Key
}

// dropLeading deletes blank lines before the line with this index, if all of them are
// blank. A byte-order mark stays.
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
	reField = onDemand(`^[A-Za-z_][A-Za-z0-9_.-]*[ \t]*:([ \t]|$)`)
	reEntry = onDemand(`^([ \t]*(?:-[ \t]+)*(?:[^\s"'#&*!|>%@,?:{}\[\]\x60-][^"'#:]*|"[^"\\]*"|'[^']*')[ \t]*:)([ \t]*)(.*)$`)
	reItem  = onDemand(`^([ \t]*-)([ \t]+)(.*)$`)
	reText  = onDemand(`^([>|][+-]?)[ \t]+([^#\s].*)$`)
	// reOddField matches a field with its key in quotes, or without the blank.
	reOddField = onDemand(`^("[^"\\]+"|'[^']+')[ \t]*:([ \t]|$)|^(name|description|license|compatibility|metadata|allowed-tools):`)
	// reIndicator matches everything that may follow the colon of a block of text.
	reIndicator = onDemand(`^[>|][+-]?[0-9]?[+-]?$`)
	reNote      = onDemand(`[ \t]#`)
	reAnchor    = onDemand(`^&[^\s,\[\]{}]+`)
	reAlias     = onDemand(`^\*([^\s,\[\]{}]+)`)
)

// blockEnd returns the line before which frontmatter that begins at from must end: the
// first blank line or heading. If fields follow that line, the end is unknown.
func (j *judged) blockEnd(from int) (int, bool) {
	end := len(j.lines)
	for i := from; i < len(j.lines); i++ {
		if t := strings.TrimSpace(j.lines[i].text); t == "" || strings.HasPrefix(t, "#") {
			end = i
			break
		}
	}
	for i := end; i < min(end+20, len(j.lines)); i++ {
		if reField().MatchString(j.lines[i].text) {
			return 0, false
		}
	}
	return end, end > from
}

// closer returns the first line from this index on that can end frontmatter, or the number
// of lines.
func (j *judged) closer(from int) int {
	for i := from; i < len(j.lines); i++ {
		if strings.TrimRight(j.lines[i].text, " \t") == "---" {
			return i
		}
	}
	return len(j.lines)
}

// closable returns how certain it is that the lines [from,to) are exactly the frontmatter:
// a wrong fence hides part of the body from every reader. Certain are fields of the
// specification that parse, each on its own line or with lines below that can only belong
// to it. Other fields, and a value that continues on a line that might begin another, are a
// guess. Anything else is left to the author.
func (j *judged) closable(from, to int) Level {
	if from >= to || to < len(j.lines) && j.goesOn(to) || j.lines[to-1].offset() > maxMended {
		return None
	}
	for _, l := range j.lines[:from] {
		if t := strings.TrimSpace(strings.TrimPrefix(l.text, mark)); t != "" && t != "---" {
			return None
		}
	}
	level, owns := Certain, false
	var block strings.Builder
	for _, l := range j.lines[from:to] {
		text := l.text
		t := strings.TrimSpace(text)
		key, value, _ := strings.Cut(text, ":")
		value = strings.TrimSpace(value)
		switch {
		case reField().MatchString(text):
			owns = value == "" || strings.ContainsAny(value[:1], "|>") && reIndicator().MatchString(value)
			if !known[strings.TrimSpace(key)] {
				level = Guess // or a line of text such as "Note: read this first"
			}
		case t == "":
			level = Guess
		case strings.Trim(t, "-*_=~`.#+—–―") == "":
			return None // a misspelt fence
		case text[0] == ' ' && owns:
		case text[0] == ' ', owns && strings.HasPrefix(t, "- "):
			level = Guess
		default:
			return None
		}
		block.WriteString(text + "\n")
	}
	doc := frontmatter.Parse([]byte("---\n" + block.String() + "---\n"))
	for _, p := range doc.Problems {
		if p.Rule != ruleid.YAMLSyntax {
			continue
		}
		f, ok := doc.Field(p.Field)
		if !ok || f.Value.Text == "" || strings.ContainsAny(f.Value.Text[:1], "\"'[{") {
			return None // it may end after the fence
		}
		level = Guess
	}
	return level
}

// goesOn reports whether the text from this line on is indented, like the rest of a field.
func (j *judged) goesOn(from int) bool {
	for _, l := range j.lines[from:] {
		if t := strings.TrimSpace(l.text); t != "" {
			return l.text[0] == ' ' || l.text[0] == '\t'
		}
	}
	return false
}

// close inserts --- before the line with this index.
func (j *judged) close(end int) []byte {
	if end == len(j.lines) && j.lines[end-1].end() == "" {
		return []byte(j.text + j.end(0) + "---")
	}
	return j.splice(end, end, "---"+j.end(end-1))
}

// syntaxMends returns fixes for the frequent faults of YAML.
func (j *judged) syntaxMends(p skill.Problem, at int, try func(level Level, what, ask string, data []byte)) {
	key := p.Field
	from, to := j.chunk(key, at)
	level := Certain
	for _, l := range j.lines[from:to] {
		if reNote().MatchString(l.text) {
			level = Guess // text to knack, a comment to YAML
		}
		if strings.IndexFunc(l.text, unwritable) >= 0 {
			return // the author has to decide
		}
	}
	for _, i := range []int{at, from} {
		if m := reEntry().FindStringSubmatch(j.lines[i].text); m != nil && m[2] == "" && m[3] != "" {
			try(level, "put a blank behind the colon", "put a blank behind the colon", j.splice(i, i+1, m[1]+" "+strings.TrimLeftFunc(m[3], unicode.IsSpace)+j.lines[i].end()))
		}
	}
	what := "quoted the value"
	if key != "" {
		what += " of " + display.Excerpt(key)
	}
	for _, i := range []int{at, from} {
		try(level, "put the text behind > or | on the next line", "put the text on the next line", j.unfold(i, to))
	}
	_, value, _ := strings.Cut(j.lines[from].text, ":")
	if value = strings.TrimLeft(value, " \t"); strings.HasPrefix(value, "{") || isList(key, value) {
		return // a structure, which text would destroy
	}
	if value != "" && key == "metadata" {
		return // it must not be text
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

// unwritable matches the characters that YAML does not allow.
func unwritable(r rune) bool {
	return unicode.IsControl(r) && r != '\t' || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffe || r == 0xffff
}

// isMeant reports whether the value begins with an anchor, a tag, or an alias of an anchor
// in the file. Knack refuses these; other readers accept them and would see another value
// in quotes.
func (j *judged) isMeant(value string) bool {
	if strings.HasPrefix(value, "!") || reAnchor().MatchString(value) {
		return true
	}
	m := reAlias().FindStringSubmatch(value)
	return m != nil && strings.Contains(j.text, "&"+m[1])
}

// isList reports whether a value in brackets means a list, which it does except in fields
// that clients show as text.
func isList(key, value string) bool {
	return strings.HasPrefix(strings.TrimLeft(value, " \t"), "[") && key != "description" && key != "argument-hint"
}

// chunk returns the lines of the top-level field that contains the line at.
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

// begins reports whether a field begins on the line, well-formed or not.
func (j *judged) begins(at int) bool {
	return reField().MatchString(j.lines[at].text) || reOddField().MatchString(j.lines[at].text) ||
		slices.ContainsFunc(j.doc.Fields, func(f frontmatter.Field) bool { return f.KeyPosition.Line-1 == at })
}

// quoteLine puts a value of one line in single quotes.
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

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// unfold moves the text after a block indicator to a line of its own.
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

// asText writes a top-level field with the text that knack reads in it. If the lines look
// like a structure, the author did not mean that text. A line without indentation may
// belong to the value, may be a field without its colon, or the body after a missing fence;
// then the fix is a guess.
func (j *judged) asText(key string, from, to int) ([]byte, Level) {
	f, ok := j.doc.Field(key)
	if !ok || key == "name" || f.Value.Kind != frontmatter.String || f.Value.Text == "" || f.KeyPosition.Line-1 != from {
		return nil, None
	}
	first := j.lines[from].text
	colon := strings.Index(first, f.Key) // which may contain colons and be quoted
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

// dropTwin deletes a line that repeats an earlier one of the frontmatter.
func (j *judged) dropTwin(at int) []byte {
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

// toolsMend writes allowed-tools in the form of the specification, if every reader then
// sees the same tools.
func (j *judged) toolsMend() ([]byte, bool) {
	f, ok := j.doc.Field("allowed-tools")
	if !ok || j.faulty(f) || f.Value.Kind == frontmatter.String && !strings.Contains(outsideParens(f.Value.Text), ",") {
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
