package model

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// answer writes the reply of one turn in a vendor's format.
type answer struct {
	w      http.ResponseWriter
	stream bool
	model  string
	turn   int
}

// id returns an id that is unique to the turn.
func (a *answer) id(kind string) string { return fmt.Sprintf("%s_%04d", kind, a.turn) }

var writers = map[API]func(*answer, Reply){Chat: chat, Responses: responses, Messages: messages, Generate: generate}

type fields = map[string]any

// event sends one server-sent event and flushes it immediately.
func (a *answer) event(name string, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // these values can always be encoded
	}
	a.w.Header().Set("Content-Type", "text/event-stream")
	if name != "" {
		fmt.Fprintf(a.w, "event: %s\n", name)
	}
	fmt.Fprintf(a.w, "data: %s\n\n", data)
	if f, ok := a.w.(http.Flusher); ok {
		f.Flush()
	}
}

func (a *answer) whole(v any) {
	a.w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(a.w).Encode(v)
}

// halves cuts a text in two, so that a client has to join the parts.
func halves(s string) [2]string { return [2]string{s[:len(s)/2], s[len(s)/2:]} }

func arguments(c *Call) string {
	if c.Args == nil {
		return "{}"
	}
	data, err := json.Marshal(c.Args)
	if err != nil {
		panic(err) // these values can always be encoded
	}
	return string(data)
}

