package eval

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/llm/chat"
	"github.com/knack-dev/knack/internal/llm/model"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool"
)

const (
	// Rounds bounds the requests to a model in one run.
	Rounds = 3
	// longest bounds a run. A model that has loaded no skill by then has not chosen any.
	longest = 5 * time.Minute
)

// Model is the model to measure, with its skills and tools.
type Model struct {
	Host  *tool.Host
	Tools []*tool.Tool
	Model chat.Model
	Wire  model.Wire
	// Guide, if not nil, reports whether a skill only leads to the others. A run continues after
	// it is loaded.
	Guide func(*catalog.Entry) bool
}

// Run is a conversation that ended with the first loaded skill, or without one.
type Run struct {
	// Taken lists the skills that the model loaded, in order: nearly always one, or none.
	Taken []*catalog.Entry
	// Calls is the number of tool calls.
	Calls            int
	Requests, Tokens int
	Estimated        bool // the endpoint does not count the tokens
}

// Took reports whether the model loaded the skill.
func (r Run) Took(e *catalog.Entry) bool { return slices.ContainsFunc(r.Taken, e.SameURI) }

// errTaken ends a conversation after a skill was loaded.
var errTaken = errors.New("a skill was taken")

// Ask begins a conversation with a prompt, and ends it as soon as any tool reads any file of a
// skill. All calls of that message are still answered. The error is the model's or the context's;
// the run then covers the conversation before the error.
func (m *Model) Ask(ctx context.Context, prompt string) (run Run, err error) {
	v, err := m.Host.Catalog.View(ctx)
	if err != nil {
		return run, err
	}
	taken := false
	record := func(r chat.Record) {
		switch r.Type {
		case "call":
			run.Calls++
		case "usage":
			run.Tokens += r.Input + r.Output
			run.Estimated = run.Estimated || r.Estimated
		}
		for _, l := range r.Loaded {
			uri, err := skill.ParseURI(l.URI)
			if err != nil {
				continue
			}
			if e, _ := v.At(uri); e != nil && !run.Took(e) {
				run.Taken = append(run.Taken, e)
				taken = taken || m.Guide == nil || !m.Guide(e)
			}
		}
	}
	ask := func(ctx context.Context, r model.Request, text func(string)) (model.Answer, error) {
		if taken {
			return model.Answer{}, errTaken
		}
		run.Requests++
		return m.Model.Answer(ctx, r, text)
	}
	err = chat.New(chat.Options{
		Host: m.Host, Tools: m.Tools, Model: modelFunc(ask), Wire: m.Wire, Rounds: Rounds, Time: longest, Record: record,
	}).Say(ctx, prompt)
	if limit := (*chat.Limit)(nil); errors.Is(err, errTaken) || errors.As(err, &limit) {
		err = nil
	}
	return run, err
}

// modelFunc adapts a function to a [chat.Model].
type modelFunc func(context.Context, model.Request, func(string)) (model.Answer, error)

// Answer implements [chat.Model].
func (a modelFunc) Answer(ctx context.Context, r model.Request, text func(string)) (model.Answer, error) {
	return a(ctx, r, text)
}

// Tried is a case with its runs.
type Tried struct {
	Case
	Runs []Run
}

// Triggered returns the share of runs in which the model loaded the skill.
func (t Tried) Triggered(e *catalog.Entry) (rate Rate) {
	for _, r := range t.Runs {
		rate.Add(r.Took(e))
	}
	return rate
}

// Passed reports whether at least half of the runs loaded the skill, or fewer than half if it
// should not trigger. This is the rule of agentskills.io's guide to descriptions.
func (t Tried) Passed(e *catalog.Entry) bool {
	return (t.Triggered(e).Value() >= 0.5) == t.ShouldTrigger
}
