package genskills

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
)

// made is the number of made-up words. The descriptions and headings of 10,000 real skills have
// about as many different words, including identifiers.
const made = 40_000

// vocabulary returns the made-up words. Frequent words come first and are short.
var vocabulary = sync.OnceValue(func() []string {
	r := rand.New(rand.NewPCG(1, 2))
	const consonants, vowels = "bcdfghklmnprstvwz", "aeiou"
	seen := make(map[string]bool, made)
	words := make([]string, 0, made)
	for len(words) < made {
		var b strings.Builder
		for range 2 + r.IntN(2+len(words)*3/made) {
			b.WriteByte(consonants[r.IntN(len(consonants))])
			b.WriteByte(vowels[r.IntN(len(vowels))])
			if r.IntN(3) == 0 {
				b.WriteByte(consonants[r.IntN(len(consonants))])
			}
		}
		if w := b.String(); !seen[w] {
			seen[w] = true
			words = append(words, w)
		}
	}
	return words
})

// word draws a word. A third of the words are from small.
func (g maker) word() string {
	if g.Float64() < 0.33 {
		return small[g.IntN(len(small))]
	}
	return g.telling()
}

// telling draws a content word. One in seven is a technical term. The others follow the
// Zipf-Mandelbrot law, by which the word of rank r has the frequency 1/(r+flat).
func (g maker) telling() string {
	if g.Float64() < 0.15 {
		return trade[g.IntN(len(trade))]
	}
	const flat = 10 // no made-up word is in more than half of the skills
	r := flat * (math.Exp(g.Float64()*math.Log((made+flat)/flat)) - 1)
	return vocabulary()[min(int(r), made-1)]
}

// pool returns Markdown prose from which pieces are cut.
var pool = sync.OnceValue(func() string {
	g := maker{rand.New(rand.NewPCG(3, 4))}
	words := func(n int) string {
		all := make([]string, n)
		for i := range all {
			all[i] = g.word()
		}
		return strings.Join(all, " ")
	}
	var b strings.Builder
	for b.Len() < 600_000 {
		switch u := g.Float64(); {
		case u < .24: // about 20 in a SKILL.md of mean size
			fmt.Fprintf(&b, "## %s\n", words(3))
		case u < .40:
			fmt.Fprintf(&b, "- **%s**: %s.\n", g.word(), words(5+g.IntN(14)))
		case u < .46:
			fmt.Fprintf(&b, "```bash\n%s --%s %s\n```\n", g.word(), g.word(), g.word())
		case u < .50:
			fmt.Fprintf(&b, "| %s | %s | %s |\n", g.word(), g.word(), g.word())
		case u < .56:
			b.WriteByte('\n')
		default:
			b.WriteString(g.sentence("", 60+g.IntN(200)) + "\n")
		}
	}
	return b.String()
})

// prose returns n bytes of Markdown, cut at the beginning of a line.
func (g maker) prose(n int) string {
	var b strings.Builder
	for b.Len() < n {
		at := g.IntN(len(pool()) - 1)
		at += strings.IndexByte(pool()[at:], '\n') + 1
		b.WriteString(pool()[at:min(len(pool()), at+n-b.Len())])
	}
	return b.String()
}
