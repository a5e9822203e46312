package function

import (
	"encoding/json"

	"github.com/knack-dev/knack/internal/base/rawjson"
	"github.com/knack-dev/knack/tool"
)

// openAIAnswer is the message with a tool's result. Some endpoints send a call without an id. Its
// answer has none either.
type openAIAnswer struct {
	Role    string          `json:"role"`
	ID      json.RawMessage `json:"tool_call_id,omitempty"`
	Name    string          `json:"name"`
	Content string          `json:"content"`
}

// openAIItem is the item with a tool's result in OpenAI's Responses form.
type openAIItem struct {
	Type   string          `json:"type"`
	ID     json.RawMessage `json:"call_id,omitempty"`
	Output string          `json:"output"`
}

type anthropicAnswer struct {
	Type    string          `json:"type"`
	ID      json.RawMessage `json:"tool_use_id,omitempty"`
	Content string          `json:"content"`
	IsError bool            `json:"is_error"`
}

type geminiAnswer struct {
	Response geminiResponse `json:"functionResponse"`
}

// geminiResponse has the text under "output" or "error", the two keys that
// FunctionResponse.response gives a meaning
// (docs.cloud.google.com/python, aiplatform_v1.types.FunctionResponse).
type geminiResponse struct {
	ID       json.RawMessage `json:"id,omitempty"`
	Name     string          `json:"name"`
	Response any             `json:"response"`
}

type mcpAnswer struct {
	Meta       map[string]any `json:"_meta,omitempty"`
	Content    []mcpText      `json:"content"`
	Structured any            `json:"structuredContent,omitempty"`
	IsError    bool           `json:"isError"`
}

type mcpText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// answer writes the message that answers a call.
func answer(f Format, c call, r tool.Result) (json.RawMessage, error) {
	switch f {
	case Anthropic:
		return rawjson.Marshal(anthropicAnswer{Type: "tool_result", ID: c.id, Content: r.Text, IsError: r.IsError})
	case Gemini:
		return rawjson.Marshal(geminiAnswer{geminiResponse{ID: c.id, Name: c.name, Response: geminiResult(r)}})
	case MCP:
		return rawjson.Marshal(mcpAnswer{Meta: r.Meta, Content: []mcpText{{"text", r.Text}}, Structured: r.Object, IsError: r.IsError})
	}
	if c.item {
		return rawjson.Marshal(openAIItem{Type: "function_call_output", ID: c.id, Output: r.Text})
	}
	return rawjson.Marshal(openAIAnswer{Role: "tool", ID: c.id, Name: c.name, Content: r.Text})
}

func geminiResult(r tool.Result) map[string]string {
	if refusal, ok := r.Object.(map[string]string); ok && r.IsError {
		return refusal // {"error": …} as an object, not as a string
	}
	if r.IsError {
		return map[string]string{"error": r.Text}
	}
	return map[string]string{"output": r.Text}
}
