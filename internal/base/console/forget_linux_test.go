package console

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/knack-dev/knack/internal/test/testwait"
)

// TestForget checks that input typed before a question does not answer it, wherever the input is
// buffered.
func TestForget(t *testing.T) {
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no terminals here:", err)
	}
	defer person.Close()
	if err := unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	types := func(text string) {
		if _, err := person.WriteString(text); err != nil {
			t.Fatal(err)
		}
		testwait.Until(t, func() bool {
			waiting, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCINQ)
			return err == nil && waiting >= len(text)
		}, "the terminal does not get the keys")
	}
	for _, kind := range []string{"xterm", "dumb"} {
		env := Env{Stdin: tty, Stdout: io.Discard, Stderr: io.Discard, StdinTerminal: true, StdoutTerminal: true, Getenv: func(string) string { return kind }}
		l := env.Lines()
		types("words\n")
		if got, err := l.Line(t.Context(), "You: "); got != "words" || err != nil {
			t.Errorf("%s: %q, %v", kind, got, err)
		}
		types("y\n")
		l.Forget()
		types("n\n")
		if got, err := l.Line(t.Context(), "Allow? "); got != "n" || err != nil {
			t.Errorf("%s: the answer is %q, %v", kind, got, err)
		}
		l.Close()
	}
}

// TestForgetRead checks that Forget drops keys that were read together with the previous line.
func TestForgetRead(t *testing.T) {
	l := &Lines{out: io.Discard, plain: bufio.NewReader(strings.NewReader("")), keys: &keys{raw: []byte("y\r"), out: []byte("a")}}
	l.Forget()
	if len(l.keys.raw)+len(l.keys.out) > 0 {
		t.Errorf("%q and %q are left", l.keys.raw, l.keys.out)
	}
}
