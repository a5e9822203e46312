package scan

import (
	"strings"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/secrets"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/words"
)

// NamesCredentials reports whether a path is a file with credentials, such as ~/.ssh/id_ed25519.
func NamesCredentials(path string) bool { return words.Credential(path) }

// MaskSecrets replaces the characters of each secret with asterisks, except its first characters
// and line ends. Text after the secret keeps its line and column.
func MaskSecrets(text string) string { return secrets.Mask(text) }

// maxLine limits the bytes that lineOf returns before a range and after it.
const maxLine = 4 << 10

// lineOf returns the lines of a range, and the lines that backslashes at line ends join to them.
func lineOf(text string, from, to int) string {
	begin, end := from, max(from, to)
	for {
		begin = strings.LastIndexByte(text[:begin], '\n') + 1
		if from-begin > maxLine || !strings.HasSuffix(strings.TrimRight(text[:begin], "\r\n"), "\\") {
			break
		}
		begin = len(strings.TrimRight(text[:begin], "\r\n"))
	}
	for end < len(text) && end-to <= maxLine && (text[end] != '\n' || strings.HasSuffix(strings.TrimRight(text[:end], "\r"), "\\")) {
		end++
	}
	return text[max(begin, from-maxLine):end]
}
