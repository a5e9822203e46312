package listing

import (
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/search"
)

// PrintFound prints the results of a search, the best first. With explain, it also prints the
// matches.
func PrintFound(p *console.Printer, v catalog.View, found catalog.Found, explain bool) {
	width := 0
	for _, h := range found.Hits {
		width = max(width, NameWidth(p, v.Called(h.Entry)))
	}
	for _, h := range found.Hits {
		Skill(p, h.Entry, v.Called(h.Entry), width)
		if explain {
			p.Line("      %s", console.Dim.Of(reasons(h.Matches)))
		}
	}
	if left := found.Total - len(found.Hits); left > 0 {
		p.Line("and %s; -n shows more", display.Count(left, "other skill"))
	}
}

// reasons describes in which fields each word was found, and how: "deploy in name (deployment,
// another ending), description".
func reasons(all []search.Match) string {
	var words []string
	for i, m := range all {
		where := m.Field
		switch m.How {
		case "stem":
			where += " (" + m.Term + ", another ending)"
		case "joined":
			where += " (as one word)"
		case "synonym":
			where += " (" + m.Term + ", another way to write it)"
		case "prefix":
			where += " (" + m.Term + ", which begins so)"
		case "typo":
			where += " (" + m.Term + ", spelt like it)"
		}
		if i > 0 && all[i-1].Word == m.Word {
			words[len(words)-1] += ", " + where
			continue
		}
		words = append(words, m.Word+" in "+where)
	}
	return strings.Join(words, "; ")
}
