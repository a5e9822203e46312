package model

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

const (
	chatTools     = `[{"type":"function","function":{"name":"skill","description":"Load <one>","parameters":{"type":"object"}}}]`
	messagesTools = `[{"name":"skill","description":"Load <one>","input_schema":{"type":"object"}}]`
)

// conversation returns a request with everything that a message can have.
func conversation() Request {
	return Request{System: "You help.", Tools: json.RawMessage(chatTools), MaxTokens: 99, Messages: []Message{
		{Role: User, Text: "Two <b>skills</b>, please"},
		{Role: Assistant, Text: "I look.", Calls: []Call{{"a", "skill", json.RawMessage(`{"name":"pdf"}`)}, {"b", "skill", json.RawMessage(`{"name":`)}}},
		{Role: Tool, Results: []Result{{CallID: "a", Name: "skill", Text: "# PDF"}, {CallID: "b", Name: "skill", Text: "", IsError: true}}},
		{Role: User, Text: "And?"},
		{Role: Assistant, Text: " "},
		{Role: User, Text: "Well?"},
	}}
}

// TestBody checks the request bodies of both APIs.
func TestBody(t *testing.T) {
	r := conversation()
	body, err := New(Endpoint{Model: "m", Key: "canary"}, Options{}).Body(r)
	must(t, err)
	sameJSON(t, "Chat Completions", body, `{"model":"m","stream":true,"stream_options":{"include_usage":true},"max_tokens":99,"tools":`+chatTools+`,"messages":[
		{"role":"system","content":"You help."},{"role":"user","content":"Two <b>skills</b>, please"},
		{"role":"assistant","content":"I look.","tool_calls":[{"id":"a","type":"function","function":{"name":"skill","arguments":"{\"name\":\"pdf\"}"}},{"id":"b","type":"function","function":{"name":"skill","arguments":"{\"INVALID_JSON\":\"{\\\"name\\\":\"}"}}]},
		{"role":"tool","tool_call_id":"a","name":"skill","content":"# PDF"},{"role":"tool","tool_call_id":"b","name":"skill","content":""},
		{"role":"user","content":"And?"},{"role":"assistant","content":" "},{"role":"user","content":"Well?"}]}`)
	again, err := New(Endpoint{Model: "m"}, Options{}).Body(r)
	if err != nil || string(again) != string(body) || !strings.Contains(string(body), "<b>") {
		t.Errorf("the same conversation has other bytes, or escapes: %s, %v", again, err)
	}
	r.Tools = json.RawMessage(messagesTools)
	if body, err = New(Endpoint{Wire: Anthropic, Model: "m"}, Options{}).Body(r); err != nil {
		t.Fatal(err)
	}
	sameJSON(t, "Messages", body, `{"model":"m","stream":true,"max_tokens":99,"tools":`+messagesTools+`,"system":[{"type":"text","text":"You help."}],"messages":[
		{"role":"user","content":[{"type":"text","text":"Two <b>skills</b>, please"}]},
		{"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"a","name":"skill","input":{"name":"pdf"}},{"type":"tool_use","id":"b","name":"skill","input":{"INVALID_JSON":"{\"name\":"}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"# PDF","is_error":false},{"type":"tool_result","tool_use_id":"b","content":"","is_error":true},{"type":"text","text":"And?"},{"type":"text","text":"Well?"}]}]}`)
}

// TestBodyExtra checks that unset fields are omitted, and that fields of the user are kept.
func TestBodyExtra(t *testing.T) {
	extra := members{"temperature": json.RawMessage("0.10"), "stream": json.RawMessage("false"), "max_tokens": json.RawMessage("7")}
	for wire, want := range map[Wire]string{
		OpenAI:    `{"model":"m","messages":[{"role":"user","content":"Hi"}],"temperature":0.10,"stream":false,"max_tokens":7}`,
		Anthropic: `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]}],"temperature":0.10,"stream":false,"max_tokens":7}`,
	} {
		for _, tools := range []string{"", "null", " [] "} {
			r := Request{Messages: []Message{{Role: User, Text: "Hi"}}, Tools: json.RawMessage(tools)}
			body, err := New(Endpoint{Wire: wire, Model: "m", Extra: extra}, Options{}).Body(r)
			must(t, err)
			sameJSON(t, string(wire), body, want)
		}
	}
	if _, err := New(Endpoint{Model: "m", Extra: members{"x": json.RawMessage("{")}}, Options{}).Body(hello); err == nil {
		t.Error("no error for an extra that is no JSON")
	}
	body, err := New(Endpoint{Wire: Anthropic, Model: "m"}, Options{}).Body(hello)
	if err != nil || string(object(body)["max_tokens"]) != fmt.Sprint(DefaultMaxTokens) {
		t.Errorf("max_tokens of %s, %v", body, err)
	}
}

