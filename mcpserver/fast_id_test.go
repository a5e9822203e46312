package mcpserver

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"
	"unicode/utf8"
)

// members are the top-level members of a message, the last of each name, and how
// many there are; false where it is no object.
func members(message []byte) (all map[string]json.RawMessage, count int, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(message))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, 0, false
	}
	all = map[string]json.RawMessage{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, 0, false
		}
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return nil, 0, false
		}
		all[name.(string)] = value
		count++
	}
	return all, count, json.Valid(message)
}

var idSeeds = []string{
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"skill","arguments":{"name":"a"}}}`,
	`{"id":"x-1","jsonrpc":"2.0","params":{"uri":"skill://a/SKILL.md"},"method":"skills/get"}`,
	` { "jsonrpc" : "2.0" , "id" : 12 , "method" : "resources/read" , "params" : { "uri" : "a\"},\"id\":3" } } `,
	`{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call"}`, `{"jsonrpc":"2.0","\u0069d":1,"method":"tools/call"}`,
	`{"jsonrpc":"2.0","id":1.5,"method":"tools/call"}`, `{"jsonrpc":"2.0","id":-1,"method":"tools/call"}`, `{"jsonrpc":"2.0","id":1e3,"method":"tools/call"}`,
	`{"jsonrpc":"2.0","id":null,"method":"tools/call"}`, `{"jsonrpc":"2.0","id":"\u0041","method":"tools/call"}`, `{"jsonrpc":"2.0","id":01,"method":"tools/call"}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":1,"Method":"tools/call"}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","extra":1}`,
	`[{"jsonrpc":"2.0","id":1,"method":"tools/call"}]`, `{"jsonrpc":"2.0","method":"tools/call"}`, `{"jsonrpc":"2.0","id":"","method":"tools/call"}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"a":"\\","id":2,"b":"\\\""}}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[{"id":2}]}x`,
	`{"params":"{\"id\":7","id":1,"method":"tools/call"}`, `{"id":1]"method":"tools/call"}`, `{"id":{"id":1},"method":"tools/call"}`, `{"params":{]},"id":1,"method":"tools/call"}`,
}

// Where a message is JSON and its id is found, it is the id that every parser
// finds, and no other is in the way. Nothing is found in what has no such id.
func FuzzCallID(f *testing.F) {
	for _, s := range idSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		id, ok := callID(message)
		all, count, isObject := members(message)
		if !ok || !isObject || !utf8.Valid(message) {
			return
		}
		var method string
		if count != len(all) || string(all["id"]) != string(message[id.from:id.to]) || json.Unmarshal(all["method"], &method) != nil || !learnable[method] {
			t.Fatalf("%q: found %q; the members are %s", message, message[id.from:id.to], all)
		}
		if _, no := parseLine(message); no != nil && json.Valid(all["jsonrpc"]) && string(all["jsonrpc"]) == `"2.0"` {
			t.Fatalf("%q: refused: %s", message, no.message)
		}
		for _, other := range []string{`9`, `"other-id"`} {
			again := bytes.Join([][]byte{message[:id.from], []byte(other), message[id.to:]}, nil)
			got, ok := callID(again)
			if !ok || string(again[got.from:got.to]) != other {
				t.Fatalf("%q: found %q", again, again[got.from:got.to])
			}
		}
	})
}

func TestCallID(t *testing.T) {
	var found []string
	for _, s := range idSeeds {
		if id, ok := callID([]byte(s)); ok {
			found = append(found, s[id.from:id.to])
		}
	}
	// The first three, the one with ids in its parameters, and the one whose
	// parameters are a text.
	want := []string{"1", `"x-1"`, "12", "1", "1"}
	if !slices.Equal(found, want) {
		t.Errorf("found %q, want %q", found, want)
	}
}

func BenchmarkCallID(b *testing.B) {
	message := []byte(idSeeds[0])
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := callID(message); !ok {
			b.Fatal("not found")
		}
	}
}
