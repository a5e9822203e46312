package rawjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// checkObject compares Object with the standard library, which has no bound on levels, and its
// members with the members that Members finds. It also tries each text as the value of a member.
func checkObject(t *testing.T, text []byte) {
	t.Helper()
	members := func(each func([]byte, func(_, _ []byte) bool) bool, b []byte) (all []string, ok bool) {
		ok = each(b, func(key, value []byte) bool {
			all = append(all, string(key), string(value))
			return true
		})
		return all, ok
	}
	for _, b := range [][]byte{text, fmt.Appendf(nil, `{"a":%s}`, text)} {
		got, ok := members(Object, b)
		trimmed := bytes.TrimLeft(b, " \t\r\n")
		if want := json.Valid(b) && trimmed[0] == '{'; ok != want && (ok || deepest(b) <= maxLevels) {
			t.Errorf("%.200q: %v, want %v", b, ok, want)
		}
		if !ok {
			continue
		}
		if want, whole := members(Members, trimmed); whole && !slices.Equal(got, want) {
			t.Errorf("%.200q has the members %.200q, want %.200q", b, got, want)
		}
	}
}

// valid calls Object with a visitor that accepts all members.
func valid(b []byte) bool { return Object(b, func(_, _ []byte) bool { return true }) }

// deepest returns the number of levels of a valid text.
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

func TestObjectIsValid(t *testing.T) {
	for _, text := range texts {
		for i := range len(text) + 1 {
			checkObject(t, []byte(text[:i]))
			checkObject(t, []byte(text[i:]))
		}
	}
	for _, n := range []int{maxLevels, maxLevels + 1} {
		for _, text := range []string{`{"":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + "}", strings.Repeat(`{"":`, n) + "0" + strings.Repeat("}", n)} {
			if valid([]byte(text)) != (n == maxLevels) {
				t.Errorf("%d levels: %v", n, n > maxLevels)
			}
		}
	}
	if valid([]byte(`{"":` + strings.Repeat("[", 10_000_000))) {
		t.Error("an endless array is valid")
	}
}

func FuzzObject(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(checkObject)
}

func BenchmarkObject(b *testing.B) {
	text := []byte(`{"jsonrpc":"2.0","id":123,"method":"tools/list","params":{"_meta":{"claudecode/toolUseId":"toolu_01000000a3f29c1d55e1f2","progressToken":123}}}`)
	for name, judge := range map[string]func([]byte) bool{"own": valid, "std": json.Valid} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				judge(text)
			}
		})
	}
}
