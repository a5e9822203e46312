package model

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// vendors lists the four vendors' APIs, each with the path of a turn, a request with one tool and
// one result, and a function that reads the stream.
var vendors = []struct {
	api  API
	path string
	// ask is a request. RESULT stands in place of the result of call_0001.
	ask string
	// read assembles the events of a stream. It returns the text, or the name and the arguments of
	// the call.
	read func(events []object) (text, name, args string)
}{
	{Chat, "/v1/chat/completions", `{"model":"m","stream":true,"tools":[{"type":"function","function":{"name":"skill","description":"Load a skill"}}],
		"messages":[{"role":"system","content":"You help."},{"role":"user","content":[{"type":"text","text":"Help me."}]}
		,{"role":"assistant","tool_calls":[{"id":"call_0001","type":"function","function":{"name":"skill","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_0001","content":"RESULT"}]}`,
		readChat},
	{Responses, "/v1/responses", `{"model":"m","stream":true,"tools":[{"type":"namespace","name":"mcp__knack","tools":[{"type":"function","name":"skill","description":"Load a skill"}]}],
		"instructions":"You help.","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"Help me."}]}
		,{"type":"function_call","call_id":"call_0001","name":"skill","arguments":"{}"},{"type":"function_call_output","call_id":"call_0001","output":[{"type":"input_text","text":"RESULT"}]}]}`,
		readResponses},
	{Messages, "/v1/messages", `{"model":"m","stream":true,"tools":[{"name":"skill","description":"Load a skill","input_schema":{}}],
		"system":[{"type":"text","text":"You help."}],"messages":[{"role":"user","content":"Help me."}
		,{"role":"assistant","content":[{"type":"tool_use","id":"call_0001","name":"skill","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_0001","content":[{"type":"text","text":"RESULT"}]}]}]}`,
		readMessages},
	{Generate, "/v1beta/models/m:streamGenerateContent?alt=sse", `{"tools":[{"functionDeclarations":[{"name":"skill","description":"Load a skill"}]}],
		"systemInstruction":{"parts":[{"text":"You help."}]},"contents":[{"role":"user","parts":[{"text":"Help me."}]}
		,{"role":"model","parts":[{"functionCall":{"name":"skill","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"skill","response":{"output":"RESULT"}}}]}]}`,
		readGenerate},
}

type object = map[string]any

// TestVendors checks that the server reads each vendor's request, and that a text and a call can be
// assembled from its stream.
func TestVendors(t *testing.T) {
	for _, v := range vendors {
		t.Run(string(v.api), func(t *testing.T) {
			reply := Reply{Text: "All is said."}
			s := &Server{Next: func(Request) Reply { return reply }}
			if err := s.Start(); err != nil {
				t.Fatal(err)
			}
			defer s.Close()

			if text, _, _ := v.read(post(t, s.URL()+v.path, v.ask)); text != reply.Text {
				t.Errorf("the stream says %q, want %q", text, reply.Text)
			}
			reply = Reply{Call: &Call{Name: "skill", Args: object{"name": "a \"quoted\" name"}}}
			if _, name, args := v.read(post(t, s.URL()+v.path, v.ask)); name != "skill" || args != `{"name":"a \"quoted\" name"}` {
				t.Errorf("the stream calls %q with %s", name, args)
			}

			r := s.Requests()[0]
			if len(r.Tools) != 1 || r.Tools[0].Name != "skill" || r.Tools[0].Description != "Load a skill" {
				t.Errorf("tools: %+v", r.Tools)
			}
			if got, ok := r.Result("call_0001"); !ok || got != "RESULT" {
				t.Errorf("result: %q, %v", got, ok)
			}
			if got, ok := r.Result("call_0002"); ok && v.api != Generate {
				t.Errorf("there is a result of a call that nobody made: %q", got)
			}
			for _, want := range []string{"You help.", "Help me.", "Load a skill"} {
				if !strings.Contains(r.Text(), want) {
					t.Errorf("%q is not in what the model reads:\n%s", want, r.Text())
				}
			}
		})
	}
}

// post sends a request and returns the events of its answer.
func post(t *testing.T, url, body string) (events []object) {
	t.Helper()
	res, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if kind := res.Header.Get("Content-Type"); res.StatusCode != http.StatusOK || kind != "text/event-stream" {
		text, _ := io.ReadAll(res.Body)
		t.Fatalf("%s, %s: %s", res.Status, kind, text)
	}
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var e object
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	return events
}

