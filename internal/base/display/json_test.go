package display

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// TestAppendJSONString checks that encoding/json reads each character back, at every position among
// eight bytes.
func TestAppendJSONString(t *testing.T) {
	for _, odd := range []string{`"`, `\`, "\n", "\r", "\t", "\x00", "\x1f", " ", "~", "\x7f", "\x80", "\xff", "é", "€", "😀", "\xe2\x82", "\x7f\xff", "\xa0\"", "!\""} {
		for at := range 18 {
			text := strings.Repeat("a", at) + odd + strings.Repeat("b", 17-at)
			got := AppendJSONString([]byte("x"), text)
			var back string
			if err := json.Unmarshal(got[1:], &back); err != nil || back != string([]rune(text)) {
				t.Errorf("%q: %s, which is %q, %v", text, got, back, err)
			}
			if bytes.Contains(got, []byte{0x7f}) {
				t.Errorf("%q: %s has a control character", text, got)
			}
		}
	}
}
