package stdio

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStdioOneShotPipeLosesNothing(t *testing.T) {
	t.Parallel()
	input := strings.Join([]string{stdioInit, stdioReady,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, stdioCall("2", "nap")}, "\n")
	server := newStdioTools()
	tries := 50
	if testing.Short() {
		tries = 10
	}
	for i := range tries {
		s := startStdio(t, server, &Transport{In: strings.NewReader(input)})
		must(t, s.wait())
		if n := len(s.out.messages); n != 3 {
			t.Fatalf("try %d: %d answers of 3", i, n)
		}
	}
}

func TestStdioLineLimit(t *testing.T) {
	const limit = 200_000
	s := startStdio(t, newStdioTools(), &Transport{MaxLine: limit})
	pad := func(n int) string {
		line := stdioPing("1")
		return line[:len(line)-1] + strings.Repeat(" ", n-len(line)) + "}"
	}
	for _, end := range []string{"", "\r"} {
		s.send(pad(limit) + end)
		s.want("1", 0)
		for _, over := range []int{1, 2, 3, 5, 6, 70_000, 5_000_000} {
			s.send(pad(limit+over) + end)
			if m := s.want("null", -32600); !strings.Contains(m.Error.Message, "200000") {
				t.Errorf("the limit is not named: %q", m.Error.Message)
			}
			s.silent()
		}
	}
	go func() {
		io.WriteString(s.in, strings.Repeat("x", limit+1)) // and no newline
		s.in.Close()
	}()
	s.want("null", -32600)
	must(t, s.wait())
}

// stdioEndless is a line of n bytes.
type stdioEndless struct{ n int }

func (e *stdioEndless) Read(p []byte) (int, error) {
	if e.n <= 0 {
		return 0, io.EOF
	}
	n := min(len(p), e.n)
	e.n -= n
	for i := range p[:n] {
		p[i] = 'x'
	}
	return n, nil
}

func TestStdioLongLineIsNotHeld(t *testing.T) {
	lines := newLineReader(&stdioEndless{n: 64 << 20}, 1<<20)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := lines.next(); err != errLineTooLong {
		t.Fatalf("got %v", err)
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 8<<20 {
		t.Errorf("%d bytes allocated for a line of 64 MiB with a limit of 1 MiB", got)
	}
	if lines.buf != nil {
		t.Errorf("%d bytes kept", cap(lines.buf))
	}
	if _, err := lines.next(); err != io.EOF {
		t.Fatalf("got %v", err)
	}
}

func TestStdioLineEndings(t *testing.T) {
	broken := errors.New("broken")
	read := func(in io.Reader) (got []string, err error) {
		lines := newLineReader(in, 10)
		for {
			line, err := lines.next()
			if err != nil && err != errLineTooLong {
				return got, err
			}
			got = append(got, fmt.Sprintf("%s/%v", line, err != nil))
		}
	}
	got, err := read(strings.NewReader("\ufeffa\r\n\n\ufeffb\n0123456789\r\n01234567890\nlast"))
	want := []string{"a/false", "/false", "\ufeffb/false", "0123456789/false", "/true", "last/false"}
	if diff := cmp.Diff(want, got); diff != "" || err != io.EOF {
		t.Errorf("%v\n%s", err, diff)
	}
	got, err = read(io.MultiReader(strings.NewReader("a\npart"), stdioBroken{broken}))
	if diff := cmp.Diff([]string{"a/false"}, got); diff != "" || err != broken {
		t.Errorf("%v\n%s", err, diff)
	}
}

// stdioBroken fails every read and write.
type stdioBroken struct{ err error }

func (b stdioBroken) Read([]byte) (int, error)  { return 0, b.err }
func (b stdioBroken) Write([]byte) (int, error) { return 0, b.err }
