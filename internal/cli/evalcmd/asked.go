package evalcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/cli/chatcmd"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/llm/eval"
	"github.com/knack-dev/knack/internal/llm/model"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/builtin"
	"github.com/knack-dev/knack/tool"
	"github.com/knack-dev/knack/tool/profile"
)

// free is the number of requests that need no confirmation.
const free = 50

// asking has the flags about models.
type asking struct {
	models command.Repeated
	wanted chatcmd.Wanted
	runs   int
	yes    bool
}

// modelResult has the results of a model for each skill. After an error it may be incomplete.
type modelResult struct {
	end    model.Endpoint
	skills []*skillResult
}

// skillResult has the runs of a model for one skill.
type skillResult struct {
	subject  *subject
	view     catalog.View
	among    int // number of skills that the model can load
	presence tool.Presence
	tried    []eval.Tried
}

// figures are the totals of runs.
type figures struct {
	Passed        eval.Rate `json:"passed"`
	Recall        eval.Rate `json:"recall"`
	FalseTriggers eval.Rate `json:"falseTriggers"`
	Requests      int       `json:"requests"`
	Tokens        int       `json:"tokens"`
	Estimated     bool      `json:"estimated,omitempty"` // the endpoint does not count the tokens
	calls         int
}

func (f *figures) add(a *skillResult) {
	for _, t := range a.tried {
		if len(t.Runs) == 0 {
			continue
		}
		f.Passed.Add(t.Passed(a.subject.entry))
		rate := &f.FalseTriggers
		if t.ShouldTrigger {
			rate = &f.Recall
		}
		rate.AddPrompt(t.Triggered(a.subject.entry))
		for _, r := range t.Runs {
			f.Requests, f.Tokens, f.calls = f.Requests+r.Requests, f.Tokens+r.Tokens, f.calls+r.Calls
			f.Estimated = f.Estimated || r.Estimated
		}
	}
}

func (a *skillResult) figures() (f figures) {
	f.add(a)
	return f
}

func (a *modelResult) figures() (f figures) {
	for _, s := range a.skills {
		f.add(s)
	}
	return f
}

// ask asks each model, and returns the results, even after an error. The text of a result is
// printed as soon as a skill is done, since the next skill may take minutes.
func (c *evaluation) ask(ctx context.Context, host *tool.Host, v catalog.View, subjects []*subject) (r command.Result, least eval.Rate, err error) {
	ends, err := c.endpoints(ctx)
	if err != nil {
		return nil, least, err
	}
	if err := c.confirm(ctx, ends, subjects); err != nil {
		return nil, least, err
	}
	var all []*modelResult
	for i, end := range ends {
		a := &modelResult{end: end}
		all = append(all, a)
		err = c.askModel(ctx, a, host, v, subjects)
		if passed := a.figures().Passed; i == 0 || passed.Value() < least.Value() {
			least = passed
		}
		if err != nil {
			break
		}
		c.doubt(a)
	}
	if c.asJSON {
		r = command.Forms{Value: answeredJSON(all, c)}
	}
	var failure *command.Failure
	switch {
	case err == nil || errors.As(err, &failure):
		return r, least, err
	case ctx.Err() != nil:
		return r, least, command.RunError("", "the evaluation was interrupted: %w", err)
	}
	return r, least, command.Fail(command.Error, err, "")
}

// endpoints finds the models of --model, or the default model of knack chat.
func (c *evaluation) endpoints(ctx context.Context) (ends []model.Endpoint, err error) {
	file, err := c.files.Trusted()
	if err != nil {
		return nil, err
	}
	names := c.models
	if len(names) == 0 {
		names = []string{""}
	}
	for _, name := range names {
		w := c.wanted
		w.Model = name
		end, err := chatcmd.Find(ctx, c.env, file, w, func(text string) { c.env.Err().Dimmed(console.OneLine(text)) },
			"without a model: knack eval --no-model asks the search")
		if err != nil {
			return nil, err
		}
		ends = append(ends, end)
	}
	return ends, nil
}

