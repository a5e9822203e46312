package model

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// blockOf returns the events of one block of Messages.
func blockOf(index int, start string, deltas ...string) (events []string) {
	events = append(events, fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, index, start))
	for _, d := range deltas {
		events = append(events, fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, index, d))
	}
	return append(events, fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index))
}

const messageStart = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"m","stop_reason":null,"usage":{"input_tokens":10,"cache_read_input_tokens":5,"output_tokens":1}}}`

func messageEnd(reason string) []string {
	return []string{`{"type":"message_delta","delta":{"stop_reason":"` + reason + `","stop_sequence":null},"usage":{"output_tokens":20}}`, `{"type":"message_stop"}`}
}

// turns are answers as Messages streams them.
var turns = []struct {
	name   string
	blocks []string
	reason string
	text   string
	calls  []string
	stop   string
	// content is the content that is sent back.
	content string
}{
	{"a text", blockOf(0, `{"type":"text","text":""}`, `{"type":"text_delta","text":"Hel"}`, `{"type":"text_delta","text":"lo"}`), "end_turn", "Hello", nil, StopEnd,
		`[{"type":"text","text":"Hello"}]`},
	{"a call", blockOf(0, `{"type":"tool_use","id":"toolu_1","name":"skill","input":{}}`, `{"type":"input_json_delta","partial_json":""}`, `{"type":"input_json_delta","partial_json":"{\"name\": "}`, `{"type":"input_json_delta","partial_json":"\"pdf\"}"}`), "tool_use",
		"", []string{`toolu_1 skill {"name": "pdf"}`}, StopCalls, `[{"type":"tool_use","id":"toolu_1","name":"skill","input":{"name":"pdf"}}]`},
	{"thoughts, a text and two calls", append(append(append(append(
		blockOf(0, `{"type":"thinking","thinking":"","signature":""}`, `{"type":"thinking_delta","thinking":"I should "}`, `{"type":"thinking_delta","thinking":"look."}`, `{"type":"signature_delta","signature":"EqQB+/=="}`),
		blockOf(1, `{"type":"redacted_thinking","data":"Ab+/cd=="}`)...),
		blockOf(2, `{"type":"text","text":""}`, `{"type":"text_delta","text":"I look."}`)...),
		blockOf(3, `{"type":"tool_use","id":"toolu_1","name":"skill","input":{},"caller":{"type":"direct"}}`, `{"type":"input_json_delta","partial_json":"{\"name\":\"pdf\"}"}`)...),
		blockOf(4, `{"type":"tool_use","id":"toolu_2","name":"list","input":{}}`)...), "tool_use",
		"I look.", []string{`toolu_1 skill {"name":"pdf"}`, `toolu_2 list {}`}, StopCalls,
		`[{"type":"thinking","thinking":"I should look.","signature":"EqQB+/=="},{"type":"redacted_thinking","data":"Ab+/cd=="},{"type":"text","text":"I look."},
		{"type":"tool_use","id":"toolu_1","name":"skill","input":{"name":"pdf"},"caller":{"type":"direct"}},{"type":"tool_use","id":"toolu_2","name":"list","input":{}}]`},
	{"pings and news", append([]string{`{"type":"ping"}`, `{"type":"news","index":0}`, `{"type":"content_block_delta","index":7,"delta":{"type":"text_delta","text":"x"}}`},
		blockOf(0, `{"type":"text","text":"Hel"}`, `{"type":"news_delta","news":"x"}`, `{"type":"text_delta","text":"lo"}`)...), "stop_sequence", "Hello", nil, StopEnd, `[{"type":"text","text":"Hello"}]`},
	{"citations", blockOf(0, `{"type":"text","text":"","citations":[]}`, `{"type":"citations_delta","citation":{"cited_text":"a"}}`, `{"type":"text_delta","text":"Hello"}`, `{"type":"citations_delta","citation":{"cited_text":"b"}}`), "end_turn", "Hello", nil, StopEnd,
		`[{"type":"text","text":"Hello","citations":[{"cited_text":"a"},{"cited_text":"b"}]}]`},
	{"a tool of the vendor", append(blockOf(0, `{"type":"server_tool_use","id":"srv_1","name":"web_search","input":{}}`, `{"type":"input_json_delta","partial_json":"{\"query\":\"x\"}"}`),
		blockOf(1, `{"type":"web_search_tool_result","tool_use_id":"srv_1","content":[{"url":"https://example.com"}]}`)...), "pause_turn", "", nil, "pause_turn",
		`[{"type":"server_tool_use","id":"srv_1","name":"web_search","input":{"query":"x"}},{"type":"web_search_tool_result","tool_use_id":"srv_1","content":[{"url":"https://example.com"}]}]`},
	{"an empty text", append(blockOf(0, `{"type":"text","text":""}`, `{"type":"text_delta","text":"\n\n"}`), blockOf(1, `{"type":"tool_use","name":"list","input":{}}`)...), "tool_use", "\n\n", []string{`call_1 list {}`}, StopCalls,
		`[{"type":"tool_use","id":"call_1","name":"list","input":{}}]`},
	{"cut by the limit", blockOf(0, `{"type":"tool_use","id":"toolu_1","name":"skill","input":{}}`, `{"type":"input_json_delta","partial_json":"{\"name\":"}`), "max_tokens", "", []string{`toolu_1 skill {"name":`}, StopLength,
		`[{"type":"tool_use","id":"toolu_1","name":"skill","input":{"INVALID_JSON":"{\"name\":"}}]`},
	{"refused", blockOf(0, `{"type":"text","text":""}`, `{"type":"text_delta","text":"No."}`), "refusal", "No.", nil, StopRefused, `[{"type":"text","text":"No."}]`},
}

// TestTurns checks the answer of each stream, also cut at each byte.
func TestTurns(t *testing.T) {
	for _, s := range turns {
		t.Run(s.name, func(t *testing.T) {
			events := append(append([]string{messageStart}, s.blocks...), messageEnd(s.reason)...)
			var b strings.Builder
			for _, e := range events {
				fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", text(object([]byte(e))["type"]), e)
			}
			body := b.String()
			a, streamed, err := taken(messages{}, body)
			must(t, err)
			diff(t, "text", a.Message.Text, s.text)
			diff(t, "shown", streamed, s.text)
			diff(t, "calls", written(a.Message.Calls), s.calls)
			diff(t, "stop", a.Stop, s.stop)
			diff(t, "usage", a.Usage, Usage{Input: 15, Output: 20})
			sameJSON(t, "what goes back", a.Message.Raw, `{"role":"assistant","content":`+s.content+`}`)
			step := 1
			if testing.Short() {
				step = 7
			}
			for cut := 0; cut < len(body); cut += step {
				b, _, err := taken(messages{}, body, cut)
				must(t, err)
				diff(t, fmt.Sprint("cut at byte ", cut), b, a)
			}
		})
	}
}

// TestTurnsWhole checks answers that are not streamed.
func TestTurnsWhole(t *testing.T) {
	for _, f := range []struct{ wire, body, raw, stop string }{
		{"openai", `{"id":"x","choices":[{"index":7,"message":{"role":"assistant","content":null,"reasoning_content":"Hm","tool_calls":[{"id":"a","type":"function","function":{"name":"skill","arguments":"{}"},"extra_content":{"google":{"thought_signature":"AbC+/="}}}]},"finish_reason":"stop"},{"message":{"content":"other"}}],"usage":{"prompt_tokens":15,"completion_tokens":20}}`,
			`{"role":"assistant","content":null,"reasoning_content":"Hm","tool_calls":[{"id":"a","type":"function","function":{"name":"skill","arguments":"{}"},"extra_content":{"google":{"thought_signature":"AbC+/="}}}]}`, StopCalls},
		{"anthropic", `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"thinking","thinking":"Hm","signature":"AbC+/="},{"type":"tool_use","id":"a","name":"skill","input":{"n":1.50}}],"stop_reason":"tool_use","usage":{"input_tokens":15,"output_tokens":20}}`,
			`{"role":"assistant","content":[{"type":"thinking","thinking":"Hm","signature":"AbC+/="},{"type":"tool_use","id":"a","name":"skill","input":{"n":1.50}}]}`, StopCalls},
	} {
		a, err := ask(t, Endpoint{Wire: Wire(f.wire)}, &script{replies: []reply{{header: "Content-Type: application/json", body: f.body}}})
		must(t, err)
		sameJSON(t, "what goes back", a.Message.Raw, f.raw)
		diff(t, "stop", a.Stop, f.stop)
		diff(t, "usage", a.Usage, Usage{Input: 15, Output: 20})
		if len(a.Message.Calls) != 1 || a.Message.Calls[0].ID != "a" {
			t.Errorf("calls: %v", a.Message.Calls)
		}
	}
}

// TestMessagesRequest checks the headers of the wire, and its paths below an address with or
// without the version.
func TestMessagesRequest(t *testing.T) {
	for _, path := range []string{"", "/", "/v1", "/v1/", "/proxy", "/proxy/v1"} {
		s := &script{replies: []reply{{body: `{"type":"message","content":[{"type":"text","text":"Hi"}]}`}, {body: `{"data":[{"type":"model","id":"claude"}],"has_more":false}`}}}
		c := New(Endpoint{Wire: Anthropic, URL: listen(t, s) + path, Model: "m", Key: " key\n"}, Options{Agent: "knack/1"})
		if _, err := c.Answer(t.Context(), hello, nil); err != nil {
			t.Fatal(err)
		}
		names, err := c.Models(t.Context())
		diff(t, "models", names, []string{"claude"})
		must(t, err)
		prefix := strings.TrimSuffix(strings.TrimSuffix(path, "/"), "/v1")
		for i, r := range s.requests() {
			diff(t, "path", r.path, prefix+[]string{"/v1/messages", "/v1/models"}[i])
			for name, want := range map[string]string{"X-Api-Key": "key", "Anthropic-Version": "2023-06-01", "User-Agent": "knack/1", "Authorization": ""} {
				diff(t, name, r.header.Get(name), want)
			}
		}
		diff(t, "query", s.requests()[1].query, "limit=1000")
		diff(t, "method", s.requests()[0].method, http.MethodPost)
	}
}