// TestBack checks that an answer is sent back unchanged, and that another endpoint gets it without
// the fields that strict endpoints refuse.
func TestBack(t *testing.T) {
	for _, f := range []struct {
		name   string
		wire   Wire
		answer string
		back   string
	}{
		{"Gemini's signature", OpenAI,
			stream(delta(`{"role":"assistant","extra_content":{"google":{"thought":true}},"content":"I look."}`),
				delta(`{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"skill","arguments":"{}"},"extra_content":{"google":{"thought_signature":"CpEB+/=="}}}]}`),
				delta(`{"tool_calls":[{"index":0,"extra_content":{"google":{"thought_signature":"CpEB+/=="}}},{"index":1,"id":"b","type":"function","function":{"name":"list","arguments":""}}]}`), stopped("tool_calls"), "[DONE]"),
			`{"role":"assistant","content":"I look.","extra_content":{"google":{"thought":true}},"tool_calls":[{"id":"a","type":"function","function":{"name":"skill","arguments":"{}"},"extra_content":{"google":{"thought_signature":"CpEB+/=="}}},{"id":"b","type":"function","function":{"name":"list","arguments":"{}"}}]}`},
		{"DeepSeek's thoughts", OpenAI,
			stream(delta(`{"role":"assistant","content":null,"reasoning_content":""}`), delta(`{"content":null,"reasoning_content":"I \ud83d"}`), delta(`{"reasoning_content":"\ude00 look."}`), delta(`{"content":"Hello","reasoning_content":null}`), stopped("stop"), "[DONE]"),
			`{"role":"assistant","content":"Hello","reasoning_content":"I 😀 look."}`},
		{"OpenRouter's details", OpenAI,
			stream(delta(`{"role":"assistant","content":"","reasoning":"I ","reasoning_details":[{"type":"reasoning.text","text":"I ","format":"x-v1","index":0}]}`),
				delta(`{"role":"assistant","content":"","reasoning":"look.","reasoning_details":[{"type":"reasoning.text","text":"look.","format":"x-v1","index":0}]}`),
				delta(`{"reasoning_details":[{"type":"reasoning.text","signature":"s","index":0},{"type":"reasoning.encrypted","data":"d","id":"r","index":1}]}`), delta(`{"content":"Hello"}`), stopped("stop"), "[DONE]"),
			`{"role":"assistant","content":"Hello","reasoning":"I look.","reasoning_details":[{"type":"reasoning.text","text":"I look.","format":"x-v1","index":0,"signature":"s"},{"type":"reasoning.encrypted","data":"d","id":"r","index":1}]}`},
		{"Anthropic's thoughts", Anthropic,
			stream(append(append([]string{messageStart}, turns[2].blocks...), messageEnd("tool_use")...)...),
			`{"role":"assistant","content":` + turns[2].content + `}`},
		{"numbers as they are", OpenAI, stream(delta(`{"content":"Hello","x":12345678901234567890.10,"y":[{"z":1e5}]}`), stopped("stop")), `{"role":"assistant","content":"Hello","x":12345678901234567890.10,"y":[{"z":1e5}]}`},
	} {
		t.Run(f.name, func(t *testing.T) {
			asked := 0
			url := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if asked++; asked > 1 {
					got := list(object(body)["messages"])[1]
					diff(t, "what goes back", decoded(t, got), decoded(t, []byte(f.back)))
					if string(decodedText(got)) != string(decodedText([]byte(f.back))) {
						w.WriteHeader(400)
						_, _ = io.WriteString(w, jsonError("a thought_signature is missing"))
						return
					}
				}
				_, _ = io.WriteString(w, f.answer)
			}))
			c := New(Endpoint{Wire: f.wire, URL: url, Model: "m"}, Options{})
			all := []Message{{Role: User, Text: "Hello"}}
			for range 2 {
				a, err := c.Answer(t.Context(), Request{Messages: all}, nil)
				must(t, err)
				all = append(all, a.Message)
				if len(a.Message.Calls) > 0 {
					results := Message{Role: Tool}
					for _, call := range a.Message.Calls {
						results.Results = append(results.Results, Result{CallID: call.ID, Name: call.Name, Text: "ok"})
					}
					all = append(all, results)
				}
			}
			// Another endpoint gets only common fields.
			other, err := New(Endpoint{Wire: OpenAI, URL: "http://other/v1", Model: "m"}, Options{}).Body(Request{Messages: all})
			if err != nil || strings.Contains(string(other), "signature") || strings.Contains(string(other), "reasoning") || strings.Contains(string(other), "thinking") {
				t.Errorf("another endpoint would get %s, %v", other, err)
			}
		})
	}
}