// confirm prints the number of requests. If there are many, it asks for consent.
func (c *evaluation) confirm(ctx context.Context, ends []model.Endpoint, subjects []*subject) error {
	runs := 0
	for _, s := range subjects {
		runs += len(s.Cases) * c.runs * len(ends)
	}
	names := make([]string, len(ends))
	for i, end := range ends {
		names[i] = nameOf(end)
	}
	most := runs * eval.Rounds
	c.env.Err().Line("%s with %s, of at most %d requests each", display.Count(runs, "conversation"), strings.Join(names, ", "), eval.Rounds)
	switch {
	case most <= free || c.yes:
		return nil
	case !c.env.StdinTerminal || !c.env.StderrTerminal:
		return command.UsageError("add --yes, or measure less: name one SKILL, or --runs 1", "more than %d requests need a yes, and this may take %s", free, display.Thousands(most))
	}
	lines := c.env.Lines()
	defer lines.Close()
	for {
		line, err := lines.Line(ctx, fmt.Sprintf("Make up to %s requests? [y]es, [n]o: ", display.Thousands(most)))
		switch word := strings.ToLower(strings.TrimSpace(line)); {
		case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, console.ErrCtrlC) && !errors.Is(err, console.ErrDropped):
			return command.RunError("", "cannot read the answer: %w", err)
		case err != nil, word == "n", word == "no":
			return command.RunError("", "no model was asked")
		case word == "y", word == "yes":
			return nil
		}
	}
}

// nameOf returns the name of a model and its host.
func nameOf(end model.Endpoint) string {
	u, err := url.Parse(end.URL)
	if err != nil {
		return end.Model
	}
	return end.Model + " at " + u.Host
}

// askModel asks a model about each skill, one after the other, and stores the results in a.
func (c *evaluation) askModel(ctx context.Context, a *modelResult, host *tool.Host, whole catalog.View, subjects []*subject) error {
	client := chatcmd.Open(c.env, a.end)
	defer client.Close()
	m := &eval.Model{Host: host, Tools: c.tools, Model: client, Wire: a.end.Wire, Guide: isGuide}
	var done atomic.Int64
	all := 0
	for _, s := range subjects {
		all += len(s.Cases) * c.runs
	}
	defer console.ShowProgress(c.env, console.Step{What: "asking " + a.end.Model, Count: func() (int, int) { return int(done.Load()), all }, Unit: "conversations"})()
	for i, s := range subjects {
		ctx := c.within(ctx, whole, s.entry)
		v, err := host.Catalog.View(ctx)
		if err != nil {
			return err
		}
		one := &skillResult{subject: s, view: v, among: len(tool.Offered(v, c.tools)), presence: tool.PresenceOf(s.entry, v, c.tools, profile.Client{})}
		a.skills = append(a.skills, one)
		err = one.try(ctx, m, c.runs, func() { done.Add(1) })
		if !c.asJSON {
			if i == 0 { // otherwise it would end the progress line
				c.env.Out().Line("with %s", console.Bold.Of(a.end.Model))
			}
			one.print(c.env.Out(), c.runs)
		}
		if err != nil {
			return err
		}
	}
	if len(subjects) > 1 && !c.asJSON {
		f := a.figures()
		p := c.env.Out()
		p.Line("%s with %s", console.Bold.Of(display.Count(len(subjects), "skill")), a.end.Model)
		f.print(p)
	}
	return nil
}

// isGuide reports whether a skill is the guide to the other skills.
func isGuide(e *catalog.Entry) bool {
	return e.Root.Scope == skill.ScopeBuiltin && e.Path == builtin.EngageFolder
}

// try adds the runs of a skill. After an error, the earlier runs stay.
func (a *skillResult) try(ctx context.Context, m *eval.Model, runs int, done func()) error {
	for _, one := range a.subject.Cases {
		t := eval.Tried{Case: one}
		var err error
		for range runs {
			var run eval.Run
			if run, err = m.Ask(ctx, one.Query); err != nil {
				break
			}
			t.Runs = append(t.Runs, run)
			done()
		}
		a.tried = append(a.tried, t)
		if err != nil {
			return err
		}
	}
	return nil
}

// doubt prints a warning about a model that did the measured action in no run.
func (c *evaluation) doubt(a *modelResult) {
	switch f := a.figures(); {
	case f.Recall.Of == 0 || f.Recall.Hits > 0:
	case f.calls == 0:
		c.env.Err().Text(console.Warning, a.end.Model+" has called no tool in any run: something else than the descriptions is wrong (see with knack chat --model "+console.ShellWord(a.end.Model)+" whether it can call tools)")
	default:
		c.env.Err().Text(console.Warning, "no run of "+a.end.Model+" has taken the skill that it should: something else than the descriptions may be wrong")
	}
}
