package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/function"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/llm/model"
	"github.com/knack-dev/knack/tool"
)

// NotAllowed is the result of a call that the user does not allow.
const NotAllowed = "The user has not allowed this tool."

// maxForeign bounds the result of a tool from another server, in characters.
const maxForeign = 100_000

// calls answers the calls of one message in their order. Each call gets a result, even if the
// turn ends.
func (c *Conversation) calls(ctx context.Context, watch *stopwatch, all []model.Call, repeats *repetition) []model.Result {
	results := make([]model.Result, len(all))
	for i, call := range all {
		c.record(Record{Type: "call", ID: call.ID, Name: call.Name, Arguments: argumentsOf(call)})
		r, loads := c.call(ctx, watch, call)
		results[i] = model.Result{CallID: call.ID, Name: call.Name, Text: r.Text, IsError: r.IsError}
		c.record(Record{Type: "result", ID: call.ID, Name: call.Name, Text: r.Text, IsError: r.IsError, Loaded: loads})
		repeats.add(call, r.Text)
	}
	return results
}

// argumentsOf returns the arguments of a call as JSON: text that is not JSON becomes a string.
func argumentsOf(call model.Call) json.RawMessage {
	if json.Valid(call.Arguments) {
		return call.Arguments
	}
	return display.AppendJSONString(nil, string(call.Arguments))
}

func (c *Conversation) call(ctx context.Context, watch *stopwatch, call model.Call) (tool.Result, []Loaded) {
	interrupted := tool.Result{Text: Interrupted, IsError: true}
	if ctx.Err() != nil {
		return interrupted, nil
	}
	traced, trace := catalog.WithTrace(ctx)
	answer := func() (tool.Result, error) {
		return function.Execute(traced, c.o.Host, c.o.Tools, call.Name, string(call.Arguments))
	}
	if others, definition := c.other(call.Name); others != nil {
		answer = func() (tool.Result, error) { return c.foreign(ctx, watch, others, definition, call) }
	}
	r, err := answer()
	if err != nil {
		return interrupted, nil
	}
	var loads []Loaded
	for _, l := range trace.Loads() {
		loads = append(loads, Loaded{URI: l.URI, Digest: l.Digest.String()})
	}
	return r, loads
}

// other returns the tool with the given name from another server, and the tools of that server. The
// tools are nil if there is no such tool.
func (c *Conversation) other(name string) (Tools, tool.Definition) {
	for _, t := range c.o.Tools {
		if t.Name == name {
			return nil, tool.Definition{}
		}
	}
	for _, others := range c.o.Others {
		for _, d := range others.Definitions() {
			if d.Name == name {
				return others, d
			}
		}
	}
	return nil, tool.Definition{}
}

// foreign answers a call of another server's tool, if the user allows it.
func (c *Conversation) foreign(ctx context.Context, watch *stopwatch, others Tools, d tool.Definition, call model.Call) (tool.Result, error) {
	refuse := func(text string) (tool.Result, error) { return tool.Result{Text: text, IsError: true}, nil }
	parameters := (&tool.Tool{Schema: d.Schema}).Parameters()
	if parameters == nil {
		parameters = []string{}
	}
	e := tool.Event{Tool: d.Name, Parameters: parameters, Arguments: call.Arguments}
	return c.o.Host.Watch(e, func() (tool.Result, error) {
		var err error
		if call.Arguments, err = objectOf(call.Arguments); err != nil {
			text, _ := json.Marshal(map[string]string{"error": "Invalid tool arguments: " + err.Error()})
			return refuse(string(text))
		}
		allowed, err := c.consent(ctx, watch, call)
		switch {
		case err != nil:
			return tool.Result{}, err
		case !allowed:
			return refuse(NotAllowed)
		}
		r, err := others.Call(ctx, call.Name, call.Arguments)
		switch {
		case ctx.Err() != nil:
			return tool.Result{}, ctx.Err()
		case err != nil:
			return refuse("The tool could not be called: " + err.Error())
		}
		if n := utf8.RuneCountInString(r.Text) - maxForeign; n > 0 {
			r.Text = display.Prefix(r.Text, maxForeign) + "… (" + display.Count(n, "more character") + ")"
		}
		return r, nil
	})
}

// Consent is a user's answer to a [Question].
type Consent string

// The answers.
const (
	Yes    Consent = "yes"
	Always Consent = "always" // this tool, until the program ends
	No     Consent = "no"
)

// consent reports whether the user allows a call. The error ends the turn.
func (c *Conversation) consent(ctx context.Context, watch *stopwatch, call model.Call) (bool, error) {
	said := No
	switch by := c.allowedBy(call.Name); {
	case by != "":
		c.record(Record{Type: "consent", ID: call.ID, Name: call.Name, Consent: by})
		return true, nil
	case c.o.Ask != nil:
		resume := watch.pause()
		answer, err := c.o.Ask(ctx, Question{call.Name, call.Arguments})
		resume()
		if err != nil {
			watch.cancel(err)
			return false, err
		}
		said = answer
	}
	c.record(Record{Type: "consent", ID: call.ID, Name: call.Name, Consent: string(said)})
	if said == Always {
		c.allowed[call.Name] = true
	}
	return said == Yes || said == Always, nil
}

// allowedBy returns the reason why a tool needs no question, "always" or a pattern, or "".
func (c *Conversation) allowedBy(name string) string {
	if c.allowed[name] {
		return string(Always)
	}
	for _, pattern := range c.o.Allow {
		if ok, err := path.Match(pattern, name); ok && err == nil {
			return pattern
		}
	}
	return ""
}

// CheckPattern returns the fault of a pattern of [Options.Allow], or "". A pattern is the name of
// a tool with * for any number of characters.
func CheckPattern(pattern string) string {
	for _, r := range pattern {
		if r != '*' && r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') {
			return fmt.Sprintf("%q is in no name of a tool", r)
		}
	}
	if pattern == "" {
		return "it is empty"
	}
	return ""
}

// Question is a call that needs the user's consent.
type Question struct {
	Tool      string
	Arguments json.RawMessage // an object without white space or duplicate keys
}

// String returns the call with all of its arguments in one line, safe for a terminal. No argument
// can look like the end of the call:
//
//	files__write(path="a.txt", text="…")
func (q Question) String() string {
	dec := json.NewDecoder(bytes.NewReader(q.Arguments))
	var parts []string
	_, _ = dec.Token() // the arguments are an object
	for dec.More() {
		name, err := dec.Token()
		var value json.RawMessage
		if err == nil {
			err = dec.Decode(&value)
		}
		if err != nil {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, nameShown(fmt.Sprint(name))+"="+string(display.AppendVisibleJSON(nil, value)))
	}
	return display.Echo(q.Tool) + "(" + strings.Join(parts, ", ") + ")"
}
