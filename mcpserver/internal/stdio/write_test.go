package stdio

import (
	"bytes"
	"strings"
	"testing"
)

// halfway is an output that writes a few bytes of a message without waiting.
type halfway struct{ bytes.Buffer }

func (h *halfway) WriteNow(pieces [][]byte) int {
	n, _ := h.Write(bytes.Join(pieces, nil)[:min(5, length(pieces))])
	return n
}

func length(pieces [][]byte) (n int) {
	for _, p := range pieces {
		n += len(p)
	}
	return n
}

// TestLineIsWrittenWhole checks that the rest of a line is written after the part that the output
// writes without waiting.
func TestLineIsWrittenWhole(t *testing.T) {
	out := &halfway{}
	c := (&Transport{In: &bytes.Buffer{}, Out: out}).conn()
	for _, line := range []string{"1\n", "a longer line\n", "5\n"} {
		must(t, c.send([]byte(line), nil))
	}
	if got := out.String(); got != "1\na longer line\n5\n" {
		t.Errorf("%q was written", got)
	}
	for _, pieces := range []string{"|", "a|b\n", "four|five|six\n", "12345|6\n", "||1234567|8\n", "|1|2|3|4|5|6|7|8|"} {
		out.Reset()
		split := bytes.Split([]byte(pieces), []byte("|"))
		if err := c.line(split, nil); err != nil || out.String() != strings.ReplaceAll(pieces, "|", "") {
			t.Errorf("%q, %v", out.String(), err)
		}
		if again := bytes.Join(split, []byte("|")); string(again) != pieces {
			t.Errorf("the pieces %q are now %q", pieces, again)
		}
	}
}
