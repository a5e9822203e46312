package trial

import "github.com/knack-dev/knack/eval"

// rankings is the JSON form of --no-model.
type rankings struct {
	Skills []rankedSkill `json:"skills"`
	Within int           `json:"within"` // the number of places that count
	Found  eval.Rate     `json:"found"`  // queries whose skill is in one of them
	First  eval.Rate     `json:"first"`  // queries whose skill is in the first
	Min    float64       `json:"min"`
}

type rankedSkill struct {
	Name    string        `json:"name"`
	URI     string        `json:"uri"`
	File    string        `json:"file"` // of the queries
	Among   int           `json:"among"`
	Found   eval.Rate     `json:"found"`
	Queries []rankedQuery `json:"queries"`
}

type rankedQuery struct {
	Query         string   `json:"query"`
	ShouldTrigger bool     `json:"should_trigger"`
	Line          int      `json:"line"`
	Rank          int      `json:"rank"` // 0 if the search does not find the skill
	Top           []string `json:"top"`  // the first skills that the search finds
}

func rankedJSON(all []*ranking, least float64) rankings {
	out := rankings{Skills: []rankedSkill{}, Within: eval.First, Found: total(all), First: first(all), Min: least}
	for _, r := range all {
		s := rankedSkill{Name: r.called, URI: r.URI().String(), File: r.File, Among: r.among, Found: r.recall()}
		for _, q := range r.queries {
			s.Queries = append(s.Queries, rankedQuery{q.Query, q.ShouldTrigger, q.Line, q.Rank, r.names(q.Top)})
		}
		out.Skills = append(out.Skills, s)
	}
	return out
}
