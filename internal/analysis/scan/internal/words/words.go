// Package words contains the word tables of a scan. It classifies hosts and paths only by their
// names. It recognises the meaning of a sentence by its words and their order, without a grammar.
package words

import (
	"strings"
	"sync"
)

// Set is a set of words. It is built at its first use, so that a server that does not scan never
// builds it.
type Set struct {
	Rows string // the words, separated by spaces
	once sync.Once
	all  map[string]bool
}

// Has reports whether a set contains a word.
func (s *Set) Has(word string) bool {
	s.once.Do(func() {
		s.all = map[string]bool{}
		for w := range strings.FieldsSeq(s.Rows) {
			s.all[w] = true
		}
	})
	return s.all[word]
}

// Has reports whether a row of words contains a word.
func Has(row, word string) bool {
	for w := range strings.FieldsSeq(row) {
		if w == word {
			return true
		}
	}
	return false
}

// IsFlag reports whether a word of a command is one of the given options. letters are the short
// options, and long the names of the long ones.
func IsFlag(word, letters, long string) bool {
	if name, ok := strings.CutPrefix(word, "--"); ok {
		return name != "" && Has(long, name)
	}
	name, ok := strings.CutPrefix(word, "-")
	return ok && letters != "" && strings.ContainsAny(name, letters)
}
