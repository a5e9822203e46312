package model

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/iotest"
)

func toolCalls(calls ...string) string {
	return delta(`{"tool_calls":[` + strings.Join(calls, ",") + `]}`)
}

// function writes a piece of a call: the JSON members in before, and then its function.
func function(before, name, arguments string) string {
	f := map[string]string{"arguments": arguments}
	if name != "" {
		f["name"] = name
	}
	raw, err := json.Marshal(f)
	if err != nil {
		panic(err)
	}
	if before != "" {
		before += ","
	}
	return `{` + before + `"function":` + string(raw) + `}`
}

// streams are answers as servers stream them. The calls of each are written "id name arguments".
var streams = []struct {
	name   string
	events []string
	text   string
	calls  []string
	stop   string
}{
	{"a text", []string{delta(`{"role":"assistant","content":""}`), delta(`{"content":"Hel"}`), delta(`{"content":"lo"}`), stopped("stop"), "[DONE]"},
		"Hello", nil, StopEnd},
	{"indexed", []string{
		toolCalls(function(`"index":0,"id":"a","type":"function"`, "skill", "")), toolCalls(function(`"index":0`, "", `{"name":`)), toolCalls(function(`"index":0`, "", `"pdf"}`)),
		toolCalls(function(`"index":1,"id":"b","type":"function"`, "skill", "")), toolCalls(function(`"index":1`, "", `{"name":"docx"}`)), stopped("tool_calls"), "[DONE]"},
		"", []string{`a skill {"name":"pdf"}`, `b skill {"name":"docx"}`}, StopCalls},
	{"indexed, in turns", []string{
		toolCalls(function(`"index":0,"id":"a"`, "skill", `{"name":`), function(`"index":1,"id":"b"`, "skill", `{"name":`)),
		toolCalls(function(`"index":1`, "", `"docx"}`), function(`"index":0`, "", `"pdf"}`)), stopped("tool_calls")},
		"", []string{`a skill {"name":"pdf"}`, `b skill {"name":"docx"}`}, StopCalls},
	{"always index 0", []string{
		toolCalls(function(`"index":0,"id":"a","type":"function"`, "skill", `{"name":"pdf"}`)),
		toolCalls(function(`"index":0,"id":"b","type":"function"`, "skill", `{"name":"docx"}`)), stopped("tool_calls"), "[DONE]"},
		"", []string{`a skill {"name":"pdf"}`, `b skill {"name":"docx"}`}, StopCalls},
	{"always index 0, in pieces", []string{
		toolCalls(function(`"index":0,"id":"a"`, "skill", "")), toolCalls(function(`"index":0`, "", `{"name":"pdf"}`)),
		toolCalls(function(`"index":0,"id":"b"`, "skill", "")), toolCalls(function(`"index":0`, "", `{"name":"docx"}`)), stopped("stop"), "[DONE]"},
		"", []string{`a skill {"name":"pdf"}`, `b skill {"name":"docx"}`}, StopCalls},
	{"no index", []string{
		toolCalls(function(`"id":"a","type":"function"`, "skill", `{"name":"pdf"}`)),
		toolCalls(function(`"id":"b","type":"function"`, "skill", `{"name":"docx"}`)), stopped("stop"), "[DONE]"},
		"", []string{`a skill {"name":"pdf"}`, `b skill {"name":"docx"}`}, StopCalls},
	{"no id", []string{
		toolCalls(function(`"index":0`, "skill", `{"name":`)), toolCalls(function(`"index":0`, "", `"pdf"}`)),
		toolCalls(function(`"index":1`, "skill", `{"name":"docx"}`)), stopped("tool_calls"), "[DONE]"},
		"", []string{`call_1 skill {"name":"pdf"}`, `call_2 skill {"name":"docx"}`}, StopCalls},
	{"neither id nor index", []string{
		toolCalls(function("", "skill", `{"name":"pdf"}`)), toolCalls(function(`"id":"","index":null`, "skill", `{"name":"docx"}`)), stopped("stop"), "[DONE]"},
		"", []string{`call_1 skill {"name":"pdf"}`, `call_2 skill {"name":"docx"}`}, StopCalls},
	{"no id, always index 0", []string{
		toolCalls(function(`"index":0`, "list", "{}")), toolCalls(function(`"index":0`, "list", "{}")), stopped("stop"), "[DONE]"},
		"", []string{`call_1 list {}`, `call_2 list {}`}, StopCalls},
	{"whole calls in one delta", []string{
		toolCalls(function("", "skill", `{"name":"pdf"}`), function("", "skill", `{"name":"docx"}`), function("", "list", "")), stopped("tool_calls"), "[DONE]"},
		"", []string{`call_1 skill {"name":"pdf"}`, `call_2 skill {"name":"docx"}`, `call_3 list {}`}, StopCalls},
	{"calls without arguments, in one delta", []string{
		toolCalls(function(`"index":0`, "list", ""), function(`"index":0`, "list", "")), stopped("stop")},
		"", []string{`call_1 list {}`, `call_2 list {}`}, StopCalls},
	{"arguments as an object", []string{
		toolCalls(`{"id":"a","function":{"name":"skill","arguments":{"name":"pdf"}}}`, `{"id":"b","function":{"name":"list","arguments":null}}`, `{"id":"c","function":{"name":"list"}}`), stopped("stop")},
		"", []string{`a skill {"name":"pdf"}`, `b list {}`, `c list {}`}, StopCalls},
	{"the id with each piece", []string{
		toolCalls(function(`"id":"a"`, "skill", "")), toolCalls(function(`"id":"a"`, "", `{"name":`)), toolCalls(function(`"id":"a"`, "", `"pdf"}`)), stopped("tool_calls")},
		"", []string{`a skill {"name":"pdf"}`}, StopCalls},
	{"the name with each piece", []string{
		toolCalls(function(`"index":0,"id":"a"`, "skill", "")), toolCalls(function(`"index":0`, "skill", `{"name":`)), toolCalls(function(`"index":0`, "skill", `"pdf"}`)), stopped("tool_calls")},
		"", []string{`a skill {"name":"pdf"}`}, StopCalls},
	{"another id with each piece", []string{
		toolCalls(function(`"index":0,"id":"a"`, "skill", "")), toolCalls(function(`"index":0,"id":"x"`, "", `{"name":`)), toolCalls(function(`"index":0,"id":"y"`, "", `"pdf"}`)),
		toolCalls(function(`"index":1,"id":"z"`, "list", "{}")), stopped("tool_calls")},
		"", []string{`a skill {"name":"pdf"}`, `z list {}`}, StopCalls},
	{"the id after the index", []string{
		toolCalls(`{"index":0}`), toolCalls(function(`"index":0,"id":"a"`, "skill", `{"name":"pdf"}`)), stopped("tool_calls")},
		"", []string{`a skill {"name":"pdf"}`}, StopCalls},
	{"the id before the name", []string{
		toolCalls(`{"index":0,"id":"a"}`), toolCalls(function(`"index":0`, "skill", `{"name":"pdf"}`)), toolCalls(`{"index":1,"id":"b"}`), toolCalls(function(`"index":1`, "list", ``)), stopped("tool_calls")},
		"", []string{`a skill {"name":"pdf"}`, `b list {}`}, StopCalls},
	{"one id for two calls", []string{
		toolCalls(function(`"id":"a"`, "skill", `{"name":"pdf"}`)), toolCalls(function(`"id":"a"`, "list", "{}")), stopped("tool_calls")},
		"", []string{`a skill {"name":"pdf"}`, `call_1 list {}`}, StopCalls},
	{"a made id that is taken", []string{
		toolCalls(function(`"id":"call_1"`, "skill", `{"name":"pdf"}`)), toolCalls(function("", "list", "{}")), stopped("tool_calls")},
		"", []string{`call_1 skill {"name":"pdf"}`, `call_2 list {}`}, StopCalls},
	{"calls after a text, and a text after calls", []string{
		delta(`{"content":"I look. "}`), toolCalls(function(`"id":"a"`, "skill", `{"name":"pdf"}`)), delta(`{"content":"Wait."}`), stopped("tool_calls")},
		"I look. Wait.", []string{`a skill {"name":"pdf"}`}, StopCalls},
	{"calls after the reason", []string{
		stopped("stop"), toolCalls(function(`"id":"a"`, "skill", `{"name":"pdf"}`)), "[DONE]"},
		"", []string{`a skill {"name":"pdf"}`}, StopCalls},
	{"several choices", []string{
		`{"choices":[{"index":1,"delta":{"content":"No"}},{"index":0,"delta":{"content":"Yes"}}]}`, `{"choices":[{"index":1,"delta":{},"finish_reason":"length"}]}`, stopped("stop"), "[DONE]"},
		"Yes", nil, StopEnd},
	{"no [DONE]", []string{delta(`{"content":"Hello"}`), stopped("stop")}, "Hello", nil, StopEnd},
	{"no reason", []string{delta(`{"content":"Hello"}`), "[DONE]"}, "Hello", nil, StopEnd},
	{"more after [DONE]", []string{delta(`{"content":"Hello"}`), "[DONE]", delta(`{"content":"!"}`), "nonsense"}, "Hello", nil, StopEnd},
	{"usage alone", []string{delta(`{"content":"Hello"}`), stopped("stop"), `{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2}}`, "[DONE]"}, "Hello", nil, StopEnd},
	{"no choices", []string{`{"choices":[],"prompt_filter_results":[]}`, `{"choices":null}`, `{}`, delta(`{"content":"Hello"}`), stopped("stop")}, "Hello", nil, StopEnd},
	{"cut by the limit", []string{delta(`{"content":"Hel"}`), toolCalls(function(`"id":"a"`, "skill", `{"name":"p`)), stopped("length")}, "Hel", []string{`a skill {"name":"p`}, StopLength},
	{"refused", []string{delta(`{"refusal":"I can"}`), delta(`{"refusal":"not."}`), stopped("content_filter")}, "I cannot.", nil, StopRefused},
	{"another reason", []string{delta(`{"content":"Hello"}`), stopped("eos")}, "Hello", nil, "eos"},
	{"a content of parts", []string{delta(`{"content":[{"type":"thinking","thinking":[]},{"type":"text","text":"Hel"}]}`), delta(`{"content":"lo"}`), stopped("stop")}, "Hello", nil, StopEnd},
	{"a character in two halves", []string{delta(`{"content":"a\ud83d"}`), delta(`{"content":"\ude00b"}`), delta(`{"content":"\\ud83d"}`), stopped("stop")}, `a😀b\ud83d`, nil, StopEnd},
	{"half a character", []string{delta(`{"content":"a\ud83d"}`), stopped("stop")}, "a\ufffd", nil, StopEnd},
	{"odd types", []string{delta(`{"content":7,"tool_calls":{"index":0},"x":[1]}`), `{"choices":[{"index":"0","delta":{"content":"Hello"},"finish_reason":7}]}`, `{"choices":[{"delta":{"tool_calls":[7,{"id":7,"index":"x","function":7}]}}]}`, stopped("stop")}, "Hello", nil, StopEnd},
}

