package skill

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/base/lazyregexp"
)

// opening matches the first words of a description if they only tell when and by whom the skill is
// used. The skill's purpose follows them. The pattern comes from the openings of 776 real
// descriptions.
var opening = lazyregexp.New(`(?i)^(?:(?:always |proactively )?(?:(?:use|invoke|activate|load|apply) (?:this|the)(?: skill)?|(?:this|the) skill (?:should|must|can) be (?:used|invoked|activated|loaded)|use)` +
	`(?: proactively)?,? (?:when(?:ever)?|any ?time|every time|if|for|to)|(?:when(?:ever)?|if) (?:the |a )?(?:users?|you|someone))[:,]?\s`)

// wish matches the words for a user's wish at the beginning of the text after an opening.
var wish = lazyregexp.New(`(?i)^(?:(?:the |a )?(?:users?|you|someone) )?(?:explicitly )?(?:(?:wants?|needs?|asks?|requests?|mentions?)|(?:is|are) asking|would like)(?: you)?(?: to | about |(?: for)? help (?:with |to )?| for | )`)

// quantifier matches a first word that reads wrongly without the opening, as in "Every request to
// commit".
var quantifier = lazyregexp.New(`(?i)^(?:all|any|each|every)\s`)

// leastGist is the shortest text, in bytes, that can replace a description.
const leastGist = 12

// Gist returns a description without an opening such as "Use this skill when the user wants to",
// which does not describe the skill.
func Gist(description string) string {
	at := opening().FindStringIndex(description)
	if at == nil {
		return description
	}
	rest := strings.TrimLeft(description[at[1]:], " :,")
	if at := wish().FindStringIndex(rest); at != nil {
		rest = rest[at[1]:]
	}
	if len(rest) < leastGist || quantifier().MatchString(rest) {
		return description
	}
	first, size := utf8.DecodeRuneInString(rest)
	if second, _ := utf8.DecodeRuneInString(rest[size:]); unicode.IsUpper(second) { // the word begins in lower case, like iOS or eBPF
		return rest
	}
	return string(unicode.ToUpper(first)) + rest[size:]
}

// Brief shortens a description to length n with cut. If the description is too long, Brief first
// removes its opening; see [Gist].
func Brief(description string, n int, cut func(text string, n int) string) string {
	if short := cut(description, n); short == description {
		return description
	}
	return cut(Gist(description), n)
}
