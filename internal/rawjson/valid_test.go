package rawjson

import (
	"encoding/json"
	"strings"
	"testing"
)

// checkValid compares Valid with the standard library, which knows no levels.
func checkValid(t *testing.T, b []byte) {
	t.Helper()
	got, want := Valid(b), json.Valid(b)
	if got != want && (got || deepest(b) <= maxLevels) {
		t.Errorf("%.200q: %v, want %v", b, got, want)
	}
}

// deepest is the number of levels of a valid text.
func deepest(b []byte) (most int) {
	depth, in, escaped := 0, false, false
	for _, c := range b {
		switch {
		case escaped:
			escaped = false
		case in:
			escaped, in = c == '\\', c != '"'
		case c == '"':
			in = true
		case c == '{' || c == '[':
			depth++
			most = max(most, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return most
}

var texts = []string{
	``, ` `, `{}`, "\t[ ]\r\n", `{"a":1,"b":[true,false,null,"x"]}`, `{"a" : -0.5e+10 , "b":1E5}`, `"\u12aF\"\\\/\b\f\n\r\t"`,
	`01`, `-`, `-01`, `1.`, `.5`, `1e`, `1e+`, `+1`, `0x1`, `1.5.5`, `nul`, `nulll`, `True`, `"`, `"\`, `"\x"`, `"\u12g4"`, `"\u12`, "\"\x01\"", "\"\x7f\xff\"",
	`{`, `[`, `[1,]`, `[,1]`, `[1 2]`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{a:1}`, `{"a":1 "b":2}`, `[1}`, `{"a":1]`, `{}{}`, `[]]`, `{"a" 1}`, "\ufeff{}", "{}\x00", "\v1",
	`[[[[[[[[]]]]]]]]`,
}

func TestValid(t *testing.T) {
	for _, text := range texts {
		for i := range len(text) + 1 {
			checkValid(t, []byte(text[:i]))
			checkValid(t, []byte(text[i:]))
		}
	}
	for _, n := range []int{maxLevels, maxLevels + 1} {
		for _, text := range []string{strings.Repeat("[", n) + strings.Repeat("]", n), strings.Repeat(`{"":`, n) + "0" + strings.Repeat("}", n)} {
			if Valid([]byte(text)) != (n == maxLevels) {
				t.Errorf("%d levels: %v", n, n > maxLevels)
			}
		}
	}
	if Valid([]byte(strings.Repeat("[", 10_000_000))) {
		t.Error("an endless array is valid")
	}
}

func FuzzValid(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(checkValid)
}

func BenchmarkValid(b *testing.B) {
	text := []byte(`{"jsonrpc":"2.0","id":123,"method":"tools/list","params":{"_meta":{"claudecode/toolUseId":"toolu_01000000a3f29c1d55e1f2","progressToken":123}}}`)
	for name, valid := range map[string]func([]byte) bool{"own": Valid, "std": json.Valid} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				valid(text)
			}
		})
	}
}
