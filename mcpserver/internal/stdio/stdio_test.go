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
		if err := s.wait(); err != nil {
			t.Fatal(err)
		}
		if n := len(s.out.messages); n != 3 {
			t.Fatalf("try %d: %d answers of 3", i, n)
		}
	}
}

func TestStdioRefusesAndGoesOn(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)
	tests := []struct {
		line, id string
		code     int64
	}{
		{`oops`, "null", -32700},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"`, "null", -32700},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"}}`, "null", -32700},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"} {}`, "null", -32700},
		{"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}", "null", -32700},
		{"{\"jsonrpc\":\"2.0\",\"id\":\"a\tb\",\"method\":\"ping\"}", "null", -32700},
		{"\ufeff" + `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "null", -32700}, // not the first line
		{deep, "null", -32700},
		{`1`, "null", -32600},
		{`null`, "null", -32600},
		{`[]`, "null", -32600},
		{`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, "null", -32600},
		{`{}`, "null", -32600},
		{`{"jsonrpc":"2.0"}`, "null", -32600},
		{`{"jsonrpc":"2.0","id":1}`, "1", -32600},
		{`{"jsonrpc":"2.0","id":1,"error":null}`, "1", -32600},
		{`{"id":"a","method":"ping"}`, `"a"`, -32600},
		{`{"jsonrpc":"1.0","id":1,"method":"ping"}`, "1", -32600},
		{`{"jsonrpc":2.0,"id":1,"method":"ping"}`, "1", -32600},
		{`{"JSONRPC":"2.0","id":1,"method":"ping"}`, "1", -32600},
		{`{"jsonrpc":"2.0","id":1,"Method":"ping"}`, "1", -32600},
		{`{"jsonrpc":"2.0","id":1,"method":7}`, "1", -32600},
		{`{"jsonrpc":"2.0","id":1,"method":null}`, "1", -32600},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}`, "1", -32600},
		{`{"jsonrpc":"2.0","id":null,"method":"ping"}`, "null", -32600},
		{`{"jsonrpc":"2.0","id":true,"method":"ping"}`, "null", -32600},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, "null", -32600},
		{`{"jsonrpc":"2.0","id":[1],"method":"ping"}`, "null", -32600},
		{`{"jsonrpc":"2.0","id":{},"result":{}}`, "null", -32600},
		{`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, "1.5", -32600},
		{`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, "9007199254740993", -32600},
		{`{"jsonrpc":"2.0","id":1e999,"method":"ping"}`, "1e999", -32600},
		{`{"jsonrpc":"2.0","id":1,"method":"nothing"}`, "1", -32601},
	}
	s := startStdio(t, newStdioTools(), &Transport{})
	s.initialize()
	for _, tt := range tests {
		s.send(tt.line)
		if m := s.recv(); string(m.ID) != tt.id || m.code() != tt.code {
			t.Errorf("%.60q: got id %s %+v, want id %s code %d", tt.line, m.ID, m.Error, tt.id, tt.code)
		}
		s.silent()
	}
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
}

func TestStdioPassesOver(t *testing.T) {
	s := startStdio(t, newStdioTools(), &Transport{})
	s.send("\ufeff" + strings.TrimSpace(stdioInit) + "\r")
	s.want(`"init"`, 0)
	for _, line := range []string{
		"", "\r", " \t ", "\r\r",
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}`,
		`{"jsonrpc":"2.0","error":{"code":-32700,"message":"what?"}}`,
		`{"jsonrpc":"2.0","id":99,"result":{}}`, // nobody asked
		`{"jsonrpc":"2.0","method":"notifications/nothing"}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled"}`,
		stdioCancel("77"), stdioCancel(`{}`), stdioCancel(`null`),
	} {
		s.send(line)
		s.silent()
	}
	for _, id := range []string{"1.0", "1e0", "-0"} {
		s.send(" \t" + stdioPing(id) + " \r")
		if m := s.recv(); m.code() != 0 {
			t.Errorf("id %s: %+v", id, m.Error)
		}
	}
	if err := s.end(); err != nil {
		t.Fatal(err)
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
	if err := s.wait(); err != nil {
		t.Fatal(err)
	}
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
