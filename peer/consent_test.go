package peer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/display"
)

var write = Tool{Name: "files__write", Server: "files", Own: "write"}

func invocation(t *testing.T, of Tool, arguments string) Invocation {
	t.Helper()
	i, err := Invoke(of, json.RawMessage(arguments))
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// answers is a user who gives these answers, and notes the questions.
type answers struct {
	given     []string
	questions []string
}

func (a *answers) ask(_ context.Context, question string) (string, error) {
	a.questions = append(a.questions, question)
	if len(a.given) == 0 {
		return "", context.Canceled
	}
	answer := a.given[0]
	a.given = a.given[1:]
	return answer, nil
}

// TestConsent asks about each call, and knows what was answered.
func TestConsent(t *testing.T) {
	read, other := Tool{Name: "files__read_text"}, Tool{Name: "docs__write"}
	for name, c := range map[string]struct {
		allow   []Pattern
		answers string // none: there is no terminal
		calls   []Tool
		want    string
		asked   int
	}{
		"yes, for once":           {nil, "y|YES ", []Tool{write, write}, "yes yes", 2},
		"no":                      {nil, "n||No", []Tool{write, write, write}, "no no no", 3},
		"always, this tool alone": {nil, "a|n", []Tool{write, write, other, write}, "always always no always", 2},
		"not understood":          {nil, "what?|yes please|y", []Tool{write}, "yes", 3},
		"never understood":        {nil, "1|2|3", []Tool{write}, "no", 3},
		"without a terminal":      {[]Pattern{"files__read_*"}, "", []Tool{write, read, other}, "unasked pattern unasked", 0},
		"a pattern":               {[]Pattern{"files__read_*", "docs__write"}, "n", []Tool{read, other, write}, "pattern pattern no", 1},
		"the whole name":          {[]Pattern{"files__read", "write"}, "n|n", []Tool{read, write}, "no no", 2},
	} {
		consent := Consent{Allow: c.allow}
		user := &answers{given: strings.Split(c.answers, "|")}
		if c.answers != "" {
			consent.Ask = user.ask
		}
		var got []string
		for _, one := range c.calls {
			d, err := consent.Decide(t.Context(), invocation(t, one, `{}`))
			if err != nil {
				t.Error(name, err)
			}
			if d.Allowed() != (d == AllowedByPattern || d == AllowedOnce || d == AllowedAlways) {
				t.Errorf("%s: %s", name, d)
			}
			got = append(got, string(d))
		}
		if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" || len(user.questions) != c.asked {
			t.Errorf("%s: %s %q", name, diff, user.questions)
		}
	}
	interrupted := Consent{Ask: (&answers{}).ask}
	if d, err := interrupted.Decide(t.Context(), invocation(t, write, `{}`)); d.Allowed() || !errors.Is(err, context.Canceled) {
		t.Errorf("%s, %v", d, err)
	}
}

