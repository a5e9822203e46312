package mcpserver

import (
	"encoding/json"
	"testing"
)

func TestUnescapeHTML(t *testing.T) {
	for in, want := range map[string]string{
		``: ``, `"\u003cb\u003e \u0026"`: `"<b> &"`, `"\\u003c"`: `"\\u003c"`, `"\\\u003c"`: `"\\<"`, `"\u0000\u001b\u2028\""`: `"\u0000\u001b\u2028\""`,
		`\`: `\`, `\u003`: `\u003`, `"\u003C"`: `"\u003C"`,
	} {
		if got := string(unescapeHTML([]byte(in))); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// FuzzUnescapeHTML: the value stays the same.
func FuzzUnescapeHTML(f *testing.F) {
	f.Add(`a<b>&"\u003c\\u003c`)
	f.Fuzz(func(t *testing.T, s string) {
		line, err := json.Marshal(s)
		if err != nil {
			t.Skip()
		}
		var want, got string
		if json.Unmarshal(line, &want) != nil {
			t.Skip()
		}
		if err := json.Unmarshal(unescapeHTML(line), &got); err != nil || got != want {
			t.Errorf("%q: %q, %v", want, got, err)
		}
	})
}
