package selection

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/check"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
)

// The words that a shell offers come from skills, which a stranger may have written. A shell can put a
// word into the command line as it is: bash inserts what several words have in common unquoted, and
// the next completion evaluates the line. So a word with a character that may mean something to a
// shell is not offered. A user can still type it.

const (
	// Patience is how long a shell waits for words, whatever the disks do.
	Patience = time.Second
	// RootPatience is how long it waits for a root, before it gets the words of the others.
	RootPatience = 700 * time.Millisecond
	// most is how many words are offered at once. Of more, those that begin as the user typed
	// are offered: a shell reads them one by one.
	most = 500
	// wide is the width of a description.
	wide = 60
)

// InTime returns what find does, or false if that takes longer than [Patience].
func InTime[T any](ctx context.Context, find func(context.Context) T) (result T, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	found := make(chan T, 1)
	go func() { found <- find(ctx) }()
	select {
	case result = <-found:
		return result, true
	case <-ctx.Done():
		return result, false
	}
}

// skillWords returns the names that load the skills of a view, and the folders of those that are
// skipped.
func skillWords(v catalog.View, typed string) []string {
	var l list
	for _, e := range v.Entries {
		if e.Status == catalog.Skipped {
			l.add(e.Folder(), "skipped; knack doctor says why")
		} else {
			l.add(v.Called(e), e.Description)
		}
	}
	return l.offered(typed)
}

// fileWords returns the files of a skill. A skill may have any number; some are enough.
func fileWords(ctx context.Context, e *catalog.Entry, typed string) []string {
	files, _, _ := e.List(ctx, 4*most) // with an error, those that were found
	var l list
	for _, f := range files {
		l.add(f.Path, "")
	}
	return l.offered(typed)
}

// Rules returns the rules of check.
func Rules() []string {
	var l list
	for _, r := range check.Rules {
		l.add(string(r.ID), r.Title)
	}
	return l.offered("")
}

// list collects words in the form that the scripts read: a word, a tab and its description.
type list struct {
	words []string
	seen  map[string]bool
}

// add adds a word unless it is there, or could do harm in a command line.
func (l *list) add(word, description string) {
	if l.seen[word] || !isPlain(word) {
		return
	}
	if l.seen == nil {
		l.seen = map[string]bool{}
	}
	l.seen[word] = true
	if description = firstSentence(description); description != "" {
		word += "\t" + description
	}
	l.words = append(l.words, word)
}

func (l *list) offered(typed string) []string {
	words := l.words
	if len(words) > most {
		words = slices.DeleteFunc(words, func(w string) bool { return !strings.HasPrefix(w, typed) })
	}
	return words[:min(len(words), most)]
}

// isPlain reports whether a word is only letters, digits and what no shell reads as anything
// else within a word, or would quote at once, as a space.
func isPlain(word string) bool {
	if console.OneLine(word) != word || strings.HasPrefix(word, "_activeHelp_") { // which the scripts print
		return false
	}
	for i, r := range word {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_':
		case i == 0 || !strings.ContainsRune("-.,:/@+ ", r) && !unicode.IsMark(r):
			return false
		}
	}
	return word != ""
}

// firstSentence returns the beginning of a description, in one line.
func firstSentence(description string) string {
	s := console.OneLine(description)
	for i, r := range s {
		if strings.ContainsRune(".!?", r) && strings.HasPrefix(s[i+1:], " ") {
			s = s[:i+1]
			break
		}
	}
	return display.Cut(s, wide)
}
