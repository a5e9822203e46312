// Package knownitem measures a search with queries that are each meant to find one skill. It
// reports whether the skill comes first or among the first five. README.md describes how the
// queries were made.
package knownitem

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/knack-dev/knack/catalog"
)

//go:embed queries.tsv
var queries string

//go:embed tasks.tsv
var tasks string

//go:embed bodies.tsv
var bodies string

//go:embed fresh.tsv
var fresh string

// Question is a query with the folder of the skill that it is meant to find. The folder is a path
// in the corpus.
type Question struct {
	Skill, Query string
	Also         []string // folders of other skills that serve as well
}

// Questions returns two halves of the questions: the odd lines, on which a ranking may be tuned,
// and the even lines, which only measure.
func Questions() (tune, report []Question) { return halves(queries) }

// Tasks returns 200 later questions about other skills, in the same halves.
func Tasks() (tune, report []Question) { return halves(tasks) }

// Bodies returns 100 questions that were written from the text below the description.
func Bodies() (tune, report []Question) { return halves(bodies) }

// Fresh returns 98 questions about the remaining skills. All of them are for measuring only.
func Fresh() []Question {
	odd, even := halves(fresh)
	return slices.Concat(odd, even)
}

func halves(table string) (tune, report []Question) {
	i := 0
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		q := Question{Skill: cells[0], Query: cells[1]}
		if len(cells) > 2 {
			q.Also = strings.Split(cells[2], ",")
		}
		switch {
		case i == 0: // the header of the table
		case i%2 == 1:
			tune = append(tune, q)
		default:
			report = append(report, q)
		}
		i++
	}
	return tune, report
}

// Named parses the questions of a table. Each line has a query, a tab, and the names of the
// suitable skills, separated by commas.
func Named(v catalog.View, table string) (all []Question, err error) {
	paths := map[string]string{}
	for _, e := range v.Entries {
		paths[e.Name] = e.Path
	}
	number := 0
	for line := range strings.Lines(table) {
		number++
		query, names, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok {
			return nil, fmt.Errorf("line %d: no tab between the query and the names", number)
		}
		q := Question{Query: query}
		for name := range strings.SplitSeq(names, ",") {
			path, ok := paths[strings.TrimSpace(name)]
			if !ok {
				return nil, fmt.Errorf("line %d: the corpus has no skill %q", number, name)
			}
			q.Also = append(q.Also, path)
		}
		q.Skill, q.Also = q.Also[0], q.Also[1:]
		all = append(all, q)
	}
	return all, nil
}

// Score is the quality of a search.
type Score struct {
	Recall  float64 // share of questions whose skill is among the first five
	Rank    float64 // the mean of 1/rank within the first 100
	Results float64 // the mean number of skills in an answer
}

// String formats the score.
func (s Score) String() string {
	return fmt.Sprintf("recall@5 %.3f, MRR %.3f, %.1f results", s.Recall, s.Rank, s.Results)
}

// Measure measures a search with the given questions. ask returns the names of the skills found,
// the best first. A skill with the same name counts too, since some skills are in two repositories.
// If several skills are right, the best rank counts.
func Measure(v catalog.View, all []Question, ask func(query string) ([]string, error)) (s Score, err error) {
	named := make(map[string]string, len(v.Entries))
	for _, e := range v.Entries {
		named[e.Path] = e.Name
	}
	for _, q := range all {
		var want []string
		for _, path := range append([]string{q.Skill}, q.Also...) {
			name, ok := named[path]
			if !ok {
				return Score{}, fmt.Errorf("the corpus has no %s", path)
			}
			want = append(want, name)
		}
		names, err := ask(q.Query)
		if err != nil {
			return Score{}, err
		}
		s.Results += float64(len(names))
		for i, name := range names[:min(100, len(names))] {
			if !slices.Contains(want, name) {
				continue
			}
			if i < 5 {
				s.Recall++
			}
			s.Rank += 1 / float64(i+1)
			break
		}
	}
	n := float64(len(all))
	return Score{s.Recall / n, s.Rank / n, s.Results / n}, nil
}

// Mistyped returns the questions with one typing error each, in the longest word of at least five
// letters. The errors take turns: two letters swapped, one left out, one replaced, one added.
// Questions without such a word are left out.
func Mistyped(all []Question) (out []Question) {
	for i, q := range all {
		words := strings.Fields(q.Query)
		longest := 0
		for w := range words {
			if len(words[w]) > len(words[longest]) {
				longest = w
			}
		}
		w := words[longest]
		if len(w) < 5 {
			continue
		}
		// The wrong letter is neither the first nor the last one. Its position changes from line to
		// line.
		at := 1 + i%(len(w)-2)
		switch i % 4 {
		case 0:
			w = w[:at] + w[at+1:at+2] + w[at:at+1] + w[at+2:]
		case 1:
			w = w[:at] + w[at+1:]
		case 2:
			w = w[:at] + "x" + w[at+1:]
		case 3:
			w = w[:at] + "e" + w[at:]
		}
		words[longest] = w
		out = append(out, Question{q.Skill, strings.Join(words, " "), q.Also})
	}
	return out
}
