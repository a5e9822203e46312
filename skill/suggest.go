package skill

// SuggestName proposes a valid name for any text: its words in lower case, without
// the marks on letters, joined by single hyphens. A word that cannot be written
// with a-z and 0-9 is left out; where none is left it is "my-skill".
func SuggestName(s string) string { return suggestName(s) }
