package skill

import (
	"strings"
	"unicode"

	"github.com/knack-dev/knack/internal/display"
	"github.com/knack-dev/knack/internal/typo"
)

// SuggestName returns a valid name for any text: its words in lower case, without the marks
// on letters, joined by hyphens. It leaves out words that cannot be written with a-z and
// 0-9; if none is left, it returns "my-skill". It appends "-skill" to the name of a Windows
// device.
func SuggestName(s string) string { return suggestName(s) }

// NameField returns the frontmatter line for a name, in quotes if YAML 1.1 or 1.2 reads the
// bare word as something else: null, true, on, 123, a date.
func NameField(name string) string {
	switch {
	case plainKind(name) != String || name == "" || strings.ContainsRune("0123456789", rune(name[0])) && !strings.ContainsAny(name, "ghijklmnpqrstuvwyz"):
		return "name: '" + name + "'"
	}
	switch strings.ToLower(name) {
	case "y", "n", "yes", "no", "on", "off":
		return "name: '" + name + "'"
	}
	return "name: " + name
}

// Meant returns the key that was probably meant as a missing field. It is certain if the
// two differ only in invisible characters or look-alike letters.
func (d *Document) Meant(field string) (f Field, certain, ok bool) {
	for _, f := range d.Fields {
		if f.Key != field && !display.IsASCII(f.Key) && typo.Fold(f.Key) == field {
			return f, true, true
		}
	}
	for _, f := range d.Fields {
		if typo.Field(f.Key) == field {
			return f, false, true
		}
	}
	return Field{}, false, false
}

// isForeign reports whether the key has letters, but no Latin ones.
func isForeign(key string) bool {
	return strings.IndexFunc(key, unicode.IsLetter) >= 0 && strings.IndexFunc(key, func(r rune) bool { return unicode.Is(unicode.Latin, r) }) < 0
}
