package typo

import (
	"strings"
	"unicode"

	"github.com/knack-dev/knack/internal/base/display"
)

// knownFields lists the fields of the specification, and fields of clients that knack uses.
var knownFields = []string{"name", "description", "license", "compatibility", "metadata", "allowed-tools", "disable-model-invocation", "user-invocable"}

// Field returns the field that a misspelt key probably means. One letter, or two in a long name,
// may be wrong, missing or extra. It returns "" for a correct or unknown key.
func Field(key string) string {
	key = strings.ToLower(display.CutBytes(strings.TrimSpace(key), 64))
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

// Fold returns a key in lower case as people see it: without invisible characters, and with Latin
// letters instead of look-alikes.
func Fold(key string) string {
	key = strings.ToLower(strings.TrimSpace(key))
	if display.IsASCII(key) {
		return key
	}
	return keyLookalikes.Replace(strings.Map(func(r rune) rune {
		switch {
		case r >= 0xff01 && r <= 0xff5e: // full-width ASCII
			return unicode.ToLower(r - 0xfee0)
		case unicode.IsSpace(r), unicode.Is(unicode.Cf, r), unicode.IsControl(r):
			return -1
		case r == 0x2010 || r == 0x2011 || r == 0x2013 || r == 0x2212:
			return '-'
		}
		return r
	}, key))
}

// keyLookalikes maps Cyrillic, Armenian and Greek letters to the letters of the known fields.
var keyLookalikes = strings.NewReplacer("а", "a", "с", "c", "ԁ", "d", "е", "e", "һ", "h", "і", "i", "ӏ", "l", "м", "m", "п", "n", "о", "o", "р", "p", "ѕ", "s", "т", "t", "ս", "u", "ѵ", "v", "у", "y",
	"α", "a", "ο", "o", "ι", "i", "ν", "v", "ρ", "p")
