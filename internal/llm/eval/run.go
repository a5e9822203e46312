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
	// Rounds is how often a model is asked in one run, at most.
	Rounds = 3
	// longest is how long a run may take. A model that has not taken a skill by then has taken none.
	longest = 5 * time.Minute
)

// Model is a model that is measured, with the skills and the tools that it is shown.
type Model struct {
	Host  *tool.Host
	Tools []*tool.Tool
	Model chat.Model
	Wire  model.Wire
	// Guide reports whether a skill only leads to the others. A run goes on after it is loaded. It
	// may be nil.
	Guide func(*catalog.Entry) bool
}

// Run is a conversation that ended when a skill was loaded, or without that.
type Run struct {
	// Taken are the skills that the model loaded, in order: nearly always one, or none.
	Taken []*catalog.Entry
	// Calls is the number of calls of tools.
	Calls            int
	Requests, Tokens int
	Estimated        bool // the endpoint does not count the tokens
}

// Took reports whether the model has loaded a skill.
func (r Run) Took(e *catalog.Entry) bool { return slices.ContainsFunc(r.Taken, e.SameURI) }

// errTaken ends a conversation in which a skill was loaded.
var errTaken = errors.New("a skill was taken")

// Ask begins a conversation with a prompt, and ends it as soon as a skill is loaded: by any tool, any
// file of it. All calls of the message that loads it are answered. The error is that of the model or
// of the context; the run then has what came before.
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
		Host: m.Host, Tools: m.Tools, Model: asked(ask), Wire: m.Wire, Rounds: Rounds, Time: longest, Record: record,
	}).Say(ctx, prompt)
	if limit := (*chat.Limit)(nil); errors.Is(err, errTaken) || errors.As(err, &limit) {
		err = nil
	}
	return run, err
}

// asked is a [chat.Model].
type asked func(context.Context, model.Request, func(string)) (model.Answer, error)

// Answer implements [chat.Model].
func (a asked) Answer(ctx context.Context, r model.Request, text func(string)) (model.Answer, error) {
	return a(ctx, r, text)
}

// Tried is a case with the runs of a model.
type Tried struct {
	Case
	Runs []Run
}

// Triggered returns in how many of the runs the skill was taken.
func (t Tried) Triggered(e *catalog.Entry) (rate Rate) {
	for _, r := range t.Runs {
		rate.Add(r.Took(e))
	}
	return rate
}

// Passed reports whether the skill was taken in at least half of the runs, or, if it should not
// trigger, in less than half, as agentskills.io's guide to descriptions has it.
func (t Tried) Passed(e *catalog.Entry) bool {
	return (t.Triggered(e).Value() >= 0.5) == t.ShouldTrigger
}