func written(calls []Call) (all []string) {
	for _, c := range calls {
		all = append(all, fmt.Sprintf("%s %s %s", c.ID, c.Name, c.Arguments))
	}
	return all
}

// TestStreams checks the answer of each stream, also with other line ends, with comments, and cut
// at each byte.
func TestStreams(t *testing.T) {
	for _, s := range streams {
		t.Run(s.name, func(t *testing.T) {
			body := stream(s.events...)
			a, streamed, err := taken(chat{}, body)
			must(t, err)
			diff(t, "text", a.Message.Text, s.text)
			diff(t, "calls", written(a.Message.Calls), s.calls)
			diff(t, "stop", a.Stop, s.stop)
			diff(t, "shown", streamed, s.text)
			same := func(what, body string, cuts ...int) {
				t.Helper()
				b, streamed, err := taken(chat{}, body, cuts...)
				if err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				diff(t, what, b, a)
				diff(t, what+": shown", streamed, s.text)
			}
			same("CRLF", strings.ReplaceAll(body, "\n", "\r\n"))
			same("CR", strings.ReplaceAll(body, "\n", "\r"))
			same("comments", ": hello\n\n"+strings.ReplaceAll(body, "data:", "event: chunk\nid: 7\n:\ndata:"))
			same("a mark and blank lines", "\ufeff\n\n"+strings.ReplaceAll(body, "\n\n", "\n\n\n"))
			same("no blank line at the end", strings.TrimSuffix(body, "\n"))
			same("no line end", strings.TrimSuffix(body, "\n\n"))
			same("no space", strings.ReplaceAll(body, "data: ", "data:"))
			step := 1
			if testing.Short() {
				step = 7
			}
			for cut := 0; cut < len(body); cut += step {
				same(fmt.Sprint("cut at byte ", cut), body, cut)
			}
			in := chat{}.reader(map[string]bool{}, func(string) {})
			must(t, read(iotest.OneByteReader(strings.NewReader(strings.ReplaceAll(body, "\n", "\r\n"))), in))
			b, err := in.end()
			must(t, err)
			diff(t, "one byte at a time", b, a)
		})
	}
}

