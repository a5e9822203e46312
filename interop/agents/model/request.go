package model

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// API is one vendor's format of requests and answers.
type API string

// The formats.
const (
	Chat      API = "Chat Completions"
	Responses API = "Responses"
	Messages  API = "Messages"
	Generate  API = "generateContent"
)

// Request is a client's request for one turn.
type Request struct {
	API    API
	Model  string
	Header http.Header
	Raw    []byte
	// Tools lists the tools that the model sees. It does not include tools whose loading is
	// deferred.
	Tools  []Tool
	stream bool
	body   map[string]any
}

// Tool is one tool that a model may call.
type Tool struct {
	Name        string
	Namespace   string // only in Responses
	Description string
	Kind        Kind
}

func parse(api API, data []byte) (Request, error) {
	r := Request{API: api, Raw: data}
	if err := json.Unmarshal(data, &r.body); err != nil {
		return r, fmt.Errorf("the body is not a JSON object: %w", err)
	}
	r.Model, r.stream = text(r.body["model"]), r.body["stream"] == true
	reveal(r.body)
	r.Tools = tools(r.body["tools"], "")
	if api == Responses {
		// A search returns the tools that it found in its result.
		for _, item := range list(r.body["input"]) {
			if m := objectOf(item); text(m["type"]) == "tool_search_output" || text(m["type"]) == "additional_tools" {
				r.Tools = append(r.Tools, tools(m["tools"], "")...)
			}
		}
	}
	return r, nil
}

// reveal removes the mark of deferral from the tools that a search has found. In Messages, the
// search's result contains references, which the vendor's server replaces with the tools. In
// Responses, it contains the tools.
func reveal(body map[string]any) {
	found := map[string]bool{}
	var walk func(v any, inside bool)
	walk = func(v any, inside bool) {
		switch v := v.(type) {
		case []any:
			for _, item := range v {
				walk(item, inside)
			}
		case map[string]any:
			if inside {
				delete(v, "defer_loading")
			}
			if v["type"] == "tool_reference" {
				found[text(v["tool_name"])] = true
			}
			walk(v["content"], false)
			walk(v["tools"], inside || v["type"] == "tool_search_output")
		}
	}
	walk(body["messages"], false)
	walk(body["input"], false)
	for _, item := range list(body["tools"]) {
		if m := objectOf(item); found[text(m["name"])] {
			delete(m, "defer_loading")
		}
	}
}

// tools reads the tools in the formats of all vendors. A key that several formats share means the
// same in each.
func tools(v any, namespace string) (out []Tool) {
	for _, item := range list(v) {
		m := objectOf(item)
		switch {
		case m["defer_loading"] == true:
		case m["functionDeclarations"] != nil:
			out = append(out, tools(m["functionDeclarations"], "")...)
		case m["type"] == "namespace":
			out = append(out, tools(m["tools"], text(m["name"]))...)
		case m["type"] == "tool_search":
			out = append(out, Tool{Name: "tool_search", Kind: ToolSearch, Description: text(m["description"])})
		case m["type"] == "custom":
			out = append(out, Tool{Name: text(m["name"]), Namespace: namespace, Kind: Custom, Description: text(m["description"])})
		case m["function"] != nil:
			f := objectOf(m["function"])
			out = append(out, Tool{Name: text(f["name"]), Description: text(f["description"])})
		case text(m["name"]) != "":
			out = append(out, Tool{Name: text(m["name"]), Namespace: namespace, Description: text(m["description"])})
		}
	}
	return out
}

// Text returns every string in the request that the model reads, on separate lines: instructions,
// messages, and visible tools.
func (r Request) Text() string { return strings.Join(stringsIn(r.body, nil), "\n") }

// Messages returns the same as [Request.Text], but without the tools.
func (r Request) Messages() string {
	return strings.Join(stringsIn(r.body, func(key string) bool { return key == "tools" }), "\n")
}

// stringsIn returns the strings in a value, in the order of its keys. It leaves out the keys for which
// skip returns true.
func stringsIn(v any, skip func(key string) bool) (out []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, item := range v {
			out = append(out, stringsIn(item, skip)...)
		}
	case map[string]any:
		if v["defer_loading"] == true {
			return nil
		}
		keys := make([]string, 0, len(v))
		for key := range v {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		for _, key := range keys {
			if skip == nil || !skip(key) {
				out = append(out, stringsIn(v[key], skip)...)
			}
		}
	}
	return out
}

// Result returns the result of a call that the client sent, and whether there is one. If the client
// sends no ids, Result returns the last result.
func (r Request) Result(id string) (string, bool) {
	var found, last []string
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, item := range v {
				walk(item)
			}
		case map[string]any:
			call, content, ok := result(v)
			if !ok {
				for _, key := range []string{"messages", "input", "contents", "content", "parts"} {
					walk(v[key])
				}
				return
			}
			last = []string{content}
			if call == id {
				found = append(found, content)
			}
		}
	}
	walk(r.body)
	if found == nil && r.API == Generate {
		found = last
	}
	return strings.Join(found, "\n"), found != nil
}

// result reads an item that contains the result of a call.
func result(m map[string]any) (id, content string, ok bool) {
	if f := objectOf(m["functionResponse"]); f != nil {
		return text(f["id"]), strings.Join(texts(f["response"]), "\n"), true
	}
	switch {
	case m["role"] == "tool":
		return text(m["tool_call_id"]), strings.Join(texts(m["content"]), "\n"), true
	case m["type"] == "tool_result":
		return text(m["tool_use_id"]), strings.Join(texts(m["content"]), "\n"), true
	}
	switch m["type"] {
	case "function_call_output", "custom_tool_call_output":
		return text(m["call_id"]), strings.Join(texts(m["output"]), "\n"), true
	case "tool_search_output":
		return text(m["call_id"]), strings.Join(stringsIn(m["tools"], nil), "\n"), true
	}
	return "", "", false
}

// texts returns the strings of a result without the type names of its parts.
func texts(v any) []string { return stringsIn(v, func(key string) bool { return key == "type" }) }

func list(v any) []any {
	out, _ := v.([]any)
	return out
}

func objectOf(v any) map[string]any {
	out, _ := v.(map[string]any)
	return out
}

func text(v any) string {
	out, _ := v.(string)
	return out
}
