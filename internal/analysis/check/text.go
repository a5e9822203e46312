package check

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/lazyregexp"
)

// maxRuns limits the runs of characters that a rule reports in one file.
const maxRuns = 20

func zeroWidth(s *subject) (out []Finding) {
	if display.IsASCII(s.text) {
		return nil
	}
	// Other rules cover tags. A byte-order mark at the beginning does not count, and neither do
	// direction marks, which are in daily use.
	isInvisible := func(at int, r rune) bool {
		return display.IsHidden(s.text, at, r) && !display.IsBidiControl(r) && !display.IsTag(r) && (at > 0 || r != '\ufeff')
	}
	start, n := 0, 0 // the offset of a run of invisible characters, and their number
	for i, r := range s.text + "\n" {
		if i < len(s.text) && isInvisible(i, r) {
			if n == 0 {
				start = i
			}
			n++
			continue
		}
		if n > 0 && len(out) < maxRuns {
			first, _ := utf8.DecodeRuneInString(s.text[start:])
			out = append(out, s.findingAt(start, n, fmt.Sprintf("%s, the first U+%04X", display.Count(n, "invisible character"), first), "delete the characters that the language does not need"))
		}
		n = 0
	}
	return out
}

func comments(s *subject) (out []Finding) {
	if !strings.Contains(s.body, "<!--") {
		return nil
	}
	sc := scanner{blank: true}
	begin := len(s.text) - len(s.body)
	for i := s.first; i < len(s.lines); i++ {
		l := s.lines[i]
		text := l.text[min(max(begin-l.offset(), 0), len(l.text)):]
		if sc.skips(text) {
			continue
		}
		text = blankSpans(text)
		if n := strings.Index(text, "<!--"); n >= 0 && !sc.comment && len(out) < maxRuns {
			out = append(out, s.findingAt(l.offset()+len(l.text)-len(text)+n, len("<!--"), "a comment, which people do not see in the rendered page but models read", "delete it, or write it as visible text"))
		}
		sc.blankComments(text)
	}
	return out
}

// rePlaceholder matches leftovers of templates. Words that could be genuine count only at the start
// of a description, or as all of it.
var rePlaceholder = lazyregexp.New(`(?i)^\W*(TODO|FIXME|TBD|XXX)\b|lorem ipsum|replace (this )?with (a |the |your )?description|` +
	`^\W*(a |your |brief |short |skill )*description( of (the|your|this) skill)?( goes)?( here)?\W*$|` +
	`\[(TODO|describe|insert|add|your|description)\b[^\]]*\]|<(description|your [a-z ]+)>|\{\{[^}]*\}\}|` +
	`^\W*use when this capability is needed\W*$`)

// newDoes and newWhen are parts of the description that 'knack new' writes.
const newDoes, newWhen = "Helps with ", ". Use when the user asks for "

// NewDescription returns the description that 'knack new' writes, given words about the skill.
func NewDescription(words string) string { return newDoes + words + newWhen + words + "." }

// isNewDescription reports whether a description is still the one that 'knack new' wrote.
func isNewDescription(text string) bool {
	words, _, _ := strings.Cut(strings.TrimPrefix(text, newDoes), newWhen)
	return text == NewDescription(words)
}

// placeholderParts lists strings. Every match of rePlaceholder contains at least one of them.
// Searching for them first takes a tenth of the time.
var placeholderParts = []string{"todo", "fixme", "tbd", "xxx", "lorem ipsum", "description", "[", "<", "{{", "capability"}

func placeholder(s *subject) []Finding {
	f, ok := s.doc.Field("description")
	if !ok {
		return nil
	}
	text := display.OneLine(f.Value.Text)
	const fix = "say what the skill does and when to use it"
	if isNewDescription(text) {
		return []Finding{s.field(f, "the description is still the template of 'knack new'", fix)}
	}
	lower := strings.ToLower(text)
	if !slices.ContainsFunc(placeholderParts, func(part string) bool { return strings.Contains(lower, part) }) {
		return nil
	}
	m := rePlaceholder().FindString(text)
	if m == "" {
		return nil
	}
	return []Finding{s.field(f, display.Quote(m)+" is left over from a template", fix)}
}

// reWhen matches the words with which English descriptions say when to use a skill.
var reWhen = lazyregexp.New(`(?i)\b(when|whenever|if|use|used|using|useful|for|before|after|during|while|trigger|triggers|invoke|applies|apply|need|needs|asks?|mentions?|helps?)\b`)

func neverWhen(s *subject) []Finding {
	f, ok := s.doc.Field("description")
	if !ok || s.skill.Description == "" || !isEnglish(s.skill.Description) || reWhen().MatchString(s.skill.Description) {
		return nil
	}
	return []Finding{s.field(f, "description never says when to use the skill", "add a sentence: Use when …")}
}

// isEnglish reports whether a text has only ASCII letters. Most other languages in Latin script
// need further letters in a sentence.
func isEnglish(text string) bool {
	for _, r := range text {
		if r >= 0x80 && unicode.IsLetter(r) {
			return false
		}
	}
	return true
}
