// Package chatcmd implements the command chat: it chooses the model, reads the user's input, prints
// the output and handles signals. Package chat holds the conversation itself.
package chatcmd

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/buildinfo"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/llm/chat"
	"github.com/knack-dev/knack/internal/llm/model"
	"github.com/knack-dev/knack/internal/workspace/settings"
	"github.com/knack-dev/knack/tool"
)

// Options are the options of a run of the command.
type Options struct {
	Env *console.Env
	// Signals, if not nil, gets the signals that arrive while a person types. Otherwise a signal
	// ends the context.
	Signals <-chan os.Signal
	// Host opens the skills.
	Host  func(context.Context) (*tool.Host, error)
	Tools []*tool.Tool
	Set   string // the name of the set of Tools
	// Servers are the names given with --mcp. Others are further tools, which do not come from
	// skills.
	Servers []string
	Others  []chat.Tools
	// File is the file with the section chat, or nil.
	File   *settings.File
	Wanted Wanted
	// Prompt is the only question of a run with Once.
	Prompt string
	Once   bool

	System         string // replaces chat.DefaultSystem
	Rounds, Tokens int
	Time           time.Duration
	Allow          []string
	// Transcript is the path of the transcript, or "".
	Transcript          string
	JSON, Quiet, DryRun bool

	open func(model.Endpoint) client // set in tests; nil means model.New
}

// defaultTime is the default time limit for an answer with its calls.
const defaultTime = 10 * time.Minute

// client is a model at an endpoint.
type client interface {
	chat.Model
	lister
	Body(model.Request) ([]byte, error)
	Close()
}

// Run holds the conversation, and returns the failure of the command.
func Run(ctx context.Context, o Options) error {
	t := &talk{o: o, endpoints: endpoints{o.Env, o.File}}
	t.screen = &screen{env: o.Env, err: o.Env.Err(), quiet: o.Quiet, json: o.JSON}
	end, err := t.connect(ctx)
	if err != nil {
		return err
	}
	closing, hurry := context.WithCancel(ctx)
	defer hurry()
	if len(o.Servers) > 0 {
		s, err := t.withServers(ctx)
		if err != nil {
			return err
		}
		defer s.close(closing)
	}
	if o.DryRun {
		return t.dryRun(ctx, end)
	}
	if o.Transcript != "" {
		file, err := edit.Append(o.Env.Absolute(o.Transcript), `{"t":`)
		if err != nil {
			return command.RunError("give a file that you may write, in a folder that exists", "--transcript %s: %w", display.Echo(o.Transcript), command.Cause(err))
		}
		defer file.Close()
		t.screen.file = file
	}
	t.converse(end)
	defer func() { t.client.Close() }()
	defer t.lines.Close()
	if o.Once {
		err = t.answer(ctx)
	} else {
		err = t.interactive(ctx)
	}
	t.conversation.End(reasonOf(err))
	t.screen.close()
	if errors.Is(err, command.ErrInterrupted) {
		hurry()
	}
	if !o.Once && t.lines.IsTyped() && errors.Is(err, command.ErrInterrupted) {
		return command.Fail(err.(*command.Failure).Code, command.ErrPrinted, "") // the user interrupted, and needs no message
	}
	return err
}

// talk is one run of the command.
type talk struct {
	o Options
	endpoints
	screen       *screen
	host         *tool.Host
	end          model.Endpoint
	client       client
	conversation *chat.Conversation
	lines        *console.Lines
	ctrlC        time.Time // when the user last pressed Ctrl-C
}

// connect reads the skills, and finds the endpoint and its model.
func (t *talk) connect(ctx context.Context) (model.Endpoint, error) {
	end, found, err := t.byName(t.o.Wanted)
	if err != nil {
		return end, err
	}
	servers := make(chan []model.LocalServer, 1)
	if !found && !t.o.DryRun {
		go func() { servers <- model.Local(ctx, model.Options{Transport: t.o.Env.Local}) }()
	}
	if t.host, err = t.o.Host(ctx); err != nil {
		return end, err
	}
	switch {
	case t.o.DryRun:
		return end, nil
	case found:
		return modelOf(ctx, end, t.open, t.tell)
	}
	end, err = localOf(<-servers, t.o.Wanted.Model, t.tell)
	if errors.Is(err, errNoModel) {
		skills, err := t.fit(ctx)
		if err != nil {
			return end, err
		}
		return end, noModel(t.o.Env, skills, t.o.Prompt)
	}
	return end, err
}

