package web

import (
	"cmp"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/doctor"
	"github.com/knack-dev/knack/internal/analysis/judgement"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/web/internal/checks"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool"
)

var (
	states = []judgement.State{judgement.Fine, judgement.Problems, judgement.Shadowed, judgement.Copied, judgement.Unlisted, judgement.Skipped, judgement.Held, judgement.NotJudged}
	scopes = []skill.Scope{skill.ScopeProject, skill.ScopeGlobal, skill.ScopeBuiltin}
)

// filter is the set of filters of a list, and its order.
type filter struct {
	Query, Scope, Root string
	State              judgement.State
	Collection, Tag    string
	Rule               skill.RuleID // of a finding
	Published          string       // "no" for skills that the Skills extension does not publish
	Used               string       // "never" for skills that no agent has used
	Cut, Left          string       // a client whose list cuts the description of the skill, or leaves the skill out
	Sort               string
	All                string // the facet whose values are all shown
	Page               int
}

// filterOf reads the filters of a page's address. A value that no skill has matches no skill.
func filterOf(q url.Values, query string) filter {
	get := func(key string) string { return display.CutBytes(q.Get(key), display.EchoLimit) }
	f := filter{
		Query: query, Scope: get("scope"), Root: get("root"), State: judgement.State(get("state")), Collection: get("collection"), Tag: get("tag"),
		Rule: skill.RuleID(cmp.Or(get("rule"), get("found"))), Published: get("published"), Used: get("used"), Cut: get("cut"), Left: get("left"),
		Sort: get("sort"), All: get("all"), Page: 1,
	}
	if !slices.ContainsFunc(orders, func(o order) bool { return o.key == f.Sort }) {
		f.Sort = ""
	}
	if n, err := strconv.Atoi(q.Get("page")); err == nil && n > 0 {
		f.Page = n
	}
	return f
}

// Hidden returns the parts of the filter that a search preserves, as fields of its form.
func (f filter) Hidden() [][2]string {
	return slices.DeleteFunc([][2]string{
		{"scope", f.Scope}, {"root", f.Root}, {"state", string(f.State)}, {"collection", f.Collection}, {"tag", f.Tag}, {"rule", string(f.Rule)}, {"published", f.Published},
		{"used", f.Used}, {"cut", f.Cut}, {"left", f.Left}, {"sort", f.Sort}, {"all", f.All},
	}, func(field [2]string) bool { return field[1] == "" })
}

// On returns the number of active filters, without the query.
func (f filter) On() int {
	f.Sort, f.All = "", ""
	return len(f.Hidden())
}

// href returns the address of the list with this filter.
func (f filter) href() string {
	q := url.Values{}
	for _, field := range f.Hidden() {
		q.Set(field[0], field[1])
	}
	if f.Query != "" {
		q.Set("q", f.Query)
	}
	if f.Page > 1 {
		q.Set("page", strconv.Itoa(f.Page))
	}
	if len(q) == 0 {
		return "/"
	}
	return "/?" + q.Encode()
}

// choice is one value of a filter, or one order of a list.
type choice struct {
	Label string
	Href  string
	Count int
	Open  bool // the count may still grow
	On    bool
}

// facet is one filter with its values.
type facet struct {
	Title   string
	Choices []choice
	More    []choice // further values, which a page shows on request
	Rest    int      // number of values in neither list
	Open    bool     // all values were requested
	AllHref string   // shows every value, if some are in neither list
}

// The filters that have facets, and one for all others.
const (
	byState = iota
	byScope
	byRoot
	byCollection
	byTag
	byOther
)

// filterResult is the result of a filter. kept has the skills that pass it. n[facet][i] is the
// number of skills that the list would have with value i of the facet and all other filters.
type filterResult struct {
	entries []*catalog.Entry
	n       [byOther][]int
}

// tally applies a filter. It examines every skill, so it compares numbers instead of strings.
func (f filter) tally(all []*catalog.Entry, t *doctor.Totals, sh *shelf) filterResult {
	var out filterResult
	var want [byOther]int
	for facet, value := range [byOther]string{string(f.State), f.Scope, f.Root, f.Collection, f.Tag} {
		out.n[facet] = make([]int, len(sh.values[facet]))
		if want[facet] = anyValue; value != "" {
			if want[facet] = slices.Index(sh.values[facet], value); want[facet] < 0 {
				want[facet] = noValue
			}
		}
	}
	ofFaults := f.Rule != "" || f.Published != "" // a list of faults has unlisted skills too
	faulty := f.faults(t)
	unlisted := slices.Index(sh.values[byState], string(judgement.Unlisted))
	for _, e := range all {
		traits := sh.traits[e]
		values := traits.values
		values[byState] = stateNumber(checks.StateOf(e, t.Summaries[e]))
		misses, at := 0, byOther
		if ofFaults && !faulty[e] {
			misses++
		}
		for facet, value := range values {
			switch {
			case want[facet] == anyValue && (facet != byState || value != unlisted || ofFaults), want[facet] == value:
			case facet == byTag && want[facet] >= 0 && slices.Contains(traits.tags, want[facet]):
			default:
				misses, at = misses+1, facet
			}
		}
		if misses > 1 {
			continue
		}
		for facet, value := range values {
			if value >= 0 && (misses == 0 || at == facet) {
				out.n[facet][value]++
			}
		}
		if misses == 0 || at == byTag {
			for _, tag := range traits.tags {
				out.n[byTag][tag]++
			}
		}
		if misses == 0 {
			out.entries = append(out.entries, e)
		}
	}
	return out
}

