package stdio

import (
	"bytes"
	"testing"
)

// halfway takes a few bytes of a message without waiting.
type halfway struct{ bytes.Buffer }

func (h *halfway) WriteNow(p []byte) int {
	n, _ := h.Write(p[:min(len(p), 5)])
	return n
}

// TestLineIsWrittenWhole checks that the rest of a line follows the part that the output takes
// at once.
func TestLineIsWrittenWhole(t *testing.T) {
	out := &halfway{}
	c := newConn(Options{In: &bytes.Buffer{}, Out: out}, make(chan struct{}))
	for _, line := range []string{"1\n", "a longer line\n", "5\n"} {
		if err := c.send([]byte(line), nil); err != nil {
			t.Fatal(err)
		}
	}
	if got := out.String(); got != "1\na longer line\n5\n" {
		t.Errorf("%q was written", got)
	}
}
