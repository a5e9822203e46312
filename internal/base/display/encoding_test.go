package display

import "testing"

func TestDecode(t *testing.T) {
	for _, c := range []struct{ in, text, encoding string }{
		{"", "", "utf-8"},
		{"é", "é", "utf-8"},
		{"\ufeffa", "\ufeffa", "utf-8"},
		{"a\x00b", "a\x00b", "utf-8"},
		{"\xff\xfea\x00\xe9\x00", "aé", "utf-16le"},
		{"\xfe\xff\x00a\x00\xe9", "aé", "utf-16be"},
		{"\xff\xfe", "", "utf-16le"},
		{"\xff\xfe\x3d\xd8\x00\xde", "😀", "utf-16le"},
		{"\xff\xfe\x00\xdea\x00", "\ufffda", "utf-16le"}, // half a surrogate pair
		{"\xfe\xff\xd8\x3d", "\ufffd", "utf-16be"},       // the other half, at the end
		{"\xff\xfe\x00\xde\x00\xdea\x00", "\ufffd\ufffda", "utf-16le"},
		{"\xff\xfea\x00\xff\xfe", "a\ufeff", "utf-16le"}, // a second mark is text
		{"\xff\xfeab\xe9", "ÿþabé", "windows-1252"},      // an odd number of bytes is no UTF-16
		{"caf\xe9 \x93x\x94 \x80", "café “x” €", "windows-1252"},
		{"\x81\x8d\x8f\x90\x9d\xff", "\u0081\u008d\u008f\u0090\u009dÿ", "windows-1252"}, // as WHATWG decodes it
		{"\xe9\t\r\n\f", "é\t\r\n\f", "windows-1252"},
		{"\xe9\x7f", "é\x7f", "windows-1252"},
	} {
		text, encoding, ok := Decode([]byte(c.in))
		if text != c.text || encoding != c.encoding || !ok {
			t.Errorf("%q: %q as %s, %v, want %q as %s", c.in, text, encoding, ok, c.text, c.encoding)
		}
	}
	for _, in := range []string{"\xff\xfea\x00\x00", "\xe9\x00", "\xe9\x01", "\xe9\x0b", "\xe9\x1b", "\x89PNG\r\n\x1a\n"} {
		if text, encoding, ok := Decode([]byte(in)); ok {
			t.Errorf("%q: %q as %s", in, text, encoding)
		}
	}
}