// tell prints which model was found, unless the greeting of a conversation names it.
func (t *talk) tell(text string) {
	if t.o.Once || !t.o.Env.StdinTerminal {
		t.screen.remark(text)
	}
}

// open returns a client of an endpoint.
func (t *talk) open(end model.Endpoint) client {
	if t.o.open != nil {
		return t.o.open(end)
	}
	return Open(t.o.Env, end)
}

func agent() string { return "knack/" + cmp.Or(buildinfo.Current().Version, "devel") }

// suggested is the number of skills that are named if there is no model.
const suggested = 3

// fit returns the names of skills that match the prompt. It leaves out skills that match only by a
// similar spelling.
func (t *talk) fit(ctx context.Context) (names []string, err error) {
	if t.o.Prompt == "" {
		return nil, nil
	}
	v, err := t.host.Catalog.View(ctx)
	if err != nil {
		return nil, err
	}
	found, err := v.Search(ctx, catalog.Query{Text: t.o.Prompt, Limit: suggested, Explain: true})
	if err != nil {
		return nil, command.RunError("", "the search was interrupted: %w", err)
	}
	for _, h := range found.Hits {
		for _, m := range h.Matches {
			if m.How != "typo" {
				names = append(names, v.Called(h.Entry))
				break
			}
		}
	}
	return names, nil
}

// converse prepares the conversation with an endpoint.
func (t *talk) converse(end model.Endpoint) {
	t.end, t.client = end, t.open(end)
	o := chat.Options{
		Host: t.host, Tools: t.o.Tools, Others: t.o.Others, Model: t.client, Wire: end.Wire, About: t.about(end),
		System: t.o.System, Rounds: t.o.Rounds, Tokens: t.o.Tokens, Time: t.o.Time, Allow: t.o.Allow,
		Text: t.screen.text, Done: t.screen.done, Begin: t.screen.begin, End: t.screen.end, Record: t.screen.record,
		Note: func(text string) { t.screen.note(console.Warning, text) },
	}
	if t.lines = t.o.Env.Lines(); t.lines.IsTyped() {
		o.Ask = t.ask
	}
	t.conversation = chat.New(o)
}

func (t *talk) about(end model.Endpoint) chat.Session {
	return chat.Session{Knack: buildinfo.Current().Version, Model: end.Model, Host: hostOf(end.URL), Wire: string(end.Wire), Set: t.o.Set}
}

// dryRun prints the first request without sending it.
func (t *talk) dryRun(ctx context.Context, end model.Endpoint) error {
	t.converse(end)
	defer t.client.Close()
	r, err := t.conversation.First(ctx, t.o.Prompt)
	if err != nil {
		return command.RunError("", "%w", err)
	}
	body, err := t.client.Body(r)
	if err != nil {
		return command.RunError("", "%w", err)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, body, "", "  "); err != nil {
		return command.RunError("", "%w", err)
	}
	with := "without a key"
	if end.Key != "" {
		with = "with the key of " + end.KeyName
	}
	to := "nothing is sent; "
	switch {
	case end.URL == "":
		to += "no endpoint is named"
	default:
		to += "it would go to " + hostOf(end.URL) + ", " + with
	}
	if end.Model == "" {
		to += "; no model is named"
	}
	t.screen.remark(to)
	return console.PrintText(t.o.Env, b.String()+"\n")
}

// answer asks the model one question and prints its answer.
func (t *talk) answer(ctx context.Context) error {
	done := console.ShowProgress(t.o.Env, console.Step{What: "waiting for " + t.end.Model})
	defer done()
	err := t.conversation.Say(ctx, t.o.Prompt)
	if err != nil {
		t.screen.interrupted(false)
	}
	return failed(err)
}

// failed converts the error of a turn into the failure of the command.
func failed(err error) error {
	var limit *chat.Limit
	var interrupt console.Interrupt
	var failure *command.Failure
	switch {
	case err == nil || errors.As(err, &failure):
		return err
	case errors.As(err, &limit):
		return command.Fail(command.No, err, "")
	case errors.As(err, &interrupt):
		return command.Fail(interrupt.Status(), command.ErrInterrupted, "")
	}
	return command.Fail(command.Error, err, "")
}

func reasonOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
