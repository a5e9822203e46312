package evalcmd

import (
	"cmp"

	"github.com/knack-dev/knack/internal/llm/eval"
	"github.com/knack-dev/knack/internal/llm/model"
	"github.com/knack-dev/knack/tool"
)

// rankings is the JSON form of the results with --no-model.
type rankings struct {
	Skills []rankedSkill `json:"skills"`
	Within int           `json:"within"` // the number of places that count
	Found  eval.Rate     `json:"found"`  // share of queries that find the skill
	First  eval.Rate     `json:"first"`  // share of queries that rank the skill first
	Min    float64       `json:"min"`
}

type rankedSkill struct {
	Name    string        `json:"name"`
	URI     string        `json:"uri"`
	File    string        `json:"file"` // the file of the queries
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
	out := rankings{Skills: []rankedSkill{}, Within: eval.First, Found: total(all), First: rankedFirst(all), Min: least}
	for _, r := range all {
		s := rankedSkill{Name: r.subject.called, URI: r.subject.entry.URI().String(), File: r.subject.File, Among: r.among, Found: r.recall()}
		for _, q := range r.queries {
			s.Queries = append(s.Queries, rankedQuery{q.Query, q.ShouldTrigger, q.Line, q.Rank, r.names(q.Top)})
		}
		out.Skills = append(out.Skills, s)
	}
	return out
}

// answers is the JSON form of the results of models.
type answers struct {
	Models []answeredModel `json:"models"`
	Set    string          `json:"set"` // the set of tools
	Runs   int             `json:"runs"`
	Min    float64         `json:"min"`
}

type answeredModel struct {
	Model  string          `json:"model"`
	At     string          `json:"at"` // the endpoint's address
	Wire   model.Wire      `json:"wire"`
	Skills []answeredSkill `json:"skills"`
	figures
}

type answeredSkill struct {
	Name    string          `json:"name"`
	URI     string          `json:"uri"`
	File    string          `json:"file"` // the file of the queries
	Among   int             `json:"among"`
	Listed  tool.Presence   `json:"listed"`
	Queries []answeredQuery `json:"queries"`
	figures
}

type answeredQuery struct {
	Query         string    `json:"query"`
	ShouldTrigger bool      `json:"should_trigger"`
	Line          int       `json:"line"`
	Runs          int       `json:"runs"`
	Triggered     int       `json:"triggered"`
	Passed        bool      `json:"passed"`
	Instead       []instead `json:"instead"`
}

func answeredJSON(all []*modelResult, c *evaluation) answers {
	out := answers{Models: []answeredModel{}, Set: c.toolSet, Runs: c.runs, Min: c.least}
	for _, a := range all {
		m := answeredModel{Model: a.end.Model, At: a.end.URL, Wire: cmp.Or(a.end.Wire, model.OpenAI), Skills: []answeredSkill{}, figures: a.figures()}
		for _, one := range a.skills {
			s := answeredSkill{Name: one.subject.called, URI: one.subject.entry.URI().String(), File: one.subject.File, Among: one.among, Listed: one.presence, figures: one.figures()}
			for _, t := range one.tried {
				rate := t.Triggered(one.subject.entry)
				s.Queries = append(s.Queries, answeredQuery{t.Query, t.ShouldTrigger, t.Line, rate.Of, rate.Hits, rate.Of > 0 && t.Passed(one.subject.entry), one.instead(t)})
			}
			m.Skills = append(m.Skills, s)
		}
		out.Models = append(out.Models, m)
	}
	return out
}
