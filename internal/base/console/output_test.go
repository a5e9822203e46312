package console

import (
	"strings"
	"testing"
)

// TestClean checks that Clean removes terminal controls, escapes invisible characters, and leaves
// texts of any script unchanged.
func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"a\x1b[2J\x07\u009b\x7fb\r\n\tc":  "a[2Jb\n\tc",
		"\u202egpj\u2066.exe\u200f\u061c": "gpj.exe",
		"x\u2028y\u2029z":                 `x\u2028y\u2029z`,
		"git\U000e0041\U000e007f":         `git\U000e0041\U000e007f`,
		"a\u200bb\u2060c\ufeffd\ufff9":    `a\u200bb\u2060c\ufeffd\ufff9`,
		"नी\u200cत 👩\u200d💻 Ünï 日本":       "नी\u200cत 👩\u200d💻 Ünï 日本",
		"so\u00adft \U0001d173":           `so\u00adft \U0001d173`,
		"a\xffb":                          "a\ufffdb",
		"a\xff\u2028":                     "a\ufffd" + `\u2028`,
	} {
		if got := Clean(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestPrintJSON(t *testing.T) {
	var b strings.Builder
	if err := PrintJSON(&b, []string{"<a>&\u202e\u2028\U000e0041\x1b\u009b\x7f"}); err != nil {
		t.Fatal(err)
	}
	if want := "[\n  \"<a>&" + `\u202e\u2028\udb40\udc41\u001b\u009b\u007f` + "\"\n]\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}
