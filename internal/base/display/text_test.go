package display

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/test/difftest"
)

func TestEcho(t *testing.T) {
	for in, want := range map[string]string{
		"":                                   "",
		"Ünï/😀":                              "Ünï/😀",
		"a\x00b\x1b[31m\x7f\u0085":           `a\x00b\x1b[31m\x7f\u0085`,
		"a\nb\tc":                            `a\nb\tc`,
		"\u202eevil\u2066\u200f":             `\u202eevil\u2066\u200f`,
		"\u2028\u2029":                       `\u2028\u2029`,
		"\xff\xfea":                          "\ufffda",
		strings.Repeat("a", 256):             strings.Repeat("a", 256),
		strings.Repeat("a", 257):             strings.Repeat("a", 256),
		strings.Repeat("é", 129):             strings.Repeat("é", 128),
		"a" + strings.Repeat("é", 128):       "a" + strings.Repeat("é", 127),
		strings.Repeat("\x01", 1000):         strings.Repeat(`\x01`, 64),
		strings.Repeat("\U000e0001\x02", 99): strings.Repeat(`\U000e0001\x02`, 18),
		"a\u200bb\ufeff\U0001d173":           `a\u200bb\ufeff\U0001d173`,
		"👩\u200d💻":                           "👩\u200d💻",
	} {
		got := Echo(in)
		difftest.Same(t, got, want, "Echo")
		if len(got) > EchoLimit || !utf8.ValidString(got) {
			t.Errorf("%q: %d bytes", got, len(got))
		}
	}
}

func TestOneLine(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "a": "a", "a b": "a b", " a": "a", "a ": "a", "a  b": "a b", "a\r\n\tb": "a b", "a\u00a0\u2003b": "a b", "\x00a\x1bb\u0085": "a b",
		"a\u2028b\u2029": "a b", "\u202ea\u200f b\u2069": "a b", "a \u200e b": "a b", "é  ü": "é ü", "a\xffb": "a\ufffdb", "\u202e": "", " \n ": "",
	} {
		difftest.Same(t, OneLine(in), want, "OneLine")
		difftest.Same(t, OneLine(OneLine(in)), want, "again")
	}
}

func TestCutBytes(t *testing.T) {
	for _, c := range []struct {
		s    string
		n    int
		want string
	}{
		{"abc", 3, "abc"}, {"abc", 2, "ab"}, {"abc", 0, ""}, {"abc", -1, ""}, {"aé", 2, "a"}, {"aé", 3, "aé"}, {"😀", 3, ""}, {"\x80\x80", 1, "\x80"}, {"", 0, ""},
		{"ab" + strings.Repeat("\x80", 9), 8, "ab" + strings.Repeat("\x80", 6)},
	} {
		difftest.Same(t, CutBytes(c.s, c.n), c.want, c.s)
	}
	difftest.Same(t, Excerpt(strings.Repeat("é ", 40)), strings.Repeat("é ", 20)+"…", "Excerpt")
	difftest.Same(t, Quote("a\nb"), "'a b'", "Quote")
}

// TestIsBlank checks that IsBlank returns true exactly if OneLine returns "".
func TestIsBlank(t *testing.T) {
	for r := rune(0); r <= 0x1ffff; r++ {
		for _, text := range []string{string(r), "\t" + string(r) + " "} {
			if got, want := IsBlank(text), OneLine(text) == ""; got != want {
				t.Errorf("%q: %t", text, got)
			}
		}
	}
	for text, want := range map[string]bool{"": true, " \n\u202e\u0085\u3000": true, " \u202e.": false, "\xff": false} {
		if IsBlank(text) != want {
			t.Errorf("%q: %t", text, !want)
		}
	}
}

// TestAppendVisibleJSON checks that a JSON text keeps its value, and that the result has no control
// characters, direction marks, line separators or characters of invisible planes.
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
	encoded := AppendVisibleJSON([]byte("before "), []byte(was.String()))
	var got map[string]string
	if err := json.Unmarshal(encoded[len("before "):], &got); err != nil {
		t.Fatal(err)
	}
	if got["text"] != value {
		t.Error("the value is another")
	}
	for _, r := range strings.TrimSuffix(string(encoded), "\n") {
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
		difftest.Same(t, string(AppendVisibleJSON(nil, []byte(text))), want, text)
	}
}
