package model

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/knack-dev/knack/internal/base/rawjson"
)

// chat is the wire of Chat Completions (platform.openai.com/docs/api-reference/chat).
type chat struct{}

func (chat) paths() (turn, models string) { return "chat/completions", "models" }

func (chat) authorize(h http.Header, key string) {
	if key != "" {
		h.Set("Authorization", "Bearer "+key)
	}
}

type chatMessage struct {
	Role    string     `json:"role"`
	Content *string    `json:"content,omitempty"`
	Calls   []chatCall `json:"tool_calls,omitempty"`   // of an assistant
	CallID  string     `json:"tool_call_id,omitempty"` // of a tool
	Name    string     `json:"name,omitempty"`         // of a tool
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
	all := []any{}
	if r.System != "" {
		all = append(all, chatMessage{Role: "system", Content: &r.System})
	}
	for _, m := range r.Messages {
		switch {
		case m.Role == Tool:
			for _, result := range m.Results {
				all = append(all, chatMessage{Role: "tool", Content: &result.Text, CallID: result.CallID, Name: result.Name})
			}
		case m.Role == Assistant && c.owns(m):
			all = append(all, without(m.Raw, c.dropped.list()))
		default:
			made := chatMessage{Role: string(m.Role)}
			if m.Text != "" || len(m.Calls) == 0 {
				made.Content = &m.Text
			}
			for _, call := range m.Calls {
				made.Calls = append(made.Calls, chatCall{call.ID, "function", chatFunction{call.Name, string(sendable(call.Arguments))}})
			}
			all = append(all, made)
		}
	}
	written, err := rawjson.Marshal(all)
	if err != nil {
		return nil, err
	}
	b := members{"model": quoted(c.endpoint.Model), "messages": written, "stream": json.RawMessage("true")}
	if !c.dropped.has("stream_options") {
		b["stream_options"] = json.RawMessage(`{"include_usage":true}`)
	}
	if has(r.Tools) {
		b["tools"] = r.Tools
	}
	if r.MaxTokens > 0 {
		limit := "max_tokens" // every server knows it except OpenAI's newer models
		if c.dropped.has(limit) {
			limit = "max_completion_tokens"
		}
		b[limit] = number(r.MaxTokens)
	}
	return b, nil
}

func (chat) reader(used map[string]bool, show func(string)) reader {
	return &completion{used: used, speech: speech{show: show}, message: value{members: map[string]*value{}}}
}

// completion assembles an answer of Chat Completions.
type completion struct {
	used    map[string]bool
	speech  speech
	message value // its members without the calls
	calls   calls
	stop    string
	done    bool // the stream has announced its end
	size    int
	usage   Usage
}

func (m *completion) text() string { return m.speech.end() }

func (m *completion) event(data []byte) (last bool, err error) {
	if string(data) == "[DONE]" {
		m.done = true
		return true, nil
	}
	var o members
	if err := json.Unmarshal(data, &o); err != nil {
		return false, err
	}
	if err := failureOf(o); err != nil {
		return false, err
	}
	m.count(o["usage"])
	for _, raw := range list(o["choices"]) {
		choice := object(raw)
		if n, err := strconv.Atoi(string(choice["index"])); err == nil && n != 0 {
			continue // only the first of several choices counts
		}
		if err := m.choice(choice); err != nil {
			return false, err
		}
	}
	return false, nil
}

func (m *completion) choice(choice members) error {
	if stop := text(choice["finish_reason"]); stop != "" {
		m.stop = stop
	}
	if d := object(choice["delta"]); d != nil {
		return m.add(d)
	}
	return m.add(object(choice["message"]))
}

func (m *completion) count(raw json.RawMessage) {
	u := object(raw)
	if u == nil {
		return
	}
	m.usage.Input, _ = strconv.Atoi(string(u["prompt_tokens"]))
	m.usage.Output, _ = strconv.Atoi(string(u["completion_tokens"]))
}

// readWhole reads an unstreamed answer. Its message counts as one delta.
func (m *completion) readWhole(data []byte) error {
	if all := list(data); len(all) > 0 {
		data = all[0] // Gemini writes failures in a list
	}
	var o members
	if err := json.Unmarshal(data, &o); err != nil {
		return err
	}
	if err := failureOf(o); err != nil {
		return err
	}
	choices := list(o["choices"])
	if len(choices) == 0 {
		return errNoModel
	}
	m.done = true
	m.count(o["usage"])
	return m.choice(object(choices[0]))
}

func (m *completion) add(d members) error {
	for key, p := range d {
		if m.size += len(key) + len(p) + memberSize; m.size > maxAnswer {
			return errLarge
		}
		switch key {
		case "tool_calls":
			if err := m.calls.add(list(p)); err != nil {
				return err
			}
			continue
		case "content":
			m.content(p)
			continue
		case "refusal":
			m.speech.add(p)
		}
		m.message.member(key).add(key, p, false)
	}
	return nil
}

// content adds a text. Some endpoints send a list of parts, of which only the texts count.
func (m *completion) content(p json.RawMessage) {
	parts := []json.RawMessage{p}
	if all := list(p); all != nil {
		parts = nil
		for _, part := range all {
			if o := object(part); text(o["type"]) == "text" {
				parts = append(parts, o["text"])
			}
		}
	}
	for _, part := range parts {
		m.speech.add(part)
		m.message.member("content").add("content", part, false)
	}
}

func (m *completion) end() (Answer, error) {
	calls, written, err := m.calls.end(m.used)
	if err != nil {
		return Answer{}, err
	}
	switch {
	case m.size == 0 && m.stop == "":
		return Answer{}, errNothing
	case !m.done && m.stop == "":
		return Answer{}, errCut
	}
	b := m.message.object()
	b["role"] = quoted(string(Assistant))
	if len(calls) > 0 {
		if b["tool_calls"], err = rawjson.Marshal(written); err != nil {
			return Answer{}, err
		}
	} else if !has(b["content"]) && !has(b["refusal"]) {
		b["content"] = quoted("")
	}
	raw, err := rawjson.Marshal(b)
	a := Answer{Message: Message{Role: Assistant, Text: m.speech.end(), Calls: calls, Raw: raw}, Usage: m.usage, Stop: m.stop}
	switch {
	case m.stop == "length":
		a.Stop = StopLength
	case len(calls) > 0:
		a.Stop = StopCalls
	case m.stop == "stop", m.stop == "":
		a.Stop = StopEnd
	case m.stop == "content_filter":
		a.Stop = StopRefused
	}
	return a, err
}
