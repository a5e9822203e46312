package skill

import (
	"strings"
	"unicode"
	"unicode/utf8"
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

// Nearest returns the candidate with the fewest edits from the typed text, or "" if none is
// near: at most a third of the letters, and at most three, may differ.
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

// knownFields lists the fields of the specification, and those of clients that knack uses.
var knownFields = []string{"name", "description", "license", "compatibility", "metadata", "allowed-tools", "disable-model-invocation", "user-invocable"}

// NearField returns the field that a misspelt key was probably meant to be, with one wrong,
// missing or extra letter, or two in a long key. It returns "" for a correct or unknown
// key.
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

// Meant returns the key that was probably meant as a missing field. It is certain if the
// two differ only in invisible characters or look-alike letters.
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

// seenKey returns a key as people see it, in lower case: without invisible characters, and
// with Latin letters for look-alikes.
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

// keyLookalikes maps Cyrillic and Greek letters to those of the known fields.
var keyLookalikes = strings.NewReplacer("а", "a", "с", "c", "ԁ", "d", "е", "e", "һ", "h", "і", "i", "ӏ", "l", "м", "m", "п", "n", "о", "o", "р", "p", "ѕ", "s", "т", "t", "ս", "u", "ѵ", "v", "у", "y",
	"α", "a", "ο", "o", "ι", "i", "ν", "v", "ρ", "p")

// isForeign reports whether the key has letters, but no Latin ones.
func isForeign(key string) bool {
	return strings.IndexFunc(key, unicode.IsLetter) >= 0 && strings.IndexFunc(key, func(r rune) bool { return unicode.Is(unicode.Latin, r) }) < 0
}
