package skill

// SuggestName proposes a valid name for any text: its letters and digits in lower
// case, joined by single hyphens. Where the text has none of them it is
// "my-skill".
func SuggestName(s string) string { return suggestName(s) }
