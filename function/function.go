// Package function provides the tools to programs that talk to a model themselves. It supports the
// tool definitions and tool calls of OpenAI, Anthropic, Gemini and MCP.
//
// An agent loop passes [Definitions] to the model, each call of the model to [Call], and the answer
// back to the model:
//
//	messages, err := function.Call(ctx, host, tools, function.OpenAI, reply.ToolCalls)
package function

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/rawjson"
	"github.com/knack-dev/knack/tool"
)

// Format is a vendor's encoding of tool definitions, calls and results.
type Format string

// The formats.
const (
	// OpenAI is the Chat Completions form, which most other endpoints use too:
	// {"id","type":"function","function":{"name","arguments"}} is answered by
	// {"role":"tool","tool_call_id","name","content"}. Items of the Responses form are accepted
	// too: {"type":"function_call","call_id","name","arguments"} is answered by
	// {"type":"function_call_output","call_id","output"}.
	OpenAI Format = "openai"
	// Anthropic is the Messages form: a tool_use block is answered by a
	// tool_result block.
	Anthropic Format = "anthropic"
	// Gemini is the generateContent form: a functionCall part is answered by a
	// functionResponse part.
	Gemini Format = "gemini"
	// MCP is the params of tools/call, answered by its result.
	MCP Format = "mcp"
)

// Formats lists the formats.
func Formats() []Format { return []Format{OpenAI, Anthropic, Gemini, MCP} }

// FormatNames lists the names of the formats.
func FormatNames() (names []string) {
	for _, f := range Formats() {
		names = append(names, string(f))
	}
	return names
}

// ParseFormat reads the name of a format.
func ParseFormat(name string) (Format, error) {
	if slices.Contains(Formats(), Format(name)) {
		return Format(name), nil
	}
	return "", fmt.Errorf("there is no format called '%s'; the formats are: %s", display.Echo(name), strings.Join(FormatNames(), ", "))
}

// Limits of one [Call].
const (
	// MaxInput is the largest size in bytes of a call or a list of calls: the size of the largest
	// file that a tool reads.
	MaxInput = 16 << 20
	// maxCalls is the maximum number of calls in a list. OpenAI accepts at most 128 tools, and no
	// model is known to make more calls in one answer.
	maxCalls = 128
	// maxOutput bounds the total size of the texts in a list of answers, in bytes. The first answer
	// always fits. Calls beyond the bound are answered by an error.
	maxOutput = 32 << 20
)

// ErrInput matches every error of [Call] about its input. The input is not JSON, not a call in the
// given format, or too large. No tool was called then.
var ErrInput = errors.New("unusable tool call")

func inputError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInput, fmt.Sprintf(format, args...))
}

// Call parses one call or a list of calls, executes them in order, and returns the answering
// message or list of messages. A list may be a message's whole content: its items of other types
// are skipped. The input may also be the vendor's whole response or the message in it; Call then
// returns a list. A mistake of the model, in a tool's name or its arguments, is answered by an
// error message for the model:
//
//	{"error":"Unknown tool: X"}
//	{"error":"Invalid tool arguments: …"}
//
// Any other fault of the input is an error with [ErrInput] in its chain; then nothing is
// executed. The only other error is the context's.
func Call(ctx context.Context, h *tool.Host, tools []*tool.Tool, f Format, input []byte) (json.RawMessage, error) {
	calls, list, err := parse(f, input)
	if err != nil {
		return nil, err
	}
	answers := make([]json.RawMessage, 0, len(calls))
	budget := maxOutput
	for i, c := range calls {
		r, err := execute(ctx, h, tools, f, c)
		if err != nil {
			return nil, err
		}
		if budget -= len(r.Text); budget < 0 && i > 0 {
			r = refusal("The answers to these calls are too large together; make this call alone")
			budget += len(r.Text)
		}
		a, err := answer(f, c, r)
		if err != nil {
			return nil, err
		}
		answers = append(answers, a)
	}
	if list {
		return rawjson.Marshal(answers)
	}
	return answers[0], nil
}

// call is one call in any format.
type call struct {
	item      bool            // of OpenAI's Responses
	id        json.RawMessage // a JSON string; nil if the call has none
	name      string
	arguments json.RawMessage
}

// execute runs one call. [tool.Host] observes the call even if no tool answers it.
func execute(ctx context.Context, h *tool.Host, tools []*tool.Tool, f Format, c call) (tool.Result, error) {
	args, err := parseArguments(f, c.arguments)
	i := slices.IndexFunc(tools, func(t *tool.Tool) bool { return t.Name == c.name })
	message := ""
	switch {
	case i < 0:
		message = "Unknown tool: " + echo(c.name)
	case err != nil:
		message = "Invalid tool arguments: " + err.Error()
	default:
		return tools[i].Call(ctx, h, args)
	}
	if err != nil {
		args = c.arguments // unchanged
	}
	return h.Watch(tool.Event{Tool: c.name, Arguments: args}, func() (tool.Result, error) { return refusal(message), nil })
}

// Execute is [Call] for one parsed call, and returns its result. arguments is the text that the
// model wrote. The error is the context's.
func Execute(ctx context.Context, h *tool.Host, tools []*tool.Tool, name, arguments string) (tool.Result, error) {
	text, err := rawjson.Marshal(arguments)
	if err != nil {
		return tool.Result{}, err
	}
	return execute(ctx, h, tools, OpenAI, call{name: name, arguments: text})
}

// refusal returns an error result without calling a tool.
func refusal(message string) tool.Result {
	object := map[string]string{"error": message}
	text, _ := rawjson.Marshal(object) // cannot fail for two strings
	return tool.Result{Text: string(text), Object: object, IsError: true}
}

// parseArguments returns the arguments for a tool: the JSON itself, or the JSON in a string.
// Missing arguments count as an empty object. Other kinds of JSON reach the tool, which refuses
// them in the words of its contract, as over MCP. A string that is not JSON reaches no tool. MCP
// does not send arguments as a string.
func parseArguments(f Format, raw json.RawMessage) (json.RawMessage, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) > 0 && raw[0] == '"' && f != MCP {
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, fmt.Errorf("not valid JSON: %w", err)
		}
		var whole json.RawMessage
		switch err := json.Unmarshal([]byte(text), &whole); {
		case strings.TrimSpace(text) == "":
			raw = nil
		case err == nil:
			raw = bytes.TrimSpace(whole)
		case f == OpenAI: // in these formats the arguments are always a string
			return nil, fmt.Errorf("not valid JSON: %w", err)
		}
	}
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage("{}"), nil
	}
	return raw, nil
}
