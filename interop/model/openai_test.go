package model

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/llm/model"
)

const openaiTools = `[{"type":"function","function":{"name":"skill","description":"Load a skill","parameters":` + schema + `}}]`

// chunk returns a chunk of a Chat Completions stream.
func chunk(delta, stop string) string {
	if stop == "" {
		stop = "null"
	} else {
		stop = `"` + stop + `"`
	}
	return `{"id":"x","object":"chat.completion.chunk","created":1,"model":"a-model","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + stop + `}]}`
}

// says returns an answer that is a text in two chunks.
func says(text string) []string {
	return []string{chunk(`{"role":"assistant","content":""}`, ""), chunk(fmt.Sprintf(`{"content":%q}`, text[:len(text)/2]), ""), chunk(fmt.Sprintf(`{"content":%q}`, text[len(text)/2:]), ""), chunk(`{}`, "stop"),
		`{"id":"x","object":"chat.completion.chunk","created":1,"model":"a-model","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}`, "[DONE]"}
}

// calls returns an answer with calls as OpenAI streams them: each with its index, and in pieces.
func calls(text string, ids ...string) (events []string) {
	content := "null"
	if text != "" {
		content = fmt.Sprintf("%q", text)
	}
	events = append(events, chunk(`{"role":"assistant","content":`+content+`}`, ""))
	for i, id := range ids {
		events = append(events, chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%q,"type":"function","function":{"name":"skill","arguments":""}}]}`, i, id), ""))
		for _, piece := range []string{`{"na`, `me": "p`, `df <&> å"}`} {
			events = append(events, chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%q}}]}`, i, piece), ""))
		}
	}
	return append(events, chunk(`{}`, "tool_calls"), "[DONE]")
}

var openaiConversations = []conversation{
	{"a question", "You help.", []string{"Hello"}, false, [][]string{says("Hello to you")}},
	{"no system message", "", []string{"Hello"}, false, [][]string{says("Hi")}},
	{"tools that are not called", "You help.", []string{"Hello", "And?"}, true, [][]string{says("Hi"), says("Well")}},
	{"one call", "You help.", []string{"A PDF"}, true, [][]string{calls("", "call_a"), says("Done")}},
	{"two calls in one answer", "You help.", []string{"Two"}, true, [][]string{calls("", "call_a", "call_b"), says("Done")}},
	{"a text before a call", "You help.", []string{"A PDF"}, true, [][]string{calls("I look.", "call_a"), says("Done")}},
	{"a call that fails", "You help.", []string{"A PDF"}, true, [][]string{calls("", "call_bad"), says("I am sorry")}},
	{"calls one after another", "You help.", []string{"All"}, true, [][]string{calls("", "call_a"), calls("And", "call_b", "call_c"), calls("", "call_d"), says("Done")}},
	{"several prompts with calls", "You help.", []string{"One", "Two <&> \"three\"\n\u2028å😀"}, true, [][]string{calls("", "call_a"), says("One"), calls("", "call_b"), says("Two")}},
	{"a refusal", "You help.", []string{"No"}, true, [][]string{{chunk(`{"role":"assistant","content":null,"refusal":""}`, ""), chunk(`{"refusal":"I will"}`, ""), chunk(`{"refusal":" not."}`, "stop"), "[DONE]"}}},
}

// stated normalizes the parts of a Chat Completions request that the clients intentionally write
// differently:
//
//   - The results of calls have a name, as contract 001 defines.
//   - A content that was received as null is sent back as null, and not left out.
func stated(o object) object {
	each(o["messages"], func(m object) {
		if m["role"] == "tool" {
			delete(m, "name")
		}
		if content, there := m["content"]; there && content == nil {
			delete(m, "content")
		}
	})
	return o
}

func TestOpenAI(t *testing.T) {
	if len(openaiConversations) != 10 {
		t.Fatal("there are not ten conversations")
	}
	for _, c := range openaiConversations {
		t.Run(c.name, func(t *testing.T) {
			e, url := listen(t, c.answers, false)
			ours := talk(t, model.OpenAI, url, openaiTools, c, e)
			e, url = listen(t, c.answers, false)
			theirs := talkOpenAI(t, url, c, e)
			if len(ours) != len(theirs) || len(ours) != len(c.answers)+1 {
				t.Fatalf("%d and %d requests", len(ours), len(theirs))
			}
			for i := range ours {
				if d := cmp.Diff(stated(decoded(t, theirs[i])), stated(decoded(t, ours[i]))); d != "" {
					t.Errorf("request %d (-theirs +ours):\n%s", i+1, d)
				}
			}
		})
	}
}

// TestOpenAIMerges checks that the vendor's client merges calls that have the same index or no
// index, and knack's client does not. If the vendor's client changes, decision 17 has lost one of
// its reasons.
func TestOpenAIMerges(t *testing.T) {
	for _, index := range []string{`"index":0,`, ""} {
		call := `{"tool_calls":[{` + index + `"id":"%s","type":"function","function":{"name":"skill","arguments":"{}"}}]}`
		c := conversation{prompts: []string{"Two"}, answers: [][]string{{chunk(fmt.Sprintf(call, "call_a"), ""), chunk(fmt.Sprintf(call, "call_b"), ""), chunk(`{}`, "tool_calls"), "[DONE]"}}}
		e, url := listen(t, c.answers, false)
		theirs := string(talkOpenAI(t, url, c, e)[1])
		e, url = listen(t, c.answers, false)
		ours := decoded(t, talk(t, model.OpenAI, url, "", c, e)[1])
		if !strings.Contains(theirs, "skillskill") {
			t.Errorf("with %q the vendor's client does not merge the calls: %s", index, theirs)
		}
		var ids []any
		each(ours["messages"], func(m object) { each(m["tool_calls"], func(call object) { ids = append(ids, call["id"]) }) })
		if !reflect.DeepEqual(ids, []any{"call_a", "call_b"}) {
			t.Errorf("with %q our client has the calls %v", index, ids)
		}
	}
}