// Special numbers of a value: anyValue turns a filter off, and noValue selects nothing, because no
// skill has it. The number of a skill without a value is -1.
const (
	anyValue = -2
	noValue  = -3
)

// stateNumber returns the index of a state in states, or -1 if the state is not known yet.
func stateNumber(state judgement.State) int { return slices.Index(states, state) }

// toggle returns the choice of one value of a filter. It applies set to a copy of the filter.
// Choosing the active value again removes it.
func (f filter) toggle(value string, n int, on string, set func(*filter, string)) choice {
	c := choice{Label: value, Count: n, On: value == on}
	g := f
	g.Page = 1
	if set(&g, value); c.On {
		set(&g, "")
	}
	c.Href = g.href()
	return c
}

// Limits of the values that one facet shows, initially and on request.
const (
	facetRows = 8
	facetMore = 20
	facetAll  = 1000 // if all are requested
)

// facets returns the filters of a list. It omits a filter without a choice.
func (f filter) facets(t *doctor.Totals, by filterResult, sh *shelf) (out []facet) {
	state := facet{Title: "Health"}
	for i, w := range states {
		c := f.toggle(string(w), by.n[byState][i], string(f.State), func(g *filter, value string) { g.State = judgement.State(value) })
		if (w == judgement.Copied || w == judgement.Unlisted || w == judgement.Held || w == judgement.NotJudged) && c.Count == 0 && !c.On {
			continue // few servers have copies or an excluded root, or hold skills back
		}
		c.Open = !t.Complete() && (w == judgement.Fine || w == judgement.Problems)
		state.Choices = append(state.Choices, c)
	}
	out = append(out, state)
	add := func(title string, at int, on string, set func(*filter, string)) {
		var values []int // values by their numbers
		for i, n := range by.n[at] {
			if n > 0 || sh.values[at][i] == on {
				values = append(values, i)
			}
		}
		if at == byCollection || at == byTag {
			weight := func(i int) int {
				if sh.values[at][i] == on {
					return math.MaxInt
				}
				return by.n[at][i]
			}
			slices.SortStableFunc(values, func(a, b int) int { return cmp.Compare(weight(b), weight(a)) })
		}
		if len(values) < 2 && on == "" {
			return
		}
		most := facetRows
		if len(values) == most+1 { // one more takes no more room than the word "more"
			most++
		}
		w, more := facet{Title: title, Open: f.All == strings.ToLower(title)}, facetMore
		if w.Open {
			more = facetAll
		}
		if w.Rest = len(values) - most - more; w.Rest > 0 && !w.Open {
			g := f
			g.All = strings.ToLower(title)
			w.AllHref = g.href()
		}
		if on != "" && !slices.Contains(sh.values[at], on) {
			w.Choices = append(w.Choices, f.toggle(on, 0, on, set))
		}
		for i, value := range values[:min(len(values), most+more)] {
			c := f.toggle(sh.values[at][value], by.n[at][value], on, set)
			if at == byRoot {
				c.Label = cmp.Or(sh.publishers[c.Label], c.Label)
			}
			if i < most {
				w.Choices = append(w.Choices, c)
			} else {
				w.More = append(w.More, c)
			}
		}
		out = append(out, w)
	}
	add("Scope", byScope, f.Scope, func(g *filter, value string) { g.Scope = value })
	place := "Root"
	if sh.publishers != nil {
		place = "Publisher"
	}
	add(place, byRoot, f.Root, func(g *filter, value string) { g.Root = value })
	add("Collection", byCollection, f.Collection, func(g *filter, value string) { g.Collection = value })
	add("Tag", byTag, f.Tag, func(g *filter, value string) { g.Tag = value })
	return out
}

// faults returns the skills that a filter for a rule or for unpublished skills accepts.
func (f filter) faults(t *doctor.Totals) map[*catalog.Entry]bool {
	if f.Rule != "" && f.Published == "" {
		if r := t.Rule(f.Rule); r != nil {
			return r.Of
		}
		return nil
	}
	in := map[*catalog.Entry]bool{}
	if f.Published == "no" {
		r := t.Rule(f.Rule)
		for _, u := range t.Unpublished {
			if f.Rule == "" || r != nil && r.Of[u.Entry] {
				in[u.Entry] = true
			}
		}
	}
	return in
}

// never is the filter value for skills that no agent has used. othersKey is the filter value for
// the lists of clients without their own limit.
const (
	never     = "never"
	othersKey = "others"
)

// accepted returns the skills that the filters by use and by the lists of clients accept.
func (s *Site) accepted(v catalog.View, f filter, all []*catalog.Entry) []*catalog.Entry {
	switch f.Used {
	case "":
	case never:
		all = s.o.Usage.NeverUsed(all)
	default:
		return nil
	}
	add := func(client string, list func(tool.Fit) []*catalog.Entry) {
		if client == "" {
			return
		}
		in := map[*catalog.Entry]bool{}
		for _, fit := range s.fitsOf(v) {
			if cmp.Or(fit.Client, othersKey) == client {
				for _, e := range list(fit) {
					in[e] = true
				}
			}
		}
		all = slices.DeleteFunc(slices.Clone(all), func(e *catalog.Entry) bool { return !in[e] })
	}
	add(f.Cut, func(fit tool.Fit) []*catalog.Entry { return fit.Shortened })
	add(f.Left, func(fit tool.Fit) []*catalog.Entry { return fit.Left })
	return all
}
