package evalcmd

import (
	"context"
	"strings"
	"sync/atomic"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/llm/eval"
	"github.com/knack-dev/knack/tool"
)

// ranking has the rank of a skill in the search, for each of its queries.
type ranking struct {
	subject *subject
	among   int // number of skills that a search can find
	queries []eval.Ranked
	view    catalog.View
}

// recall returns the share of the skill's queries that have it among the first results.
func (r *ranking) recall() (rate eval.Rate) {
	for _, q := range r.queries {
		if q.ShouldTrigger {
			rate.Add(q.Passed())
		}
	}
	return rate
}

func total(all []*ranking) (rate eval.Rate) {
	for _, r := range all {
		one := r.recall()
		rate.Hits, rate.Of = rate.Hits+one.Hits, rate.Of+one.Of
	}
	return rate
}

// rankedFirst returns the share of the queries whose skill ranks first.
func rankedFirst(all []*ranking) (rate eval.Rate) {
	for _, r := range all {
		for _, q := range r.queries {
			if q.ShouldTrigger {
				rate.Add(q.Rank == 1)
			}
		}
	}
	return rate
}

// rank searches with every prompt, and returns the ranks of the skills.
func (c *evaluation) rank(ctx context.Context, host *tool.Host, whole catalog.View, subjects []*subject) (r command.Result, passed eval.Rate, err error) {
	all, err := c.rankings(ctx, host, whole, subjects)
	if err != nil {
		return nil, passed, command.RunError("", "the search was interrupted: %w", err)
	}
	return command.Forms{Value: rankedJSON(all, c.least), Text: func(env *console.Env) { printRanked(env.Out(), all) }}, total(all), nil
}

func (c *evaluation) rankings(ctx context.Context, host *tool.Host, whole catalog.View, subjects []*subject) (all []*ranking, err error) {
	var done atomic.Int64
	defer console.ShowProgress(c.env, console.Step{What: "searching", Count: func() (int, int) { return int(done.Load()), len(subjects) }, Unit: "skills"})()
	for _, s := range subjects {
		ctx := c.within(ctx, whole, s.entry)
		r := &ranking{subject: s}
		if r.view, err = host.Catalog.View(ctx); err != nil {
			return nil, err
		}
		found, err := r.view.Search(ctx, catalog.Query{Limit: 1})
		if err != nil {
			return nil, err
		}
		r.among = found.Total
		if r.queries, err = eval.Rank(ctx, r.view, s.entry, s.Cases); err != nil {
			return nil, err
		}
		all = append(all, r)
		done.Add(1)
	}
	return all, nil
}

// widestQuery is the width of a query, in columns, if the output is not a terminal.
const widestQuery = 100

// shownQuery returns a query as one line.
func shownQuery(p *console.Printer, query string) string {
	query = console.OneLine(query)
	if p.Room(0) == 0 {
		query = display.CutColumns(query, widestQuery)
	}
	return query
}

func printRanked(p *console.Printer, all []*ranking) {
	for _, r := range all {
		p.Line("%s: %s in %s, among %s", console.Bold.Of(r.subject.called), display.Count(len(r.queries), "prompt"), r.subject.File, display.Count(r.among, "skill"))
		var others []eval.Ranked
		for _, q := range r.queries {
			if !q.ShouldTrigger {
				others = append(others, q)
				continue
			}
			r.print(p, q)
		}
		if len(others) > 0 {
			p.Line("  should not trigger, and does not count:")
		}
		for _, q := range others {
			r.print(p, q)
		}
		if rate := r.recall(); rate.Of > 0 {
			p.Line("  among the first %d: %s", eval.First, rate)
		}
	}
	if len(all) > 1 {
		p.Line("%s: %s among the first %d, %d the first", console.Bold.Of(display.Count(len(all), "skill")), total(all), eval.First, rankedFirst(all).Hits)
	}
}

func (r *ranking) print(p *console.Printer, q eval.Ranked) {
	place := console.Style("").Of("none")
	if q.Rank > 0 {
		place = console.Style("").Of(strings.Repeat(" ", max(0, 4-len(display.Thousands(q.Rank)))) + display.Thousands(q.Rank))
	}
	query := shownQuery(p, q.Query)
	if q.Passed() {
		p.Item(6, "  %s  %s", place, query)
		return
	}
	p.Item(6, "  %s  %s", place, console.Bold.Of(query))
	if names := r.names(q.Top); len(names) > 0 {
		p.Item(2, "        %s", console.Dim.Of("first: "+strings.Join(names, ", ")))
	}
}

func (r *ranking) names(all []*catalog.Entry) []string {
	names := make([]string, len(all))
	for i, e := range all {
		names[i] = r.view.Called(e)
	}
	return names
}
