package scan

import "strings"

// NamesCredentials reports whether a path is one that holds credentials, such as ~/.ssh/id_ed25519.
func NamesCredentials(path string) bool { return credentialIn(path) != "" }

// MaskSecrets replaces each character of a secret by a star, but for the first ones and ends of
// lines. What stands behind the secret keeps its line and column.
func MaskSecrets(text string) string {
	found := secretsIn(text)
	if len(found) == 0 {
		return text
	}
	var b strings.Builder
	at := 0
	for _, f := range found {
		from := max(f.body+shown, at)
		b.WriteString(text[at:from])
		for _, r := range text[from:max(f.to, from)] {
			if r != '\n' && r != '\r' {
				r = '*'
			}
			b.WriteRune(r)
		}
		at = max(f.to, from)
	}
	b.WriteString(text[at:])
	return b.String()
}
