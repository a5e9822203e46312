package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill"
)

// Call answers a call with the JSON object args. A failure that the model can fix is a Result. The
// error is the context's. Call informs [Host.Begin] and [Host.Observe].
func (t *Tool) Call(ctx context.Context, h *Host, args json.RawMessage) (Result, error) {
	if h.Begin == nil && h.Observe == nil {
		return t.answer(ctx, h, args)
	}
	e := Event{Tool: t.Name, Parameters: t.accepted(), Arguments: args}
	return h.Watch(e, func() (Result, error) { return t.answer(ctx, h, args) })
}

// Watch answers a call with answer. It calls [Host.Begin] before and [Host.Observe] after it.
func (h *Host) Watch(e Event, answer func() (Result, error)) (Result, error) {
	if h.Begin != nil {
		h.Begin(e)
	}
	e.Result, e.Err = answer()
	if h.Observe != nil {
		h.Observe(e)
	}
	return e.Result, e.Err
}

// Parameters lists the names of the arguments in the order of the schema.
func (t *Tool) Parameters() []string { return keysOf(t.Schema, "properties") }

// accepted lists the names of all arguments that a call may have, aliases last.
func (t *Tool) accepted() []string {
	names := append([]string{}, t.Parameters()...) // not nil, because nil means that no such tool exists
	for _, name := range slices.Concat(t.keys, t.aliases) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Asked returns the name or URI of the skill, and the path of the file in it, from the arguments of
// a call. A result is "" if the tool has no such argument. Both are "" if the arguments are
// malformed.
func (t *Tool) Asked(args json.RawMessage) (skill, file string) {
	if len(t.skillKeys) == 0 {
		return "", ""
	}
	a, _ := parseArguments(args, nil)
	skill, _ = a.first(t.skillKeys)
	file, _ = a.first(t.fileKeys)
	return skill, file
}

// Required lists the names of the arguments that the schema requires, in its order.
func (t *Tool) Required() []string {
	var s struct{ Required []string }
	_ = json.Unmarshal(t.Schema, &s) // a schema is a constant of this package
	return s.Required
}

// keysOf lists the keys of the object under key, in their order.
func keysOf(object json.RawMessage, key string) []string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(object, &fields) != nil {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(fields[key]))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil
	}
	var names []string
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return names
		}
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return names
		}
		names = append(names, name.(string))
	}
	return names
}

// Event is one call and its result, for the operator. Package mcpserver records calls as events,
// which packages usage and metrics count.
type Event struct {
	Tool       string
	Parameters []string        // names of the arguments that the tool accepts, in the schema's order; nil if no tool was called, which hides all arguments
	Arguments  json.RawMessage // as the client sent them
	Result     Result
	Err        error // the context's error if there is no result
}

// shownLength is the number of characters of a result, and of the arguments, in an event's
// text (contract 001's user visibility, contracts.md).
const shownLength = 2000

// String returns the event as contract 001 shows it to the user, fit for a terminal:
//
//	[Tool Call] read_file_in_skill(skill_name="calculator", file_path="examples/basic.py")
//	[Tool Result] <contents>
func (e Event) String() string { return e.CallText() + "\n" + e.ResultText() }

// CallText returns the first line of [Event.String]. It needs no result, so it is known when the
// call begins.
func (e Event) CallText() string {
	return "[Tool Call] " + display.Echo(e.Tool) + "(" + e.arguments() + ")"
}

// ResultText returns [Event.String] without the first line.
func (e Event) ResultText() string {
	result := e.Result.Text
	if e.Err != nil {
		result = "no result: " + e.Err.Error()
	}
	return "[Tool Result] " + shownText(result)
}

// notShown replaces an omitted value.
const notShown = "…"

// arguments returns the call's arguments in schema order, then the others by name. It omits the
// value of an unknown argument, which may be anything. It also omits the values of a call to an
// unknown tool, and a URI outside a JSON object. Of any other URI, it shows the part that an answer
// would repeat (contract 004's secret boundary).
func (e Event) arguments() string {
	var given map[string]json.RawMessage
	err := json.Unmarshal(e.Arguments, &given)
	switch secret := e.Parameters == nil || slices.Contains(e.Parameters, "uri"); {
	case len(bytes.TrimSpace(e.Arguments)) == 0:
		return ""
	case secret && (err != nil || e.Parameters == nil && len(given) > 0):
		return notShown
	case err != nil:
		return shownText(display.OneLine(string(e.Arguments)))
	}
	var parts []string
	show := func(name string) {
		key, value := display.RedactURI(name), notShown
		if slices.Contains(e.Parameters, name) {
			key, value = name, argument(name, given[name])
		}
		parts = append(parts, key+"="+value)
		delete(given, name)
	}
	for _, name := range e.Parameters {
		if _, ok := given[name]; ok {
			show(name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		show(name)
	}
	return shownText(strings.Join(parts, ", "))
}

// argument returns a JSON value in one line.
func argument(name string, raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil && len(raw) > 0 && raw[0] == '"' {
		if name == "uri" || isSkillURI(s) {
			s = display.RedactURI(s)
		}
		return string(display.AppendJSONString(nil, s))
	}
	if name == "uri" && string(raw) != "null" {
		return notShown
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

func isSkillURI(s string) bool {
	s = strings.TrimSpace(s)
	return len(s) >= len(skill.Scheme) && strings.EqualFold(s[:len(skill.Scheme)], skill.Scheme)
}

// shownText cuts a text at [shownLength] characters and adds the number of omitted ones. It drops
// invisible and terminal control characters.
func shownText(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	rest := ""
	if n := utf8.RuneCountInString(s); n > shownLength {
		s, rest = display.Prefix(s, shownLength), "… ("+display.Count(n-shownLength, "more character")+")"
	}
	return display.Visible(strings.ReplaceAll(s, "\r", ""), func(rune) string { return "" }) + rest
}
