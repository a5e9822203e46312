package model

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/llm/model"
)

const anthropicTools = `[{"name":"skill","description":"Load a skill","input_schema":` + schema + `}]`

// turn returns an answer of the Messages API with content blocks, as the API streams them.
func turn(stop string, blocks ...[]string) (events []string) {
	events = append(events, `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"a-model","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"output_tokens":1}}}`, `{"type":"ping"}`)
	for i, b := range blocks {
		events = append(events, fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, i, b[0]))
		for _, delta := range b[1:] {
			events = append(events, fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, i, delta))
		}
		events = append(events, fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i))
	}
	return append(events, fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":20}}`, stop), `{"type":"message_stop"}`)
}

func textBlock(text string) []string {
	return []string{`{"type":"text","text":""}`, fmt.Sprintf(`{"type":"text_delta","text":%q}`, text[:len(text)/2]), fmt.Sprintf(`{"type":"text_delta","text":%q}`, text[len(text)/2:])}
}

func useBlock(id string) []string {
	b := []string{fmt.Sprintf(`{"type":"tool_use","id":%q,"name":"skill","input":{}}`, id)}
	for _, piece := range []string{"", `{"na`, `me": "p`, `df <&> å", "n": 1.50}`} {
		b = append(b, fmt.Sprintf(`{"type":"input_json_delta","partial_json":%q}`, piece))
	}
	return b
}

func thoughtBlock(text, signature string) []string {
	return []string{`{"type":"thinking","thinking":"","signature":""}`, fmt.Sprintf(`{"type":"thinking_delta","thinking":%q}`, text), fmt.Sprintf(`{"type":"signature_delta","signature":%q}`, signature)}
}

func hiddenBlock(data string) []string {
	return []string{fmt.Sprintf(`{"type":"redacted_thinking","data":%q}`, data)}
}

var anthropicConversations = []conversation{
	{"a question", "You help.", []string{"Hello"}, false, [][]string{turn("end_turn", textBlock("Hello to you"))}},
	{"no system message", "", []string{"Hello"}, false, [][]string{turn("end_turn", textBlock("Hi"))}},
	{"tools that are not called", "You help.", []string{"Hello", "And?"}, true, [][]string{turn("end_turn", textBlock("Hi")), turn("end_turn", textBlock("Well"))}},
	{"one call", "You help.", []string{"A PDF"}, true, [][]string{turn("tool_use", useBlock("toolu_a")), turn("end_turn", textBlock("Done"))}},
	{"two calls in one answer", "You help.", []string{"Two"}, true, [][]string{turn("tool_use", useBlock("toolu_a"), useBlock("toolu_b")), turn("end_turn", textBlock("Done"))}},
	{"a text before a call", "You help.", []string{"A PDF"}, true, [][]string{turn("tool_use", textBlock("I look."), useBlock("toolu_a")), turn("end_turn", textBlock("Done"))}},
	{"a call that fails", "You help.", []string{"A PDF"}, true, [][]string{turn("tool_use", useBlock("toolu_bad"), useBlock("toolu_a")), turn("end_turn", textBlock("I am sorry"))}},
	{"thoughts", "You help.", []string{"A PDF"}, true, [][]string{turn("tool_use", thoughtBlock("I should look", "EqQB+/=="), hiddenBlock("Ab+/cd=="), textBlock("I look."), useBlock("toolu_a")), turn("end_turn", thoughtBlock("", "FqQB+/=="), textBlock("Done"))}},
	{"several prompts with calls", "You help.", []string{"One", "Two <&> \"three\"\n\u2028å😀"}, true, [][]string{turn("tool_use", useBlock("toolu_a")), turn("end_turn", textBlock("One")), turn("tool_use", textBlock("And"), useBlock("toolu_b"), useBlock("toolu_c")), turn("end_turn", textBlock("Two"))}},
	{"a refusal", "You help.", []string{"No", "Please"}, true, [][]string{turn("refusal", textBlock("I will not.")), turn("max_tokens", textBlock("I will"))}},
}

// statedMessages normalizes the parts of a Messages request that the clients intentionally write
// differently:
//
//   - The result of a call is a string, as function.Call writes it, and not a list with one text.
func statedMessages(o object) object {
	each(o["messages"], func(m object) {
		each(m["content"], func(b object) {
			if text, ok := b["content"].(string); ok && b["type"] == "tool_result" {
				b["content"] = []any{object{"type": "text", "text": text}}
			}
		})
	})
	return o
}

func TestAnthropic(t *testing.T) {
	if len(anthropicConversations) != 10 {
		t.Fatal("there are not ten conversations")
	}
	for _, c := range anthropicConversations {
		t.Run(c.name, func(t *testing.T) {
			e, url := listen(t, c.answers, true)
			ours := talk(t, model.Anthropic, url, anthropicTools, c, e)
			e, url = listen(t, c.answers, true)
			theirs := talkAnthropic(t, url, c, e)
			if len(ours) != len(theirs) || len(ours) != len(c.answers)+1 {
				t.Fatalf("%d and %d requests", len(ours), len(theirs))
			}
			for i := range ours {
				if d := cmp.Diff(statedMessages(decoded(t, theirs[i])), statedMessages(decoded(t, ours[i]))); d != "" {
					t.Errorf("request %d (-theirs +ours):\n%s", i+1, d)
				}
			}
		})
	}
}
