// Package words has sets of words, for the tables of a scan.
package words

import (
	"strings"
	"sync"
)

// Set returns the set of the words of rows. It is made with its first use, since a server that does
// not scan starts without it.
func Set(rows ...string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		all := map[string]bool{}
		for _, row := range rows {
			for word := range strings.FieldsSeq(row) {
				all[word] = true
			}
		}
		return all
	})
}

// Has reports whether a row has a word.
func Has(row, word string) bool {
	for w := range strings.FieldsSeq(row) {
		if w == word {
			return true
		}
	}
	return false
}

// IsFlag reports whether a word of a command is one of the options: as a letter, or as a long word.
func IsFlag(word, letters, long string) bool {
	if name, ok := strings.CutPrefix(word, "--"); ok {
		return name != "" && Has(long, name)
	}
	name, ok := strings.CutPrefix(word, "-")
	return ok && letters != "" && strings.ContainsAny(name, letters)
}
