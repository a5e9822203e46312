package check

import (
	"strings"

	"github.com/knack-dev/knack/internal/base/lazyregexp"
	"github.com/knack-dev/knack/skill"
)

// longestExact is the maximum size in bytes of a value that a suggestion contains in full.
const longestExact = 200

// someValue stands for the author's value in a suggestion.
const someValue = "'…'"

// anyField matches a line that begins a field.
var anyField = lazyregexp.New(`^[^\s:#-][^:#]*:`)

// exactly completes a suggestion to quote a value: it inserts the author's value, with all lines
// joined. It leaves the suggestion unchanged if the end of the value is uncertain.
func (s *Source) exactly(fix string, at skill.Position) string {
	first, _ := s.Line(at.Line)
	line := strings.TrimLeft(first, " ")
	key, value, ok := strings.Cut(line, ":")
	value = strings.TrimSpace(value)
	if !ok || value == "" || strings.ContainsAny(value[:1], "|>'\"") {
		return fix
	}
	whole := value
	for n := at.Line + 1; len(whole) <= longestExact; n++ {
		next, _ := s.Line(n)
		text := strings.TrimLeft(next, " \t")
		if text == "" || next == "---" || len(next) == len(text) && anyField().MatchString(next) {
			break
		}
		if indent := len(next) - len(text); indent <= len(first)-len(line) {
			if indent == 0 {
				return fix // it is uncertain whether this line belongs to the value
			}
			break
		}
		whole += " " + strings.TrimSpace(text)
	}
	if len(whole) > longestExact {
		return fix
	}
	filled := strings.Replace(fix, key+": "+someValue, key+": "+quote(whole), 1)
	if whole != value {
		filled = strings.Replace(filled, "put the value in quotes:", "put the whole value in quotes, on one line:", 1)
	}
	return filled
}
