package web

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
)

// search returns all skills that match a query, ranked as find_skills ranks them, including those
// that only people may invoke. Copies, unlisted and skipped skills whose names match follow,
// unranked. Without a query it returns all skills, first the skills that models see.
func search(ctx context.Context, v catalog.View, query string) ([]*catalog.Entry, error) {
	if query == "" {
		all := append(make([]*catalog.Entry, 0, len(v.Entries)), v.Listed...)
		for _, e := range v.Entries {
			if !e.ModelVisible() {
				all = append(all, e)
			}
		}
		return all, nil
	}
	ranked, err := v.Search(ctx, catalog.Query{Text: query, People: true})
	if err != nil {
		return nil, err
	}
	all := make([]*catalog.Entry, 0, len(ranked.Hits))
	for _, h := range ranked.Hits {
		all = append(all, h.Entry)
	}
	words := strings.Fields(string(skill.KeyOf(query)))
	for _, e := range v.Entries {
		if (e.Status == catalog.Copy || e.Status == catalog.Unlisted || e.Status == catalog.Skipped) && holdsAll(words, string(e.Key), e.Folder()) {
			all = append(all, e)
		}
	}
	return all, nil
}

// indexTime is how long a page waits for the search index. After a change the index is ready
// within milliseconds. After the start, or if everything has changed, reading the headings of
// every skill takes longer than a page should.
const indexTime = 10 * time.Millisecond

// foundSoon is [search] for a page, which waits at most indexTime for an index that is still being
// built. After that it returns skills with the words in their names, then skills with the words in
// their descriptions. The result comes from the same snapshot as the rest of the page. It is not
// ranked, and the page must say so.
func foundSoon(ctx context.Context, v catalog.View, query string) (all []*catalog.Entry, ranked bool, err error) {
	soon := ctx
	if !v.Indexed() { // with an index there is nothing to wait for, but a busy machine could exceed the timeout
		var cancel context.CancelFunc
		soon, cancel = context.WithTimeout(ctx, indexTime)
		defer cancel()
	}
	all, err = search(soon, v, query)
	if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
		return all, err == nil, err
	}
	words := strings.Fields(string(skill.KeyOf(query)))
	var described []*catalog.Entry
	everything, err := search(ctx, v, "") // the skills that models see come first
	if err != nil {
		return nil, false, err
	}
	for _, e := range everything {
		switch {
		case holdsAll(words, string(e.Key), e.Folder()):
			all = append(all, e)
		case e.Status != catalog.Copy && e.Status != catalog.Unlisted && e.Status != catalog.Skipped && holdsAll(words, string(e.Key), e.Folder(), e.Description):
			described = append(described, e)
		}
	}
	return append(all, described...), false, nil
}

// holdsAll reports whether each word occurs in at least one of the texts, ignoring
// case. The words must be in lower case. Without words it returns false.
func holdsAll(words []string, texts ...string) bool {
	for _, w := range words {
		if !slices.ContainsFunc(texts, func(text string) bool { return containsFold(text, w) }) {
			return false
		}
	}
	return len(words) > 0
}

// containsFold is strings.Contains(strings.ToLower(text), word) without a copy of an
// ASCII text. A page calls it for every description.
func containsFold(text, word string) bool {
	if word == "" {
		return true
	}
	last := len(text) - len(word)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c >= utf8.RuneSelf:
			return strings.Contains(strings.ToLower(text), word)
		case i <= last && lower(c) == word[0] && beginsFold(text[i:], word):
			return true
		}
	}
	return false
}

// beginsFold reports whether text begins with word, ignoring case after the first byte.
// text must be at least as long as word.
func beginsFold(text, word string) bool {
	for i := 1; i < len(word); i++ {
		if lower(text[i]) != word[i] {
			return false
		}
	}
	return true
}

// lower returns an ASCII letter in lower case and any other byte unchanged.
func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}
