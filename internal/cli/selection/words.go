package selection

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/check"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
)

// Completion words come from skills, which are untrusted. A shell may insert a word unquoted: bash
// inserts the common prefix of several words unchanged, and the next completion evaluates the line.
// Words with a character that is special to a shell are therefore not offered. A user can still
// type them.

// The bounds of completion on slow disks. Tests raise both, for loaded machines.
var (
	// Patience bounds how long a shell waits for completion words.
	Patience = time.Second
	// RootPatience bounds how long completion waits for one root. After that, it offers the words
	// of the other roots.
	RootPatience = 700 * time.Millisecond
)

const (
	// most is the maximum number of words to offer. If there are more, only words with the typed
	// prefix are offered, since a shell reads words one by one.
	most = 500
	// wide is the maximum width of a description.
	wide = 60
)

// InTime returns the result of find, or false if find takes longer than [Patience].
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

// skillWords returns the names that load the skills of a view, and the folders of skipped skills.
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

// fileWords returns completion words for the first files of a skill.
func fileWords(ctx context.Context, e *catalog.Entry, typed string) []string {
	files, _, _ := e.List(ctx, 4*most) // an error still returns the files found so far
	var l list
	for _, f := range files {
		l.add(f.Path, "")
	}
	return l.offered(typed)
}

// Rules returns the completion words for the rules of check.
func Rules() []string {
	var l list
	for _, r := range check.Rules {
		l.add(string(r.ID), r.Title)
	}
	return l.offered("")
}

// Offered returns the completion words for words, which yields pairs of a word and its description.
// typed is the beginning of the word on the command line.
func Offered(words iter.Seq2[string, string], typed string) []string {
	var l list
	for word, description := range words {
		l.add(word, description)
	}
	return l.offered(typed)
}

// list collects words in the format of the completion scripts: a word, a tab and a description.
type list struct {
	words []string
	seen  map[string]bool
}

// add adds a word unless it is a duplicate or unsafe in a command line.
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

// isPlain reports whether a word is safe in a command line. A safe word has only letters, digits,
// and characters that no shell treats as special or that every shell quotes, such as a space.
func isPlain(word string) bool {
	if console.OneLine(word) != word || strings.HasPrefix(word, "_activeHelp_") { // the scripts would print it
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

// firstSentence returns the beginning of a description as one line.
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