// TestMadeIDs checks that generated ids differ from the ids of earlier calls.
func TestMadeIDs(t *testing.T) {
	a, _, err := taken(chat{}, stream(streams[6].events...))
	must(t, err)
	in := chat{}.reader(usedIDs([]Message{a.Message}), func(string) {})
	must(t, read(strings.NewReader(stream(streams[6].events...)), in))
	for range 2 { // it is asked for twice if the connection breaks after the answer
		b, err := in.end()
		must(t, err)
		diff(t, "calls", written(b.Message.Calls), []string{`call_3 skill {"name":"pdf"}`, `call_4 skill {"name":"docx"}`})
	}
}

// TestBadStreams checks that each bad stream gives an error that describes the bad event.
func TestBadStreams(t *testing.T) {
	many := make([]string, maxCalls+1)
	for i := range many {
		many[i] = function(fmt.Sprintf(`"index":%d`, i), "list", "{}")
	}
	for _, s := range []struct {
		name, body string
		want       error
	}{
		{"cut between events", stream(delta(`{"content":"Hel"}`)), errCut},
		{"cut within an event", stream(delta(`{"content":"Hel"}`)) + "data: {\"choi", errCut},
		{"cut within a line", stream(delta(`{"content":"Hel"}`)) + "da", errCut},
		{"nothing but comments", ": hello\n\n: hello\n\n", errNothing},
		{"nothing but an end", stream("[DONE]"), errNothing},
		{"no call's name", stream(toolCalls(function(`"id":"a"`, "", "{}")), stopped("stop")), errNameless},
		{"too many calls", stream(toolCalls(many...)), errManyCalls},
		{"a web page", "\n <!DOCTYPE html><p>Hello", errPage},
		{"something else", `{"status":"ok"}`, errNoModel},
		{"a list", `[1,2]`, nil},
		{"cut JSON", `{"choices":[`, nil},
		{"events of something else", stream("hello"), nil},
	} {
		_, _, err := taken(chat{}, s.body)
		if err == nil || s.want != nil && err != s.want {
			t.Errorf("%s: got %v, want %v", s.name, err, s.want)
		}
	}
}