// decodedText returns JSON in the form in which encoding/json writes it.
func decodedText(raw []byte) []byte {
	var v any
	_ = json.Unmarshal(raw, &v)
	out, _ := json.Marshal(v)
	return out
}

// TestUsage checks that the endpoint's report of tokens is used. Without a report, 4 characters
// count as a token.
func TestUsage(t *testing.T) {
	a, err := ask(t, Endpoint{}, &script{replies: []reply{{body: stream(delta(`{"content":"Hello"}`), stopped("stop"), `{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2}}`, "[DONE]")}}})
	must(t, err)
	diff(t, "usage", a.Usage, Usage{Input: 7, Output: 2})
	s := &script{replies: []reply{{body: stream(delta(`{"content":"Höllö"}`), toolCalls(function("", "list", `{"a":1}`)), stopped("stop"))}}}
	if a, err = ask(t, Endpoint{}, s); err != nil {
		t.Fatal(err)
	}
	diff(t, "an estimate", a.Usage, Usage{Input: (len(s.requests()[0].body) + 3) / 4, Output: 4, Estimated: true})
}

// TestModels checks that lists of models are read in each form that endpoints write.
func TestModels(t *testing.T) {
	for body, want := range map[string]string{
		`{"object":"list","data":[{"id":"a"},{"id":"b"}]}`: "a b",
		`[{"id":"a"}]`:                    "a",
		`{"object":"list","data":null}`:   "",
		`{"data":[]}`:                     "",
		`{"data":null}`:                   "no list",
		`{"data":[{"name":"a"}]}`:         "no list",
		`{"data":["a"]}`:                  "no list",
		`{"models":[{"id":"a"}]}`:         "no list",
		`<html>`:                          "no list",
		``:                                "no list",
		`{"data":"a"}`:                    "no list",
		`{"data":[{"id":"a"}],"error":7}`: "a",
	} {
		s := &script{replies: []reply{{body: body}}}
		c := New(Endpoint{URL: listen(t, s) + "/v1/?api-version=7", Key: "key"}, Options{})
		names, err := c.Models(t.Context())
		switch {
		case want != "no list" && (err != nil || strings.Join(names, " ") != want):
			t.Errorf("%s: %v, %v", body, names, err)
		case want == "no list":
			failed(t, err, Shape)
		}
		r := s.requests()[0]
		diff(t, "request", []string{r.method, r.path, r.query, r.header.Get("Authorization")}, []string{"GET", "/v1/models", "api-version=7", "Bearer key"})
	}
}

// TestNoModel checks that the error about a missing model name lists the available models, at most
// 20.
func TestNoModel(t *testing.T) {
	ask := func(body string) string {
		c := New(Endpoint{URL: listen(t, &script{replies: []reply{{body: body}}})}, Options{})
		_, err := c.Answer(t.Context(), hello, nil)
		_, says, _ := strings.Cut(failed(t, err, NotFound).Error(), " ")
		return says
	}
	diff(t, "two", ask(`{"data":[{"id":"a"},{"id":"b\u0007"}]}`), `needs the name of a model, and none is given; it has a, b\a`)
	diff(t, "none", ask(`{"data":[]}`), `needs the name of a model, and none is given`)
	diff(t, "no list", ask(`<html>`), `needs the name of a model, and none is given`)
	many := strings.Repeat(`{"id":"m"},`, 24) + `{"id":"m"}`
	diff(t, "many", ask(`{"data":[`+many+`]}`), `needs the name of a model, and none is given; it has `+strings.Repeat("m, ", 19)+"m and 5 more")
}