// chat implements https://platform.openai.com/docs/api-reference/chat-streaming.
func chat(a *answer, r Reply) {
	id := a.id("chatcmpl")
	usage := fields{"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
	message, reason := fields{"role": "assistant", "content": r.Text}, "stop"
	if r.Call != nil {
		message, reason = fields{"role": "assistant", "content": nil, "tool_calls": []any{fields{
			"id": r.Call.ID, "type": "function", "function": fields{"name": r.Call.Name, "arguments": arguments(r.Call)},
		}}}, "tool_calls"
	}
	if !a.stream {
		a.whole(fields{"id": id, "object": "chat.completion", "created": 1, "model": a.model, "usage": usage,
			"choices": []any{fields{"index": 0, "message": message, "finish_reason": reason}}})
		return
	}
	send := func(delta fields, reason any) {
		a.event("", fields{"id": id, "object": "chat.completion.chunk", "created": 1, "model": a.model,
			"choices": []any{fields{"index": 0, "delta": delta, "finish_reason": reason}}})
	}
	if r.Call == nil {
		send(fields{"role": "assistant", "content": ""}, nil)
		for _, part := range halves(r.Text) {
			send(fields{"content": part}, nil)
		}
	} else {
		send(fields{"role": "assistant", "content": nil, "tool_calls": []any{fields{
			"index": 0, "id": r.Call.ID, "type": "function", "function": fields{"name": r.Call.Name, "arguments": ""},
		}}}, nil)
		for _, part := range halves(arguments(r.Call)) {
			send(fields{"tool_calls": []any{fields{"index": 0, "function": fields{"arguments": part}}}}, nil)
		}
	}
	send(fields{}, reason)
	a.event("", fields{"id": id, "object": "chat.completion.chunk", "created": 1, "model": a.model, "choices": []any{}, "usage": usage})
	fmt.Fprint(a.w, "data: [DONE]\n\n")
}

// messages implements https://docs.claude.com/en/docs/build-with-claude/streaming.
func messages(a *answer, r Reply) {
	block, reason := fields{"type": "text", "text": r.Text}, "end_turn"
	if r.Call != nil {
		block, reason = fields{"type": "tool_use", "id": r.Call.ID, "name": r.Call.Name, "input": r.Call.Args}, "tool_use"
	}
	message := fields{"id": a.id("msg"), "type": "message", "role": "assistant", "model": a.model, "content": []any{block},
		"stop_reason": reason, "stop_sequence": nil, "usage": fields{"input_tokens": 100, "output_tokens": 10}}
	if !a.stream {
		a.whole(message)
		return
	}
	message["content"], message["stop_reason"] = []any{}, nil
	a.event("message_start", fields{"type": "message_start", "message": message})
	kind, key, value := "text_delta", "text", r.Text
	begin := fields{"type": "text", "text": ""}
	if r.Call != nil {
		kind, key, value = "input_json_delta", "partial_json", arguments(r.Call)
		begin = fields{"type": "tool_use", "id": r.Call.ID, "name": r.Call.Name, "input": fields{}}
	}
	a.event("content_block_start", fields{"type": "content_block_start", "index": 0, "content_block": begin})
	for _, part := range halves(value) {
		a.event("content_block_delta", fields{"type": "content_block_delta", "index": 0, "delta": fields{"type": kind, key: part}})
	}
	a.event("content_block_stop", fields{"type": "content_block_stop", "index": 0})
	a.event("message_delta", fields{"type": "message_delta", "delta": fields{"stop_reason": reason, "stop_sequence": nil}, "usage": fields{"output_tokens": 10}})
	a.event("message_stop", fields{"type": "message_stop"})
}

// generate implements https://ai.google.dev/api/generate-content.
func generate(a *answer, r Reply) {
	part := fields{"text": r.Text}
	if r.Call != nil {
		part = fields{"functionCall": fields{"id": r.Call.ID, "name": r.Call.Name, "args": r.Call.Args}}
	}
	send := a.whole
	if a.stream {
		send = func(v any) { a.event("", v) }
	}
	send(fields{"candidates": []any{fields{"index": 0, "finishReason": "STOP", "content": fields{"role": "model", "parts": []any{part}}}},
		"usageMetadata": fields{"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110}, "modelVersion": a.model})
}

// responses implements https://platform.openai.com/docs/api-reference/responses-streaming.
func responses(a *answer, r Reply) {
	item := a.item(r)
	response := fields{"id": a.id("resp"), "object": "response", "created_at": 1, "model": a.model, "status": "completed", "output": []any{item},
		"usage": fields{"input_tokens": 100, "input_tokens_details": fields{"cached_tokens": 0}, "output_tokens": 10,
			"output_tokens_details": fields{"reasoning_tokens": 0}, "total_tokens": 110}}
	if !a.stream {
		a.whole(response)
		return
	}
	number := 0
	send := func(name string, v fields) {
		v["type"], v["sequence_number"] = name, number
		number++
		a.event(name, v)
	}
	begun := fields{"id": a.id("resp"), "object": "response", "created_at": 1, "model": a.model, "status": "in_progress", "output": []any{}}
	send("response.created", fields{"response": begun})
	send("response.in_progress", fields{"response": begun})
	at := func(v fields) fields {
		v["output_index"], v["item_id"] = 0, item["id"]
		return v
	}
	added := fields{}
	for key, v := range item {
		added[key] = v
	}
	added["status"] = "in_progress"
	switch item["type"] {
	case "message":
		added["content"] = []any{}
		send("response.output_item.added", at(fields{"item": added}))
		send("response.content_part.added", at(fields{"content_index": 0, "part": fields{"type": "output_text", "text": "", "annotations": []any{}}}))
		for _, part := range halves(r.Text) {
			send("response.output_text.delta", at(fields{"content_index": 0, "delta": part, "logprobs": []any{}}))
		}
		send("response.output_text.done", at(fields{"content_index": 0, "text": r.Text, "logprobs": []any{}}))
		send("response.content_part.done", at(fields{"content_index": 0, "part": fields{"type": "output_text", "text": r.Text, "annotations": []any{}}}))
	case "function_call":
		added["arguments"] = ""
		send("response.output_item.added", at(fields{"item": added}))
		for _, part := range halves(arguments(r.Call)) {
			send("response.function_call_arguments.delta", at(fields{"delta": part}))
		}
		send("response.function_call_arguments.done", at(fields{"name": r.Call.Name, "arguments": arguments(r.Call)}))
	default:
		send("response.output_item.added", at(fields{"item": added}))
	}
	send("response.output_item.done", at(fields{"item": item}))
	send("response.completed", fields{"response": response})
}

func (a *answer) item(r Reply) fields {
	c := r.Call
	if c == nil {
		return fields{"id": a.id("msg"), "type": "message", "role": "assistant", "status": "completed",
			"content": []any{fields{"type": "output_text", "text": r.Text, "annotations": []any{}}}}
	}
	item := fields{"id": a.id("item"), "call_id": c.ID, "status": "completed"}
	switch c.Kind {
	case Custom:
		item["type"], item["name"], item["input"] = "custom_tool_call", c.Name, c.Input
	case ToolSearch:
		item["type"], item["execution"], item["arguments"] = "tool_search_call", "client", c.Args
	default:
		item["type"], item["name"], item["arguments"] = "function_call", c.Name, arguments(c)
	}
	if c.Namespace != "" {
		item["namespace"] = c.Namespace
	}
	return item
}
