package model

import (
	"encoding/json"
	"net/http"
	"strings"
)

// chat is the wire of Chat Completions
// (platform.openai.com/docs/api-reference/chat).
type chat struct{}

func (chat) paths() (turn, models string) { return "chat/completions", "models" }

func (chat) authorize(h http.Header, key string) {
	if key != "" {
		h.Set("Authorization", "Bearer "+key)
	}
}

type chatMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
	// Of an assistant.
	Calls []chatCall `json:"tool_calls,omitempty"`
	// Of a tool.
	CallID string `json:"tool_call_id,omitempty"`
	Name   string `json:"name,omitempty"`
}

type chatCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

func (chat) body(c *Client, r Request) (members, error) {
	var all []any
	if r.System != "" {
		all = append(all, chatMessage{Role: "system", Content: r.System})
	}
	for _, m := range r.Messages {
		switch {
		case m.Role == Tool:
			for _, result := range m.Results {
				all = append(all, chatMessage{Role: "tool", Content: result.Text, CallID: result.CallID, Name: result.Name})
			}
		case m.Role == Assistant && c.owns(m):
			all = append(all, m.Raw)
		default:
			made := chatMessage{Role: string(m.Role), Content: m.Text}
			for _, call := range m.Calls {
				made.Calls = append(made.Calls, chatCall{call.ID, "function", chatFunction{call.Name, string(call.Arguments)}})
			}
			all = append(all, made)
		}
	}
	written, err := marshal(all)
	if err != nil {
		return nil, err
	}
	b := members{
		"model":          quoted(c.endpoint.Model),
		"messages":       written,
		"stream":         json.RawMessage("true"),
		"stream_options": json.RawMessage(`{"include_usage":true}`),
	}
	if has(r.Tools) {
		b["tools"] = r.Tools
	}
	if r.MaxTokens > 0 {
		b["max_tokens"] = number(r.MaxTokens)
	}
	return b, nil
}

func (chat) reader(used map[string]bool, text func(string)) reader {
	return &completion{used: used, show: text, message: value{members: map[string]*value{}}}
}

// completion puts the answer of Chat Completions together.
type completion struct {
	used    map[string]bool
	show    func(string)
	message value // its members without calls
	calls   calls
	said    strings.Builder
	stop    string
	usage   *Usage
}

// chunk is an event of a stream, or an answer that is not streamed.
type chunk struct {
	Choices []struct {
		Index   int     `json:"index"`
		Delta   members `json:"delta"`
		Message members `json:"message"`
		Stop    string  `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		Input  int `json:"prompt_tokens"`
		Output int `json:"completion_tokens"`
	} `json:"usage"`
	Error json.RawMessage `json:"error"`
}

func (m *completion) event(data []byte) (last bool, err error) {
	if string(data) == "[DONE]" {
		return true, nil
	}
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return false, err
	}
	if has(c.Error) {
		return false, &failure{body: c.Error}
	}
	if c.Usage != nil {
		m.usage = &Usage{Input: c.Usage.Input, Output: c.Usage.Output}
	}
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue
		}
		d := choice.Delta
		if d == nil {
			d = choice.Message
		}
		if choice.Stop != "" {
			m.stop = choice.Stop
		}
		if err := m.add(d); err != nil {
			return false, err
		}
	}
	return false, nil
}

// whole takes an answer without a stream: its message is one delta.
func (m *completion) whole(data []byte) error {
	_, err := m.event(data)
	if err == nil && m.stop == "" {
		m.stop = "stop"
	}
	return err
}

func (m *completion) add(d members) error {
	for key, p := range d {
		switch key {
		case "tool_calls":
			if err := m.calls.add(list(p)); err != nil {
				return err
			}
			continue
		case "content":
			s := text(p)
			m.said.WriteString(s)
			if s != "" {
				m.show(s)
			}
		}
		m.message.member(key).add(key, p, false)
	}
	return nil
}

func (m *completion) end() (Answer, bool) {
	a := Answer{Message: Message{Role: Assistant, Text: m.said.String()}, Stop: m.stop}
	if m.usage != nil {
		a.Usage = *m.usage
	}
	calls, raw, err := m.calls.end(m.used)
	if err != nil {
		return a, false
	}
	a.Message.Calls = calls
	b := members{"content": quoted("")}
	for key, v := range m.message.members {
		b[key] = v.json()
	}
	b["role"] = quoted("assistant")
	if raw != nil {
		b["tool_calls"] = raw
	}
	a.Message.Raw, _ = marshal(b)
	switch {
	case m.stop == "length":
		a.Stop = StopLength
	case len(calls) > 0:
		a.Stop = StopCalls
	case m.stop == "stop":
		a.Stop = StopEnd
	case m.stop == "content_filter":
		a.Stop = StopRefused
	}
	return a, m.stop != ""
}
