package words

import (
	"strings"

	"github.com/knack-dev/knack/internal/base/lazyregexp"
)

// The sets contain the words with which a text tells its reader to run something.
var (
	runVerbs   = Set{Rows: "run execute paste launch enter eval invoke install"}
	runObjects = Set{Rows: "command commands script scripts code snippet content contents terminal shell powershell bash console prompt installer installation setup lines it this"}
)

// Running returns the first phrase that tells the reader to run something.
func Running(text string) (from, to int, ok bool) {
	return firstPhrase(text, &runVerbs, func(w word) (int, bool) {
		return follow(text, w, func(w word) (ok, done bool) { return runObjects.Has(w.text), runObjects.Has(w.text) })
	})
}

// passWords lists words for a password. passWith lists words that can precede them; the password
// then follows without "is" or a colon.
var (
	passWords = Set{Rows: "pass password passcode passphrase pwd pw"}
	passWith  = Set{Rows: "with using use enter"}
)

// rePassword and rePasswordWith match the text after a word of passWords. Their group is the
// password. In rePassword, "is" or a mark such as a colon precedes the password. rePasswordWith
// applies after a word of passWith, and needs no such mark.
var (
	rePassword     = lazyregexp.New(`^(?:["'*]{0,4}\s+(?:for|of|to)\s[^.\n:=]{0,30})?["'*]{0,4}(?:\s+is\b|\s*[:=\x{2013}\x{2014}]|\s+-)\s*["'\x{201c}\x{2018}(*]*([^\s"'\x{201d}\x{2019})*,;]{2,64})`)
	rePasswordWith = lazyregexp.New(`^\s+["'\x{201c}\x{2018}(*]*([^\s"'\x{201d}\x{2019})*,;]{2,64})`)
)

// reUnpack matches words about opening an archive, and reLogin words about an account.
var (
	reUnpack = lazyregexp.New(`(?i)\b(?:extract|unzip|unpack|unarchive|decompress|unrar|archive|zip|rar|7z|7zip)`)
	reLogin  = lazyregexp.New(`(?i)\b(?:user(?:name)?|login|log in|sign in|account|credentials?|ssh|sudo|database|root)\b`)
)

// Password returns the range of the password for a download in a text. link is the offset at which
// the link to the download ends, or negative if the link is in the previous block. A password
// counts only near words about opening an archive, or right after the link. Other passwords belong
// to accounts.
func Password(text string, link int) (from, to int, ok bool) {
	const near = 60
	if lower := strings.ToLower(text); !strings.Contains(lower, "pass") && !strings.Contains(lower, "pw") {
		return 0, 0, false
	}
	with := false
	for at := 0; ; {
		w, found := wordAt(text, at)
		if !found {
			return 0, 0, false
		}
		at = w.to
		if passWords.Has(w.text) {
			rest := text[w.to:min(len(text), w.to+maxPassword)]
			m := rePassword().FindStringSubmatchIndex(rest)
			if m == nil && with {
				m = rePasswordWith().FindStringSubmatchIndex(rest)
			}
			if m != nil && !isPlaceholder(rest[m[2]:m[3]]) {
				end := w.to + m[3]
				n := strings.IndexAny(text[end:], " \t\r\n")
				if n < 0 {
					n = len(text) - end
				}
				end += min(n, maxWhole) // the whole word, so that output never ends within it
				around := text[max(0, w.from-near):min(len(text), end+near)]
				beside := link >= 0 && w.from >= link && w.from-link <= near
				if reUnpack().MatchString(around) || beside && !reLogin().MatchString(around) {
					return w.from, end, true
				}
			}
		}
		with = passWith.Has(w.text) || with && w.text == "the"
	}
}

// maxWhole limits the bytes that are added to a password to complete its word.
const maxWhole = 2 << 10

// maxPassword limits the distance in bytes from the word to its password.
const maxPassword = 160

// isPlaceholder reports whether a password is a placeholder for the reader's own, or an ordinary
// word of the sentence.
func isPlaceholder(value string) bool {
	lower := strings.ToLower(strings.TrimRight(value, ".:!?`"))
	return lower == "" || strings.ContainsAny(lower[:1], "<${[%*") || strings.HasPrefix(lower, "your") || passwordWords.Has(lower)
}

var passwordWords = Set{Rows: "protected protection prompt manager field hash hashes from to in that which you below above and or authentication required optional empty set not the a an it if when for is as with by on be will can may must should needed asked stored entered given provided only same your my xxx"}

// The sets contain the words with which a text tells its reader to act: a verb at the beginning of
// a sentence, and the object of the verb.
var (
	askVerbs   = Set{Rows: "run execute send upload download fetch install invoke call post submit transmit email visit paste read collect copy delete remove overwrite append write disable enable approve grant always you"}
	askObjects = Set{Rows: "must should command commands script scripts file files contents content token tokens key keys password passwords credentials secret secrets environment variable variables url link data output " +
		"conversation history tool tools server endpoint webhook user users instruction instructions this following"}
)

// Instruction returns the range of the first instruction to the reader: from a verb at the
// beginning of a sentence to the object of the verb.
func Instruction(text string) (from, to int, ok bool) {
	begins := true
	for at := 0; ; {
		w, ok := wordAt(text, at)
		if !ok {
			return 0, 0, false
		}
		if begins && askVerbs.Has(w.text) {
			if end, ok := follow(text, w, func(w word) (ok, done bool) { return askObjects.Has(w.text), askObjects.Has(w.text) }); ok {
				return w.from, end, true
			}
		}
		begins = w.last
		at = w.to
	}
}
