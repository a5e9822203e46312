package skill

import (
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// MaxName is the specification's limit of a name, in characters.
const MaxName = 64

// inPattern is agentskills.io's rule, ^[a-z0-9]+(-[a-z0-9]+)*$, in ASCII as the
// strictest clients read it.
func inPattern(name string) bool {
	hyphen := true // none may come first
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

// Key is a name prepared for look-up: trimmed, in one line, composed and case-folded. Two
// names with one key are the same name to whoever asks.
type Key string

// maxFolded bounds the names that are folded, in bytes: [MaxName] characters, written
// as long as can be, take a fraction of it.
const maxFolded = 4 << 10

// KeyOf makes the key of a name. It reads the name as listings show it, in one
// line, so that whatever a listing shows finds its skill. Equal keys are a
// canonical caseless match (Unicode D145). A line of more than 4 KiB is its own key:
// it is compared as it is, since a call may name megabytes, and folding each of them
// takes a second.
func KeyOf(name string) Key {
	if ValidName(name) {
		return Key(name) // nearly always
	}
	name = OneLine(name)
	if len(name) > maxFolded {
		return Key(name)
	}
	if isASCII(name) {
		return Key(strings.ToLower(name))
	}
	// A Caser must not be shared between goroutines.
	return Key(norm.NFC.String(cases.Fold().String(norm.NFD.String(name))))
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
