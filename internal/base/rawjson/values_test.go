package rawjson

import (
	"strings"
	"testing"
)

// TestValues checks the number of values that a decoder would create, for a whole text and byte by
// byte.
func TestValues(t *testing.T) {
	for text, want := range map[string]int{
		`"one"`: 0, `{}`: 1, `{"a":[1,2,{"b":null}]}`: 5, `["[{,","\",[","\\",1]`: 4, `[{},{},0]`: 5,
		"data: \"odd\ndata: [1,2]": 2,
	} {
		var c Counter
		for i := range text {
			c.Add([]byte{text[i]})
		}
		if got := Values([]byte(text)); got != want || c.Values != want {
			t.Errorf("%s: %d, and %d byte by byte, want %d", text, got, c.Values, want)
		}
	}
	for text, want := range map[string]bool{
		strings.Repeat("[", MaxValues) + strings.Repeat("]", MaxValues): false,
		"[" + strings.Repeat("0,", MaxValues-1) + "0]":                  false, "[" + strings.Repeat("0,", MaxValues) + "0]": true,
		`["` + strings.Repeat(",", MaxValues*2) + `"]`: false,
	} {
		if TooMany([]byte(text)) != want {
			t.Errorf("%.20s of %d bytes: %v", text, len(text), !want)
		}
	}
}

func BenchmarkHasMore(b *testing.B) {
	text := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}},"name":"Skill","arguments":{"skill_name":"git"}}}`)
	for b.Loop() {
		HasMore(text, 64)
	}
}
