package model

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/knack-dev/knack/internal/base/rawjson"
)

// messages is the wire of Anthropic's Messages (docs.claude.com/en/api/messages).
type messages struct{}

// version is the only version of the wire with the streams that this client reads
// (docs.claude.com/en/api/versioning).
const version = "2023-06-01"

func (messages) paths() (turn, models string) { return "v1/messages", "v1/models" }

func (messages) authorize(h http.Header, key string) {
	h.Set("Anthropic-Version", version)
	if key != "" {
		h.Set("X-Api-Key", key)
	}
}

type textBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type useBlock struct {
	Type  string          `json:"type"`
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

type resultBlock struct {
	Type    string `json:"type"`
	ID      string `json:"tool_use_id"`
	Content string `json:"content"`
	IsError bool   `json:"is_error"`
}

type turnMessage struct {
	Role    string `json:"role"`
	Content []any  `json:"content"`
}

func (messages) body(c *Client, r Request) (members, error) {
	all := []turnMessage{}
	// The protocol requires all results in the one message after their calls, and refuses blank
	// texts.
	say := func(role Role, blocks ...any) {
		if n := len(all); n > 0 && all[n-1].Role == string(role) {
			all[n-1].Content = append(all[n-1].Content, blocks...)
		} else if len(blocks) > 0 {
			all = append(all, turnMessage{string(role), blocks})
		}
	}
	for _, m := range r.Messages {
		var blocks []any
		if m.Role == Assistant && c.owns(m) {
			for _, b := range list(object(m.Raw)["content"]) {
				blocks = append(blocks, b)
			}
			say(Assistant, blocks...)
			continue
		}
		for _, result := range m.Results {
			blocks = append(blocks, resultBlock{"tool_result", result.CallID, result.Text, result.IsError})
		}
		if strings.TrimSpace(m.Text) != "" {
			blocks = append(blocks, textBlock{"text", m.Text})
		}
		for _, call := range m.Calls {
			blocks = append(blocks, useBlock{"tool_use", call.ID, call.Name, sendable(call.Arguments)})
		}
		role := User
		if m.Role == Assistant {
			role = Assistant
		}
		say(role, blocks...)
	}
	written, err := rawjson.Marshal(all)
	if err != nil {
		return nil, err
	}
	limit := DefaultMaxTokens
	if r.MaxTokens > 0 {
		limit = r.MaxTokens
	}
	b := members{"model": quoted(c.endpoint.Model), "messages": written, "stream": json.RawMessage("true"), "max_tokens": number(limit)}
	if r.System != "" {
		if b["system"], err = rawjson.Marshal([]textBlock{{"text", r.System}}); err != nil {
			return nil, err
		}
	}
	if has(r.Tools) {
		b["tools"] = r.Tools
	}
	return b, nil
}

func (messages) reader(used map[string]bool, show func(string)) reader {
	return &blocks{used: used, speech: speech{show: show}, at: map[string]*block{}}
}

// blocks assembles an answer of Messages.
type blocks struct {
	used   map[string]bool
	speech speech
	all    []*block
	at     map[string]*block // by index
	stop   string
	begun  bool
	done   bool
	size   int
	usage  Usage
}

// block is one block of the content.
type block struct {
	value value
	input []byte // the pieces of a call's arguments
}

func (m *blocks) text() string { return m.speech.end() }

func (m *blocks) event(data []byte) (last bool, err error) {
	var o members
	if err := json.Unmarshal(data, &o); err != nil {
		return false, err
	}
	if m.size += len(data) + memberSize; m.size > maxAnswer {
		return false, errLarge
	}
	switch index := string(o["index"]); text(o["type"]) {
	case "message_start":
		m.begun = true
		m.count(object(o["message"])["usage"])
	case "content_block_start":
		m.at[index] = m.open(o["content_block"])
	case "content_block_delta":
		if b := m.at[index]; b != nil {
			m.delta(b, object(o["delta"]))
		}
	case "message_delta":
		if stop := text(object(o["delta"])["stop_reason"]); stop != "" {
			m.stop = stop
		}
		m.count(o["usage"])
	case "message_stop":
		m.done = true
		return true, nil
	default:
		return false, failureOf(o) // a ping, or a newer event
	}
	return false, nil
}

func (m *blocks) open(raw json.RawMessage) *block {
	b := &block{}
	b.value.add("", raw, false)
	m.all = append(m.all, b)
	if o := object(raw); text(o["type"]) == "text" {
		m.speech.add(o["text"])
	}
	return b
}

func (m *blocks) delta(b *block, d members) {
	if b.value.isEmpty() || b.value.kind() != '{' {
		return
	}
	b.value.expand()
	switch text(d["type"]) {
	case "text_delta":
		m.speech.add(d["text"])
		b.value.member("text").add("text", d["text"], false)
	case "input_json_delta":
		b.input = append(b.input, text(d["partial_json"])...)
	case "thinking_delta":
		b.value.member("thinking").add("thinking", d["thinking"], false)
	case "signature_delta":
		b.value.member("signature").add("signature", d["signature"], true)
	case "citations_delta":
		if has(d["citation"]) {
			b.value.member("citations").add("citations", json.RawMessage("["+string(d["citation"])+"]"), false)
		}
	}
}

// count adds reported tokens: the request's at the start, the answer's at the end.
func (m *blocks) count(raw json.RawMessage) {
	u := object(raw)
	input := 0
	for _, key := range []string{"input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"} {
		n, _ := strconv.Atoi(string(u[key]))
		input += n
	}
	if input > 0 {
		m.usage.Input = input
	}
	if n, err := strconv.Atoi(string(u["output_tokens"])); err == nil {
		m.usage.Output = n
	}
}

// readWhole reads an unstreamed answer.
func (m *blocks) readWhole(data []byte) error {
	var o members
	if err := json.Unmarshal(data, &o); err != nil {
		return err
	}
	if err := failureOf(o); err != nil {
		return err
	}
	content := list(o["content"])
	if content == nil {
		return errNoModel
	}
	for _, raw := range content {
		m.open(raw)
	}
	m.count(o["usage"])
	m.stop, m.begun, m.done = text(o["stop_reason"]), true, true
	return nil
}

func (m *blocks) end() (Answer, error) {
	switch {
	case !m.begun && len(m.all) == 0:
		return Answer{}, errNothing
	case !m.done && m.stop == "":
		return Answer{}, errCut
	}
	a := Answer{Message: Message{Role: Assistant, Text: m.speech.end()}, Usage: m.usage, Stop: m.stop}
	content := []json.RawMessage{}
	came := map[string]bool{}
	for _, b := range m.all {
		raw := b.value.json()
		o := object(raw)
		switch text(o["type"]) {
		case "text":
			if strings.TrimSpace(text(o["text"])) == "" {
				continue // the wire does not accept it back
			}
		case "tool_use":
			call, err := b.call(o)
			if err != nil {
				return Answer{}, err
			}
			if call.ID == "" || came[call.ID] {
				call.ID = madeID(m.used, came)
			}
			came[call.ID] = true
			a.Message.Calls = append(a.Message.Calls, call)
			o["id"], o["input"] = quoted(call.ID), sendable(call.Arguments)
			if raw, err = rawjson.Marshal(o); err != nil {
				return Answer{}, err
			}
		case "server_tool_use":
			if len(b.input) > 0 {
				o["input"] = sendable(b.input)
				raw, _ = rawjson.Marshal(o) // cannot fail: the members are valid JSON
			}
		}
		content = append(content, raw)
	}
	written, err := rawjson.Marshal(content)
	if err == nil {
		a.Message.Raw, err = rawjson.Marshal(members{"role": quoted(string(Assistant)), "content": written})
	}
	switch {
	case m.stop == "max_tokens", m.stop == "model_context_window_exceeded":
		a.Stop = StopLength
	case len(a.Message.Calls) > 0:
		a.Stop = StopCalls
	case m.stop == "end_turn", m.stop == "stop_sequence", m.stop == "":
		a.Stop = StopEnd
	case m.stop == "refusal":
		a.Stop = StopRefused
	}
	return a, err
}

// call returns the call of a block. Its arguments arrive in pieces, or with the block.
func (b *block) call(o members) (Call, error) {
	c := Call{ID: text(o["id"]), Name: text(o["name"]), Arguments: argumentsOf(string(b.input))}
	if len(b.input) == 0 && object(o["input"]) != nil {
		c.Arguments = o["input"]
	}
	if c.Name == "" {
		return c, errNameless
	}
	return c, nil
}
