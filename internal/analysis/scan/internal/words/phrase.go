package words

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/base/display"
)

// word is a word of a sentence in lower case, without invisible characters.
type word struct {
	text     string
	from, to int
	last     bool // the word ends its sentence
}

// maxWord limits the bytes of a word whose text is kept. Words of languages are not longer.
const maxWord = 64

// wordAt returns the first word of a text at or after an offset.
func wordAt(text string, at int) (word, bool) {
	from := at
	for from < len(text) {
		r, size := utf8.DecodeRuneInString(text[from:])
		if unicode.IsLetter(r) {
			break
		}
		from += size
	}
	to := from
	unseen := false
	for to < len(text) {
		r, size := utf8.DecodeRuneInString(text[to:])
		if hidden := display.IsUnseen(r); hidden {
			unseen = true
		} else if !unicode.IsLetter(r) && r != '\'' && r != '’' {
			break
		}
		to += size
	}
	if from == to {
		return word{}, false
	}
	to = from + len(strings.TrimRight(text[from:to], "'’")) // a closing quotation mark
	w := word{from: from, to: to}
	if to-from <= maxWord {
		w.text = strings.ReplaceAll(strings.ToLower(text[from:to]), "’", "'")
		if unseen {
			w.text = strings.Map(func(r rune) rune {
				if display.IsUnseen(r) {
					return -1
				}
				return r
			}, w.text)
		}
	}
	rest := strings.TrimLeft(text[to:min(len(text), to+8)], "*_\"'”’)`")
	w.last = rest == "" || strings.HasPrefix(rest, "\n\n") || strings.IndexByte(".!?;|", rest[0]) >= 0
	return w, true
}

// The sets contain the words of sentences that override instructions, such as "ignore all previous
// instructions" or "forget everything above". The choice of words is knack's own; OWASP LLM01
// describes the effect of such sentences.
var (
	overrideVerbs = Set{Rows: "ignore ignoring disregard disregarding forget discard override overriding bypass supersede supersedes overrides dismiss"}
	overrideWhose = Set{Rows: "previous prior earlier preceding foregoing above system developer original initial"}
	overrideWhat  = Set{Rows: "instruction instructions prompt prompts directive directives guideline guidelines rules command commands guidance messages orders"}
	overrideFill  = Set{Rows: "all any every of the your my these those other and or previously given safety security existing current"}
	overrideAll   = Set{Rows: "everything anything all what whatever instructions rules prompts guidelines directives"}
	overrideAfter = Set{Rows: "above before previously earlier told"}
	overrideLink  = Set{Rows: "you that which were have been was are given the to i we i've were we've"}
)

// Overriding returns the first phrase of a text that overrides instructions.
func Overriding(text string) (from, to int, ok bool) {
	if !mayHave(text, "ignor", "disregard", "forget", "discard", "overrid", "bypass", "supersede", "dismiss") {
		return 0, 0, false
	}
	return firstPhrase(text, &overrideVerbs, func(w word) (int, bool) {
		whose, all := false, false
		return follow(text, w, func(w word) (ok, done bool) {
			if overrideWhat.Has(w.text) && whose || overrideAfter.Has(w.text) && all {
				return true, true
			}
			link := all && overrideLink.Has(w.text)
			whose = whose || overrideWhose.Has(w.text)
			all = all || overrideAll.Has(w.text)
			return false, !link && !overrideWhose.Has(w.text) && !overrideAll.Has(w.text) && !overrideFill.Has(w.text)
		})
	})
}

// The sets contain the words of sentences that conceal an act from the user, such as "do not tell
// the user" or "without the user knowing". A sentence such as "do not tell the user to …" conceals
// nothing: it only proposes other words.
var (
	concealStart = Set{Rows: "not don't dont never without hide hiding conceal concealing keep"}
	concealVerbs = Set{Rows: "tell telling inform informing notify notifying alert alerting mention mentioning reveal revealing disclose disclosing report reporting admit show showing"}
	concealFill  = Set{Rows: "this it that these them anything any of what you did the to your a about everything"}
	concealWhom  = Set{Rows: "user human operator person users"}
	concealThen  = Set{Rows: "about of this these any anything and or but you what"}
	concealKnow  = Set{Rows: "knowing knowledge noticing awareness realizing realising"}
	hideFill     = Set{Rows: "this it these them all any your the every from actions activity changes fact step steps secret hidden"}
)

// Concealing returns the first phrase of a text that conceals an act from the user.
func Concealing(text string) (from, to int, ok bool) {
	if !mayHave(text, "user", "human", "operator", "person") {
		return 0, 0, false
	}
	return firstPhrase(text, &concealStart, func(w word) (int, bool) {
		switch w.text {
		case "hide", "hiding", "conceal", "concealing", "keep":
			return hides(text, w)
		case "without":
			if to, ok := unknowing(text, w); ok {
				return to, true
			}
		}
		return untold(text, w)
	})
}

