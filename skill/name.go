package skill

import (
	"regexp"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// MaxName is the specification's limit of a name, in characters.
const MaxName = 64

// reName is agentskills.io's rule, in ASCII as the strictest clients read it.
var reName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// ValidName reports whether the specification allows the name.
func ValidName(name string) bool { return len(name) <= MaxName && reName.MatchString(name) }

// Key is a name prepared for look-up: trimmed, composed and case-folded. Two
// names with one key are the same name to whoever asks.
type Key string

var folder = cases.Fold()

// KeyOf makes the key of a name.
func KeyOf(name string) Key {
	name = strings.TrimSpace(name)
	if isLowerASCII(name) {
		return Key(name)
	}
	return Key(folder.String(norm.NFC.String(name)))
}

func isLowerASCII(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= 0x80 || c >= 'A' && c <= 'Z' {
			return false
		}
	}
	return true
}
