package evalcmd

import (
	"cmp"
	"fmt"
	"sort"
	"strings"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/llm/eval"
	"github.com/knack-dev/knack/tool"
)

// instead is a skill that a model loaded in place of the right one.
type instead struct {
	Name  string `json:"name"` // "" if none was loaded
	Times int    `json:"times"`
}

// instead returns the skills that were loaded in runs that missed the right one, the most frequent
// first. It counts the runs that loaded no skill too.
func (a *skillResult) instead(t eval.Tried) []instead {
	all := []instead{}
	times := map[string]int{}
	for _, r := range t.Runs {
		name := ""
		if len(r.Taken) > 0 {
			name = a.view.Called(r.Taken[len(r.Taken)-1])
		}
		if !r.Took(a.subject.entry) {
			times[name]++
		}
	}
	for name, n := range times {
		all = append(all, instead{name, n})
	}
	sort.Slice(all, func(i, j int) bool {
		return all[i].Times > all[j].Times || all[i].Times == all[j].Times && all[i].Name < all[j].Name
	})
	return all
}

// presenceText describes how much of a skill's description the model saw.
var presenceText = map[tool.Presence]string{
	tool.PresenceWhole:     "its description is whole in the list",
	tool.PresenceShortened: "its description is cut in the list",
	tool.PresenceName:      "the list has its name alone",
	tool.PresenceAbsent:    "it is not in the list",
	tool.PresenceUnlisted:  "a tool lists the skills",
}

func (a *skillResult) print(p *console.Printer, runs int) {
	p.Line("%s: %s in %s, %s each, among %s; %s", console.Bold.Of(a.subject.called), display.Count(len(a.subject.Cases), "prompt"), a.subject.File, display.Count(runs, "run"), display.Count(a.among, "skill"), presenceText[a.presence])
	for _, should := range []bool{true, false} {
		title := false
		for _, t := range a.tried {
			if t.ShouldTrigger != should || len(t.Runs) == 0 {
				continue
			}
			if !should && !title {
				p.Line("  should not trigger:")
				title = true
			}
			a.printQuery(p, t)
		}
	}
	f := a.figures()
	f.print(p)
}

func (a *skillResult) printQuery(p *console.Printer, t eval.Tried) {
	rate, query := t.Triggered(a.subject.entry), shownQuery(p, t.Query)
	if t.Passed(a.subject.entry) {
		p.Item(8, "  %s  %s", fmt.Sprintf("%d of %d", rate.Hits, rate.Of), query)
	} else {
		p.Item(8, "  %s  %s", fmt.Sprintf("%d of %d", rate.Hits, rate.Of), console.Bold.Of(query))
	}
	others := a.instead(t)
	if len(others) == 0 || !t.ShouldTrigger {
		return
	}
	var words []string
	for _, o := range others {
		words = append(words, fmt.Sprintf("%s %d", cmp.Or(o.Name, "no skill"), o.Times))
	}
	p.Item(2, "          %s", console.Dim.Of("instead: "+strings.Join(words, ", ")))
}

func (f *figures) print(p *console.Printer) {
	if f.Passed.Of == 0 {
		return
	}
	p.Line("  passed: %s", f.Passed)
	p.Line("  recall: %s", f.Recall)
	p.Line("  false triggers: %s", f.FalseTriggers)
	tokens := display.Thousands(f.Tokens) + " tokens"
	if f.Estimated {
		tokens = "about " + tokens
	}
	p.Line("  %s, %s", display.Count(f.Requests, "request"), tokens)
}
