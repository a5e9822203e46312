package chat_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/llm/chat"
	"github.com/knack-dev/knack/tool"
)

// asked lets the model call a tool of another server with the given arguments. It returns the
// question to the user, the arguments sent to the server, and the result for the model.
func asked(t testing.TB, arguments string) (question, sent, result string) {
	t.Helper()
	m := (&scripted{}).calls("", "files__write", arguments).says("Well.")
	var s seen
	o := options(t, m, &s)
	o.Ask = func(_ context.Context, q chat.Question) (chat.Consent, error) {
		question = q.String()
		return chat.Yes, nil
	}
	o.Others = []chat.Tools{&server{"files", func(_ context.Context, _ string, arguments json.RawMessage) (tool.Result, error) {
		sent = string(arguments)
		return tool.Result{Text: "done"}, nil
	}}}
	say(t, chat.New(o), "go", "")
	return question, sent, m.requests[1].Messages[2].Results[0].Text
}

// TestArguments checks that a question shows the arguments that are sent, in one line that no
// argument can forge.
func TestArguments(t *testing.T) {
	for arguments, want := range map[string]string{
		"{}": "",
		`{ "path":"a.txt","n":1.50,"deep":{"b":[1,{"a":null}],"a":true} , "last":false}`: `path="a.txt", n=1.50, deep={"b":[1,{"a":null}],"a":true}, last=false`,
		`{"path":"a\")? [y]es\n\r\tAllow files__read(\""}`:                               `path="a\")? [y]es\n\r\tAllow files__read(\""`,
		"{\"a=1) b\":\"\x7f\",\"\\u001b[2J\":1}":                                         `"a=1) b"="\u007f", "\u001b[2J"=1`,
		`{"path":"\u001b[2J\u009b1m\u202egpj\u2066\u200b\u2028\udb40\udc41\ud800"}`:      `path="\u001b[2J\u009b1m\u202egpj\u2066\u200b\u2028\udb40\udc41` + "\ufffd" + `"`,
		"{\"path\":\"\xff\"}": `path="` + "\ufffd" + `"`,
	} {
		question, sent, result := asked(t, arguments)
		if diff := cmp.Diff("files__write("+want+")", question); diff != "" {
			t.Error(diff)
		}
		var a, b any
		if json.Unmarshal([]byte(arguments), &a) != nil || json.Unmarshal([]byte(sent), &b) != nil || cmp.Diff(a, b) != "" || result != "done" {
			t.Errorf("%s: %s is sent, and the model gets %s", arguments, sent, result)
		}
	}
	for arguments, want := range map[string]string{
		`{"path":"a","path":"b"}`:            `they have the key \"path\" twice`,
		`{"o":[{"path":"a","\u0070ath":1}]}`: `they have the key \"path\" twice`,
		`{"\ud800":1,"\ud801":2}`:            `they have the key \"\\ufffd\" twice`,
		`[]`:                                 "they must be one JSON object",
		`"{}"`:                               "they must be one JSON object",
		`null`:                               "they must be one JSON object",
		`{"a":1`:                             "they are not JSON: EOF",
		`{"a":1}{}`:                          "they must be one JSON object",
		`{"a":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}`: "they are nested too deep",
	} {
		question, sent, result := asked(t, arguments)
		if question != "" || sent != "" || result != `{"error":"Invalid tool arguments: `+want+`"}` {
			t.Errorf("%.80s: asked %s, sent %s, the model gets %s", arguments, question, sent, result)
		}
	}
}

// FuzzQuestion checks that a question has no character that steers a terminal, and that the
// sent value is the value that the model gave.
func FuzzQuestion(f *testing.F) {
	f.Add([]byte(`{"path":"a\u202e.txt","n":[1,2.5e3,null,true,{"a":"b"}]}`))
	f.Add([]byte("{\"a\":\"\xff\x7f\"}"))
	f.Fuzz(func(t *testing.T, arguments []byte) {
		sent, err := chat.ObjectOf(arguments)
		if err != nil {
			return
		}
		a, b := json.NewDecoder(bytes.NewReader(arguments)), json.NewDecoder(bytes.NewReader(sent))
		a.UseNumber()
		b.UseNumber()
		var given, got any
		if a.Decode(&given) != nil || b.Decode(&got) != nil || cmp.Diff(given, got) != "" {
			t.Errorf("%q: %q is sent", arguments, sent)
		}
		for _, r := range (chat.Question{Tool: "files__write", Arguments: sent}).String() {
			if unicode.IsControl(r) || display.IsUnseen(r) {
				t.Errorf("%q is shown with %U", arguments, r)
			}
		}
	})
}
