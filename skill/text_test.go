package skill

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// TestIsBlank checks that a text is blank exactly if OneLine returns "".
func TestIsBlank(t *testing.T) {
	for r := rune(0); r <= 0x1ffff; r++ {
		for _, text := range []string{string(r), "\t" + string(r) + " "} {
			if got, want := isBlank(text), OneLine(text) == ""; got != want {
				t.Errorf("%q: %t", text, got)
			}
		}
	}
	for text, want := range map[string]bool{"": true, " \n\u202e\u0085\u3000": true, " \u202e.": false, "\xff": false} {
		if isBlank(text) != want {
			t.Errorf("%q: %t", text, !want)
		}
	}
}

// TestAppendVisibleJSON checks that a JSON text keeps its value and has no control,
// direction and line separator characters, and none beyond the visible planes.
func TestAppendVisibleJSON(t *testing.T) {
	var all strings.Builder
	for r := rune(0); r <= 0x1ffff; r++ {
		if utf8.ValidRune(r) {
			all.WriteRune(r)
		}
	}
	value := all.String() + "\U000e0001\U000e0041\U000e007f\U000f0000\U0010ffff"
	var was strings.Builder
	enc := json.NewEncoder(&was)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(map[string]string{"text": value}); err != nil {
		t.Fatal(err)
	}
	is := AppendVisibleJSON([]byte("before "), []byte(was.String()))
	var got map[string]string
	if err := json.Unmarshal(is[len("before "):], &got); err != nil {
		t.Fatal(err)
	}
	if got["text"] != value {
		t.Error("the value is another")
	}
	for _, r := range strings.TrimSuffix(string(is), "\n") {
		if unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control) || r >= 0xe0000 {
			t.Errorf("%U stands in it", r)
		}
	}
	for text, want := range map[string]string{
		"{\"a\": \"\u202egpj\"}\n":    `{"a": "\u202egpj"}` + "\n",
		"[\"\U000e0041\"]":            `["\udb40\udc41"]`,
		"[\"Ünï 😀 日本\"]":              `["Ünï 😀 日本"]`,
		"[\"\u200d\u0085\ufeff\\n\"]": `["\u200d\u0085\ufeff\n"]`,
	} {
		diff(t, text, string(AppendVisibleJSON(nil, []byte(text))), want)
	}
}
