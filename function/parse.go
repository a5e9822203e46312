package function

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/base/display"
)

// FormatOf returns the format of an input of [Call]. That is the first format in which the input
// contains a call or, without one, the first in which it parses. It is [OpenAI] if the input parses
// in no format.
func FormatOf(input []byte) Format {
	without := Format("")
	for _, f := range []Format{OpenAI, MCP, Gemini, Anthropic} {
		calls, _, err := parse(f, input)
		switch {
		case err == nil && len(calls) > 0:
			return f
		case err == nil:
			without = cmp.Or(without, f)
		}
	}
	return cmp.Or(without, OpenAI)
}

// parse reads a call, a list of calls, or a whole answer with calls. It returns an error unless all
// of them are calls in the format, because a faulty list must not be executed in part.
func parse(f Format, input []byte) (calls []call, list bool, err error) {
	if len(input) > MaxInput {
		return nil, false, inputError("it is larger than %d MiB", MaxInput>>20)
	}
	input = bytes.TrimSpace(bytes.TrimPrefix(input, []byte("\ufeff")))
	if len(input) == 0 {
		return nil, false, inputError("it is empty; give a tool call as JSON")
	}
	if input[0] != '[' {
		var one json.RawMessage
		if err := json.Unmarshal(input, &one); err != nil {
			return nil, false, inputError("it is not valid JSON: %s", err)
		}
		inner, err := callsIn(f, one)
		if err != nil {
			return nil, false, inputError("%s", err)
		}
		if inner == nil {
			c, err := parseCall(f, one)
			if err != nil {
				return nil, false, inputError("%s", err)
			}
			return []call{c}, false, nil
		}
		input = inner
	}
	var many []json.RawMessage
	if err := json.Unmarshal(input, &many); err != nil {
		return nil, false, inputError("it is not valid JSON: %s", err)
	}
	if len(many) > maxCalls {
		return nil, false, inputError("the list has %d calls; at most %d are accepted at once", len(many), maxCalls)
	}
	for i, one := range many {
		if isOther(f, one) {
			continue
		}
		c, err := parseCall(f, one)
		if err != nil {
			return nil, false, inputError("call %d of %d: %s", i+1, len(many), err)
		}
		calls = append(calls, c)
	}
	return calls, true, nil
}

// answers lists paths of fields. Each leads from a vendor's whole response, or from a part of it,
// to its list of calls. A field with [] is a list of one element.
var answers = map[Format][]string{
	OpenAI:    {"choices[] message tool_calls", "message tool_calls", "tool_calls", "output"},
	Anthropic: {"content"},
	Gemini:    {"candidates[] content parts", "content parts", "parts"},
}

// callsIn returns the list of calls in a vendor's answer, or nil if the input is not an answer.
func callsIn(f Format, input json.RawMessage) (json.RawMessage, error) {
	outer := fields(input)
	if typ, _ := outer.text("type"); slices.Contains(callTypes, typ) {
		return nil, nil
	}
	for _, way := range answers[f] {
		in, at := keyed(nil), input
		for key := range strings.FieldsSeq(way) {
			name, isList := strings.CutSuffix(key, "[]")
			in = fields(at)
			at = in[name]
			var elements []json.RawMessage
			if !isList || json.Unmarshal(at, &elements) != nil {
				continue
			}
			if len(elements) != 1 {
				return nil, fmt.Errorf("its '%s' has %d elements; give the calls of one", name, len(elements))
			}
			at = elements[0]
		}
		switch kind(at) {
		case "a list":
			return at, nil
		case "missing", "null":
			if strings.Contains(way, " ") && in["role"] != nil { // a message without a call
				return json.RawMessage("[]"), nil
			}
		}
	}
	return nil, nil
}

// isOther reports whether an element of a list is not a call, but for example text or a tool that
// the vendor has run. The content of an Anthropic message, the parts of a Gemini message and
// OpenAI's output items can contain both. The types of the other items may be newer than this
// program. A call in a different format, or an answer to one, is a mistake and not such an item.
func isOther(f Format, one json.RawMessage) bool {
	o := fields(one)
	if o == nil {
		return false
	}
	typ, typed := o.text("type")
	switch f {
	case Anthropic:
		return typed && typ != "tool_use" && !slices.Contains(callTypes, typ)
	case OpenAI:
		return typed && !slices.Contains(callTypes, typ)
	case Gemini:
		return !typed && slices.ContainsFunc(partFields, func(key string) bool { return o[key] != nil }) && o["functionCall"] == nil
	}
	return false
}

// callTypes lists the types of calls and of answers to them.
var callTypes = []string{"function", "function_call", "custom", "custom_tool_call", "tool_use", "tool_result", "function_call_output", "custom_tool_call_output"}

// answeredTypes lists the types of calls that a server of the vendor has answered.
var answeredTypes = []string{"mcp_call", "mcp_tool_use", "server_tool_use"}

// partFields lists the fields of a part of a Gemini content other than functionCall and
// functionResponse (ai.google.dev/api/caching, Part).
var partFields = []string{"text", "inlineData", "fileData", "executableCode", "codeExecutionResult", "toolCall", "toolResponse", "thought", "thoughtSignature", "videoMetadata"}

