package skill

import (
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/knack-dev/knack/internal/base/display"
)

// MaxName is the specification's limit for a name, in characters.
const MaxName = 64

// inPattern reports whether a name matches the rule of agentskills.io,
// ^[a-z0-9]+(-[a-z0-9]+)*$, in ASCII like the strictest clients.
func inPattern(name string) bool {
	hyphen := true // the first character must not be a hyphen
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			hyphen = false
		case c == '-' && !hyphen:
			hyphen = true
		default:
			return false
		}
	}
	return !hyphen
}

// ValidName reports whether the specification allows the name.
func ValidName(name string) bool { return len(name) <= MaxName && inPattern(name) }

// Key is a name prepared for look-up: trimmed, in one line, composed and case-folded. For callers,
// two names with one key are the same name.
type Key string

// maxFolded bounds the names that are folded, in bytes. Even the longest encoding of [MaxName]
// characters takes a fraction of it.
const maxFolded = 4 << 10

// KeyOf returns the key of a name. It uses the one-line form of listings, so a name copied from a
// listing finds its skill. Equal keys are a canonical caseless match (Unicode D145). A line of more
// than 4 KiB is its own key, because a call may name megabytes, and folding a megabyte takes a
// second.
func KeyOf(name string) Key {
	if ValidName(name) {
		return Key(name) // nearly always
	}
	name = display.OneLine(name)
	if len(name) > maxFolded {
		return Key(name)
	}
	return Key(Fold(name))
}

// Fold returns a text in the form in which the least strict file system compares names. The results
// are equal for texts that are a canonical caseless match (Unicode D145).
func Fold(text string) string {
	if display.IsASCII(text) {
		return strings.ToLower(text)
	}
	return norm.NFC.String(display.FoldCase(norm.NFD.String(text)))
}