// mayHave reports whether a text contains one of the stems, or is not ASCII, so that invisible
// characters can split a stem.
func mayHave(text string, stems ...string) bool {
	if !display.IsASCII(text) {
		return true
	}
	lower := strings.ToLower(text)
	return slices.ContainsFunc(stems, func(stem string) bool { return strings.Contains(lower, stem) })
}

// follow calls step with the words after w until step is done. It stops after eight words and at
// the end of the sentence.
func follow(text string, w word, step func(word) (ok, done bool)) (int, bool) {
	for range 8 {
		next, found := wordAt(text, w.to)
		if w.last || !found {
			return 0, false
		}
		w = next
		if ok, done := step(w); done {
			return w.to, ok
		}
	}
	return 0, false
}

// hides matches phrases such as "hide this from the user".
func hides(text string, w word) (int, bool) {
	from := false
	return follow(text, w, func(w word) (ok, done bool) {
		from = from || w.text == "from"
		return from && concealWhom.Has(w.text), !hideFill.Has(w.text)
	})
}

// unknowing matches phrases such as "without the user knowing" and "without the user's knowledge".
func unknowing(text string, w word) (int, bool) {
	whom := false
	return follow(text, w, func(w word) (ok, done bool) {
		if whom {
			return concealKnow.Has(w.text), true
		}
		whom = concealWhom.Has(strings.TrimSuffix(w.text, "'s"))
		return false, !whom && w.text != "the"
	})
}

// untold matches phrases such as "not tell the user".
func untold(text string, w word) (int, bool) {
	verb := ""
	return follow(text, w, func(w word) (ok, done bool) {
		switch {
		case verb == "":
			verb = w.text
			return false, !concealVerbs.Has(verb)
		case concealWhom.Has(w.text):
			then, found := wordAt(text, w.to)
			return w.last || !found || text[w.to] == ',' || concealThen.Has(then.text), true
		}
		return false, !concealFill.Has(w.text)
	})
}

// firstPhrase returns the first phrase that begins with a word of the set starts. It skips a phrase
// that its sentence negates, such as "never ignore previous instructions". match receives the first
// word and returns the end of the phrase.
func firstPhrase(text string, starts *Set, match func(word) (to int, ok bool)) (from, to int, ok bool) {
	negated, near := false, 0 // the sentence has a negation; for near more words, it negates the phrase
	for at := 0; ; {
		w, ok := wordAt(text, at)
		if !ok {
			return 0, 0, false
		}
		if starts.Has(w.text) && near == 0 && !(negated && w.text == "without") {
			if to, ok := match(w); ok {
				return w.from, to, true
			}
		}
		near = max(near-1, 0)
		if negations.Has(w.text) {
			negated, near = true, 3
		}
		if rest := text[w.to:]; w.last {
			negated, near = false, 0
		} else if rest[0] == ',' || rest[0] == ':' {
			near = 0
		}
		at = w.to
	}
}

var negations = Set{Rows: "not don't dont never cannot can't won't doesn't shouldn't mustn't no"}

// quotes lists opening quotation marks, each with its closing mark.
var quotes = [][2]string{{"\"", "\""}, {"'", "'"}, {"`", "`"}, {"“", "”"}, {"„", "“"}, {"‘", "’"}, {"«", "»"}}

// testWords lists words of sentences about tests, or about phrases to search for.
var testWords = Set{Rows: "test tests tested testing fixture fixtures sample samples example examples detect detects detected detection detector flag flags flagged match matches pattern patterns phrase phrases string strings payload payloads scanner rule rules"}

// Quoted reports whether a phrase is in quotation marks, in a sentence about a test. The marks may
// enclose a few more bytes.
func Quoted(text string, from, to int) bool {
	const room = 20
	before, after := text[:from], text[to:]
	for _, q := range quotes {
		begin, end := strings.LastIndex(before, q[0]), strings.Index(after, q[1])
		if begin < 0 || end < 0 || from-begin-len(q[0]) > room || end > room || strings.ContainsAny(before[begin:]+after[:end], "\n.;:!?") {
			continue
		}
		for outside := before[:begin] + " " + after[end+len(q[1]):]; ; {
			w, ok := wordAt(outside, 0)
			if !ok {
				break
			}
			if testWords.Has(w.text) {
				return true
			}
			outside = outside[w.to:]
		}
	}
	return false
}

// Overrides reports whether a text overrides instructions or conceals an act from the user.
func Overrides(text string) bool {
	if _, _, ok := Overriding(text); ok {
		return true
	}
	_, _, ok := Concealing(text)
	return ok
}
