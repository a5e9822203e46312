// Package words has the word tables of a scan. It classifies hosts and paths only by their names,
// and finds the meaning of sentences by words and their order, without a grammar.
package words

import (
	"strings"
	"sync"
)

// Set is a set of words. It is built at its first use, since a server that does not scan starts
// without it.
type Set struct {
	Rows string // the words, with blanks between them
	once sync.Once
	all  map[string]bool
}

// Has reports whether a set has a word.
func (s *Set) Has(word string) bool {
	s.once.Do(func() {
		s.all = map[string]bool{}
		for w := range strings.FieldsSeq(s.Rows) {
			s.all[w] = true
		}
	})
	return s.all[word]
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

// IsFlag reports whether a command's word is one of the options, as a letter or as a long word.
func IsFlag(word, letters, long string) bool {
	if name, ok := strings.CutPrefix(word, "--"); ok {
		return name != "" && Has(long, name)
	}
	name, ok := strings.CutPrefix(word, "-")
	return ok && letters != "" && strings.ContainsAny(name, letters)
}