func readChat(events []object) (said, name, args string) {
	for _, e := range events {
		for _, choice := range list(e["choices"]) {
			delta := objectOf(objectOf(choice)["delta"])
			said += text(delta["content"])
			for _, c := range list(delta["tool_calls"]) {
				f := objectOf(objectOf(c)["function"])
				name, args = name+text(f["name"]), args+text(f["arguments"])
			}
		}
	}
	return said, name, args
}

func readResponses(events []object) (said, name, args string) {
	for _, e := range events {
		switch e["type"] {
		case "response.output_text.delta":
			said += text(e["delta"])
		case "response.function_call_arguments.delta":
			args += text(e["delta"])
		case "response.output_item.done":
			name = text(objectOf(e["item"])["name"])
		}
	}
	return said, name, args
}

func readMessages(events []object) (said, name, args string) {
	for _, e := range events {
		switch e["type"] {
		case "content_block_start":
			name = text(objectOf(e["content_block"])["name"])
		case "content_block_delta":
			delta := objectOf(e["delta"])
			said, args = said+text(delta["text"]), args+text(delta["partial_json"])
		}
	}
	return said, name, args
}

func readGenerate(events []object) (said, name, args string) {
	for _, e := range events {
		content := objectOf(objectOf(list(e["candidates"])[0])["content"])
		part := objectOf(list(content["parts"])[0])
		call := objectOf(part["functionCall"])
		said, name = said+text(part["text"]), text(call["name"])
		if call != nil {
			data, _ := json.Marshal(call["args"])
			args = string(data)
		}
	}
	return said, name, args
}

// TestDeferred checks that a deferred tool is hidden until a search has found it.
func TestDeferred(t *testing.T) {
	tests := []struct {
		name string
		api  API
		body string
		want []string
		seen bool // whether the text HIDDEN is visible
	}{
		{"Messages, before", Messages, `{"tools":[{"name":"ToolSearch"},{"name":"mcp__knack__skill","description":"HIDDEN","defer_loading":true}],"messages":[]}`,
			[]string{"ToolSearch"}, false},
		{"Messages, after", Messages, `{"tools":[{"name":"ToolSearch"},{"name":"mcp__knack__skill","description":"HIDDEN","defer_loading":true}],
			"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":[{"type":"tool_reference","tool_name":"mcp__knack__skill"}]}]}]}`,
			[]string{"ToolSearch", "mcp__knack__skill"}, true},
		{"Responses, before", Responses, `{"tools":[{"type":"tool_search"}],"input":[]}`, []string{"tool_search"}, false},
		{"Responses, after", Responses, `{"tools":[{"type":"tool_search"}],"input":[{"type":"tool_search_output","call_id":"x","tools":[
			{"type":"namespace","name":"mcp__knack","description":"HIDDEN","tools":[{"type":"function","name":"skill","defer_loading":true}]}]}]}`,
			[]string{"tool_search", "mcp__knack.skill"}, true},
		{"Responses, code", Responses, `{"input":[{"type":"additional_tools","tools":[{"type":"namespace","name":"functions","tools":[{"type":"custom","name":"exec"}]}]}]}`,
			[]string{"functions.exec"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := parse(tt.api, []byte(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, tool := range r.Tools {
				got = append(got, strings.TrimPrefix(tool.Namespace+"."+tool.Name, "."))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if strings.Contains(r.Text(), "HIDDEN") != tt.seen {
				t.Errorf("the model reads:\n%s", r.Text())
			}
		})
	}
}

// TestErrands checks that a request without tools gets a fixed text and uses no turn of the script.
// As a proxy, the server must forward no request, and record the host.
func TestErrands(t *testing.T) {
	s := &Server{Next: func(Request) Reply { t.Error("the script was asked"); return Reply{} }}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if text, _, _ := readChat(post(t, s.URL()+"/chat/completions", `{"stream":true,"messages":[]}`)); text == "" {
		t.Error("no text")
	}
	proxy, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy)}}
	if res, err := client.Get("https://example.com/"); err == nil {
		t.Errorf("the proxy let a request out: %s", res.Status)
	}
	want := []string{"POST /chat/completions without tools", "CONNECT example.com:443"}
	if diff := cmp.Diff(want, s.Errands()); diff != "" {
		t.Error(diff)
	}
}