// TestQuestion shows each argument in full, in one line that no argument can forge or steer.
func TestQuestion(t *testing.T) {
	const end = "? [y]es, [a]lways this tool, [n]o "
	for arguments, want := range map[string]string{
		"":   "",
		"{}": "",
		`{"path":"a.txt","n":1.50,"deep":{"b":[1,{"a":null}],"a":true},"last":false}`: `path="a.txt", n=1.50, deep={"b":[1,{"a":null}],"a":true}, last=false`,
		`{"path":"a\")? [y]es\n\r\tAllow files__read(\""}`:                            `path="a\")? [y]es\n\r\tAllow files__read(\""`,
		"{\"a b)?\":\"\x7f\",\"\\u001b[2J\":1}":                                       `"a b)?"="\u007f", "\u001b[2J"=1`,
		`{"path":"\u001b[2J\u009b1m\u202egpj\u2066\u200b\u2028\udb40\udc41\ud800"}`:   `path="\u001b[2J\u009b1m\u202egpj\u2066\u200b\u2028\udb40\udc41` + "\ufffd" + `"`,
		"{\"path\":\"\xff\"}": `path="` + "\ufffd" + `"`,
		`{"größe":"日本 👩‍💻"}`:  "\"größe\"=\"日本 👩" + `\u200d` + "💻\"",
	} {
		call := invocation(t, write, arguments)
		if diff := cmp.Diff("Allow files__write("+want+")"+end, call.question()); diff != "" {
			t.Error(diff)
		}
		var sent, shown map[string]any
		if json.Unmarshal(call.Arguments, &sent) != nil || arguments != "" && json.Unmarshal([]byte(arguments), &shown) != nil || arguments != "" && cmp.Diff(sent, shown) != "" {
			t.Errorf("%s: %s is sent", arguments, call.Arguments)
		}
	}
	long := invocation(t, write, `{"text":"`+strings.Repeat("x", 2_000)+`"}`).question()
	if want := `xx")? This is a call of files__write with 2,007 characters of arguments. [y]es, [a]lways this tool, [n]o `; !strings.HasSuffix(long, want) || len(long) < 2_000 {
		t.Errorf("%s", long)
	}
}

// TestArguments refuses arguments that a server could read in another way than they are shown.
func TestArguments(t *testing.T) {
	for arguments, want := range map[string]string{
		`{"path":"a","path":"b"}`:            `the key "path" occurs twice`,
		`{"o":[{"path":"a","\u0070ath":1}]}`: `the key "path" occurs twice`,
		`{"\ud800":1,"\ud801":2}`:            `the key "\ufffd" occurs twice`,
		`[]`:                                 "they are no JSON object",
		`"{}"`:                               "they are no JSON object",
		`null`:                               "they are no JSON object",
		`{"a":1`:                             "they are no JSON: EOF",
		`{"a":1}{}`:                          "something follows the object",
		`{"a":1}x`:                           "something follows the object",
		`{"a":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}`: "they are nested too deep",
	} {
		if _, err := Invoke(write, json.RawMessage(arguments)); err == nil || err.Error() != "invalid tool arguments: "+want {
			t.Errorf("%.80s: %v, want %s", arguments, err, want)
		}
	}
}

// TestPatterns reads what --allow gives.
func TestPatterns(t *testing.T) {
	for _, good := range []string{"files__read_file", "files__*", "*", "a-b__*x*"} {
		if p, err := ParsePattern(good); err != nil || string(p) != good {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"", "a b", "[a-z]", `a\b`, "a?", "a/b", "é", strings.Repeat("a", 65)} {
		if _, err := ParsePattern(bad); err == nil {
			t.Errorf("%s is a pattern", bad)
		}
	}
}

// FuzzInvoke checks that what is sent is the value that was given, and that a question is one line
// of characters that a terminal shows.
func FuzzInvoke(f *testing.F) {
	f.Add([]byte(`{"path":"a\u202e.txt","n":[1,2.5e3,null,true,{"a":"b"}]}`))
	f.Add([]byte("{\"a\":\"\xff\x7f\"}"))
	f.Fuzz(func(t *testing.T, arguments []byte) {
		call, err := Invoke(write, arguments)
		if err != nil {
			return
		}
		var given, sent any
		if len(bytes.TrimSpace(arguments)) > 0 {
			a, b := json.NewDecoder(bytes.NewReader(arguments)), json.NewDecoder(bytes.NewReader(call.Arguments))
			a.UseNumber()
			b.UseNumber()
			if a.Decode(&given) != nil || b.Decode(&sent) != nil || cmp.Diff(given, sent) != "" {
				t.Errorf("%q: %q is sent", arguments, call.Arguments)
			}
		}
		for _, r := range call.question() {
			if r == utf8.RuneError && !bytes.Contains(call.Arguments, []byte("\ufffd")) || unicode.IsControl(r) || display.IsUnseen(r) {
				t.Errorf("%q: %q has %U", arguments, call.question(), r)
			}
		}
	})
}