// shape names the fields of a call in one format.
type shape struct {
	wrap string // the field that contains name and arguments, or ""
	bare bool   // name and arguments are also accepted without wrap
	// kind is the value of "type", or "" if the format has no such field.
	kind, arguments string
	id              string // the field of the id, or ""
	example         string
}

var shapes = map[Format]shape{
	OpenAI: {wrap: "function", kind: "function", arguments: "arguments", id: "id",
		example: `{"id":"call_1","type":"function","function":{"name":"…","arguments":"{…}"}}`},
	Anthropic: {kind: "tool_use", arguments: "input", id: "id",
		example: `{"type":"tool_use","id":"toolu_1","name":"…","input":{…}}`},
	// SDKs return a functionCall without the part around it.
	Gemini: {wrap: "functionCall", bare: true, arguments: "args", id: "id",
		example: `{"functionCall":{"name":"…","args":{…}}}`},
	MCP: {arguments: "arguments",
		example: `{"name":"…","arguments":{…}}`},
}

// item is a call in OpenAI's Responses form.
var item = shape{kind: "function_call", arguments: "arguments", id: "call_id",
	example: `{"type":"function_call","call_id":"call_1","name":"…","arguments":"{…}"}`}

// parseCall parses one call. Keys are matched exactly. Unknown keys are ignored, unless
// they show that the call is in another format.
func parseCall(f Format, raw json.RawMessage) (call, error) {
	s, ok := shapes[f]
	if !ok {
		return call{}, fmt.Errorf("there is no format called '%s'", f)
	}
	outer := fields(raw)
	if outer == nil {
		return call{}, fmt.Errorf("it is %s; in the %s format a call is %s", kind(raw), f, s.example)
	}
	typ, typed := outer.text("type")
	if f == OpenAI && typ == item.kind {
		s = item
	}
	if slices.Contains(answeredTypes, typ) {
		return call{}, fmt.Errorf("its type is %q: a server of the vendor has answered this call", typ)
	}
	if method, _ := outer.text("method"); method != "" && outer["params"] != nil {
		return call{}, errors.New("it is a JSON-RPC request; give its params alone, in the mcp format")
	}
	if outer["type"] != nil && (s.kind != "" && typ != s.kind || typed && slices.Contains(callTypes, typ) && typ != s.kind) {
		want := ""
		if s.kind != "" {
			want = ", not \"" + s.kind + "\""
		}
		return call{}, wrong(f, outer, s, fmt.Errorf("its type is %s%s", echo(string(outer["type"])), want))
	}
	inner, where := outer, ""
	if body, given := outer[s.wrap]; s.wrap != "" && (given || !s.bare) {
		if inner, where = fields(body), s.wrap+"."; inner == nil {
			return call{}, wrong(f, outer, s, fmt.Errorf("its '%s' is %s, not an object", s.wrap, kind(body)))
		}
	}
	name, isText := inner.text("name")
	if !isText {
		return call{}, wrong(f, outer, s, fmt.Errorf("its '%sname' is %s, not a string", where, kind(inner["name"])))
	}
	for _, other := range []string{"arguments", "input", "args"} {
		if other != s.arguments && inner[other] != nil && inner[s.arguments] == nil {
			return call{}, wrong(f, outer, s, fmt.Errorf("its arguments are in '%s%s', not '%s%s'", where, other, where, s.arguments))
		}
	}
	c := call{name: name, arguments: inner[s.arguments], item: s.kind == item.kind}
	if s.id == "" {
		return c, nil
	}
	object := outer
	if f == Gemini {
		object = inner
	}
	if id := object[s.id]; len(id) > 0 && string(id) != "null" {
		if _, isText := object.text(s.id); !isText {
			return call{}, fmt.Errorf("its '%s' is %s, not a string", s.id, kind(id))
		}
		c.id = id
	}
	return c, nil
}

// wrong adds the apparent format of the call to an error, if it differs from f.
func wrong(f Format, o keyed, s shape, err error) error {
	text, _ := o.text("type")
	seems := Format("")
	switch {
	case o["function"] != nil, text == item.kind:
		seems = OpenAI
	case text == "tool_use", o["input"] != nil, text == "text", text == "thinking", text == "redacted_thinking", text == "tool_result":
		seems = Anthropic
	case o["functionCall"] != nil, o["args"] != nil:
		seems = Gemini
	case o["name"] != nil && o["arguments"] != nil:
		seems = MCP
	}
	if seems != "" && seems != f {
		return fmt.Errorf("%w; it looks like a call in the %s format, not %s", err, seems, f)
	}
	return fmt.Errorf("%w; in the %s format a call is %s", err, f, s.example)
}

// keyed maps the exact keys of a JSON object to their values.
type keyed map[string]json.RawMessage

// fields decodes an object. It returns nil for any other value.
func fields(raw json.RawMessage) keyed {
	var o keyed
	if json.Unmarshal(raw, &o) != nil {
		return nil
	}
	return o
}

func (o keyed) text(key string) (s string, ok bool) {
	raw := o[key]
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	ok = json.Unmarshal(raw, &s) == nil
	return s, ok
}

// kind returns the type of a JSON value, in words.
func kind(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return "missing"
	}
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// echo shortens a name for an answer. It cuts only between characters.
func echo(s string) string {
	return display.CutBytes(strings.ToValidUTF8(s, "\ufffd"), display.EchoLimit)
}
