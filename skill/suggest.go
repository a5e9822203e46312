package skill

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// SuggestName proposes a valid name for any text: its words in lower case, without
// the marks on letters, joined by single hyphens. A word that cannot be written
// with a-z and 0-9 is left out; where none is left it is "my-skill". The name of a
// device on Windows gets "-skill" behind it.
func SuggestName(s string) string { return suggestName(s) }

// NameField is the line of frontmatter with a name, in quotes where a reader of
// YAML 1.1 or 1.2 takes the bare word for something else: null, true, on, 123, a date.
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

// Nearest is the candidate with the fewest edits from what was typed, "" where
// none is near: a third of the letters may differ, at most three. Further off, a
// proposal is a guess.
func Nearest(typed string, candidates []string) (best string) {
	typed = strings.ToLower(CutBytes(typed, 64))
	limit := min(max(utf8.RuneCountInString(typed)/3, 1), 3)
	for _, c := range candidates {
		if d := Distance(typed, strings.ToLower(c), limit); d <= limit {
			best, limit = c, d-1
		}
	}
	return best
}

// knownFields are the specification's, and those of clients that knack acts on.
var knownFields = []string{"name", "description", "license", "compatibility", "metadata", "allowed-tools", "disable-model-invocation", "user-invocable"}

// NearField is the field that a key was probably meant to be: of one letter too
// many, too few or wrong, or two in a long one; "" where it is none, or is one.
func NearField(key string) string {
	key = strings.ToLower(CutBytes(strings.TrimSpace(key), 64))
	for _, field := range knownFields {
		limit := 1
		if len(field) > 6 {
			limit = 2
		}
		if key != field && Distance(key, field, limit) <= limit {
			return field
		}
	}
	return ""
}

// Meant is the key that was probably meant as a field that is missing. It is certain
// where the two differ only in what cannot be seen, or in letters of other alphabets
// that look the same.
func (d *Document) Meant(field string) (f Field, certain, ok bool) {
	for _, f := range d.Fields {
		if f.Key != field && !isASCII(f.Key) && seenKey(f.Key) == field {
			return f, true, true
		}
	}
	for _, f := range d.Fields {
		if NearField(f.Key) == field {
			return f, false, true
		}
	}
	return Field{}, false, false
}

// seenKey is a key in lower case, as people see it: without what cannot be seen, and
// with Latin letters for those that look like them.
func seenKey(key string) string {
	key = strings.ToLower(strings.TrimSpace(key))
	if isASCII(key) {
		return key
	}
	return keyLookalikes.Replace(strings.Map(func(r rune) rune {
		switch {
		case r >= 0xff01 && r <= 0xff5e: // the wide forms of ASCII
			return unicode.ToLower(r - 0xfee0)
		case unicode.IsSpace(r), unicode.Is(unicode.Cf, r), unicode.IsControl(r):
			return -1
		case r == 0x2010 || r == 0x2011 || r == 0x2013 || r == 0x2212:
			return '-'
		}
		return r
	}, key))
}

// keyLookalikes are the letters of the known fields in Cyrillic and Greek.
var keyLookalikes = strings.NewReplacer("а", "a", "с", "c", "ԁ", "d", "е", "e", "һ", "h", "і", "i", "ӏ", "l", "м", "m", "п", "n", "о", "o", "р", "p", "ѕ", "s", "т", "t", "ս", "u", "ѵ", "v", "у", "y",
	"α", "a", "ο", "o", "ι", "i", "ν", "v", "ρ", "p")

// isForeign: the key has letters, and none of them is Latin.
func isForeign(key string) bool {
	return strings.IndexFunc(key, unicode.IsLetter) >= 0 && strings.IndexFunc(key, func(r rune) bool { return unicode.Is(unicode.Latin, r) }) < 0
}
