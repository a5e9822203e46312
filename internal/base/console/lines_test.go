package console

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"golang.org/x/term"

	"github.com/knack-dev/knack/internal/test/difftest"
)

// TestKeys checks which lines keys and the editor produce from a terminal's bytes, however the
// reads split the bytes.
func TestKeys(t *testing.T) {
	const typed = "one\rtwo\x03\x1b[200~a\r\n\tb\x1b[2x\x03\x1b[20\nc\x1b[201~ d\r\x03caf\u00e9\x1b[D\x1b[D-\r\x1b\x1b[200~x\x1b[201~\r"
	want := []string{"one", "^C two", "a\n\tb[2x[20\nc d", "^C ", "ca-f\u00e9", "x"}
	for _, cut := range []func(io.Reader) io.Reader{func(r io.Reader) io.Reader { return r }, iotest.OneByteReader, iotest.HalfReader} {
		k := &keys{in: cut(strings.NewReader(typed))}
		editor := term.NewTerminal(struct {
			io.Reader
			io.Writer
		}{k, io.Discard}, "")
		var got []string
		for {
			line, err := editor.ReadLine()
			if err != nil && !errors.Is(err, term.ErrPasteIndicator) {
				break
			}
			if line = pasted.Replace(line); k.ctrlC {
				line = "^C " + line
			}
			got = append(got, line)
		}
		difftest.Same(t, got, want)
	}
}

// TestLinesElsewhere checks that Lines reads lines unchanged if the input is not a terminal.
func TestLinesElsewhere(t *testing.T) {
	env := Env{Stdin: strings.NewReader("one\r\n\ntwo\\\n" + strings.Repeat("x", maxLine+1)), Stdout: io.Discard, Stderr: io.Discard}
	l := env.Lines()
	defer l.Close()
	for _, want := range []string{"one", "", "two\\"} {
		if got, err := l.Line(t.Context(), "You: "); got != want || err != nil {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	if _, err := l.Line(t.Context(), ""); !errors.Is(err, ErrLongLine) || l.IsTyped() {
		t.Errorf("a long line: %v", err)
	}
	env.Stdin = strings.NewReader("last")
	l = env.Lines()
	if got, err := l.Line(t.Context(), ""); got != "last" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := l.Line(t.Context(), ""); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
}
