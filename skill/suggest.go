package skill

import (
	"strings"
	"unicode/utf8"
)

// SuggestName proposes a valid name for any text: its words in lower case, without
// the marks on letters, joined by single hyphens. A word that cannot be written
// with a-z and 0-9 is left out; where none is left it is "my-skill".
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
