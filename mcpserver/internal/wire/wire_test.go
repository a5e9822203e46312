package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/knack-dev/knack/internal/base/rawjson"
)

func TestParse(t *testing.T) {
	deep := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	call := func(id, key string) Message { return Message{Kind: Call, ID: id, Key: key, Method: "m"} }
	for name, c := range map[string]struct {
		line string
		want Message
		no   string // the refusal
	}{
		"a call":               {`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, Message{Kind: Call, ID: "1", Key: "1", Method: "tools/list"}, ""},
		"spaces":               {" { \"id\" : \"a b\" ,\t\"jsonrpc\":\"2.0\", \"method\":\"m\\u0065\", \"params\" : { } }\r", Message{Kind: Call, ID: `"a b"`, Key: `"a b`, Method: "me", Params: []byte("{ }")}, ""},
		"levels":               {`{"jsonrpc":"2.0","id":0,"method":"m","params":` + deep(900) + `}`, Message{Kind: Call, ID: "0", Key: "0", Method: "m", Params: []byte(deep(900))}, ""},
		"too many levels":      {`{"jsonrpc":"2.0","id":0,"method":"m","params":` + deep(901) + `}`, Message{}, `0 -32600 invalid request: its params nest deeper than 900 levels`},
		"a notification":       {`{"jsonrpc":"2.0","method":"m"}`, Message{Kind: Notification, Method: "m"}, ""},
		"a result":             {`{"jsonrpc":"2.0","id":1,"result":{}}`, Message{Kind: Reply, ID: "1", Key: "1", Result: []byte("{}")}, ""},
		"an error":             {`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}`, Message{Kind: Reply, ID: "1", Key: "1", Err: &jsonrpc.Error{Code: 1, Message: "no"}}, ""},
		"a result of nothing":  {`{"jsonrpc":"2.0","result":{}}`, Message{}, ""},
		"both":                 {`{"jsonrpc":"2.0","id":1,"method":"m","result":{}}`, Message{}, `1 -32600 invalid request: a message has a "method" or a "result" or an "error"`},
		"a batch":              {`[{"jsonrpc":"2.0","id":1,"method":"m"}]`, Message{}, "null -32600 invalid request: batches are not supported; send one message at a time"},
		"nothing":              {``, Message{}, ""},
		"a member twice":       {`{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}`, call("2", "2"), ""},
		"another case":         {`{"jsonrpc":"2.0","ID":1,"method":"m"}`, Message{Kind: Notification, Method: "m"}, ""},
		"an escaped key":       {`{"jsonrpc":"2.0","id":1,"meth\u006fd":"m"}`, call("1", "1"), ""},
		"an unknown member":    {`{"jsonrpc":"2.0","id":1,"method":"m","more":1}`, call("1", "1"), ""},
		"no version":           {`{"id":1,"method":"m"}`, Message{}, `1 -32600 invalid request: "jsonrpc" must be "2.0"`},
		"an escaped version":   {`{"jsonrpc":"2\u002e0","id":1,"method":"m"}`, call("1", "1"), ""},
		"a method of no text":  {`{"jsonrpc":"2.0","id":1,"method":5}`, Message{}, `1 -32600 invalid request: "method" must be a string`},
		"half a pair":          {`{"jsonrpc":"2.0","id":1,"method":"\ud800"}`, Message{Kind: Call, ID: "1", Key: "1", Method: "\ufffd"}, ""},
		"a null id":            {`{"jsonrpc":"2.0","id":null,"method":"m"}`, Message{}, "null -32600 invalid request: " + errID.Error()},
		"a fraction":           {`{"jsonrpc":"2.0","id":1.5,"method":"m"}`, Message{}, "1.5 -32600 invalid request: " + errID.Error()},
		"a whole fraction":     {`{"jsonrpc":"2.0","id":1.0,"method":"m"}`, call("1", "1"), ""},
		"an exponent":          {`{"jsonrpc":"2.0","id":1e2,"method":"m"}`, call("100", "100"), ""},
		"minus nothing":        {`{"jsonrpc":"2.0","id":-0,"method":"m"}`, call("0", "0"), ""},
		"a negative id":        {`{"jsonrpc":"2.0","id":-7,"method":"m"}`, call("-7", "-7"), ""},
		"a long number":        {`{"jsonrpc":"2.0","id":9007199254740993,"method":"m"}`, Message{}, "9007199254740993 -32600 invalid request: " + errID.Error()},
		"an escaped id":        {`{"jsonrpc":"2.0","id":"\u0061","method":"m"}`, call(`"a"`, `"a`), ""},
		"half an id":           {`{"jsonrpc":"2.0","id":"\ud800","method":"m"}`, Message{}, `"\ud800" -32600 invalid request: ` + errSurrogate.Error()},
		"an id of no kind":     {`{"jsonrpc":"2.0","id":{},"method":"m"}`, Message{}, "null -32600 invalid request: " + errID.Error()},
		"no UTF-8":             {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", Message{}, "null -32700 parse error: the message is not UTF-8"},
		"two":                  {`{"jsonrpc":"2.0","id":1,"method":"m"}{}`, Message{}, "null -32700 parse error: invalid character '{' after top-level value"},
		"a comma at the end":   {`{"jsonrpc":"2.0","id":1,"method":"m",}`, Message{}, "null -32700 parse error: invalid character '}' looking for beginning of object key string"},
		"a number with a zero": {`{"jsonrpc":"2.0","id":01,"method":"m"}`, Message{}, "null -32700 parse error: invalid character '1' after object key:value pair"},
	} {
		t.Run(name, func(t *testing.T) {
			got, no := Parse([]byte(c.line))
			said := ""
			if no != nil {
				id := string(no.ID)
				if id == "" {
					id = "null"
				}
				said = fmt.Sprintf("%s %d %s", id, no.Error.Code, no.Error.Message)
			}
			if diff := cmp.Diff(c.want, got); said != c.no || diff != "" {
				t.Errorf("%s\n%s", said, diff)
			}
		})
	}
}

// FuzzParse compares Parse and ParseParams with encoding/json, and checks that both find the same
// members.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"skill","arguments":{"name":"x"},"_meta":{"progressToken":1}}}`,
		`{"jsonrpc":"2.0","id":"a","method":"resources/read","params":{"uri":"skill:\/\/a\ud83d\ude00"}}`,
		`{"jsonrpc":"2.0","id":-1.5e+3,"method":"x","params":{"a":[true,false,null,{}]}}`, ` {} `, `[1]`, "{\"a\":\"\xff\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		m, no := Parse(line)
		var members map[string]json.RawMessage
		err := json.Unmarshal(line, &members)
		if no != nil || m.Kind != Call {
			return
		}
		var method string
		var id any
		if err != nil || json.Unmarshal(members["method"], &method) != nil || json.Unmarshal(members["id"], &id) != nil {
			t.Fatalf("%q is no call", line)
		}
		var said any
		if err := json.Unmarshal([]byte(m.ID), &said); err != nil || said != id || method != m.Method || string(members["params"]) != string(m.Params) {
			t.Fatalf("%q: %q %q %q", line, m.ID, m.Method, m.Params)
		}
		got, refused := ParseParams("resources/read", m.Params)
		if refused != nil || m.Params == nil || m.Params[0] != '{' {
			return
		}
		var p, meta map[string]json.RawMessage
		var uri, version string
		_, _, _ = json.Unmarshal(m.Params, &p), json.Unmarshal(p["uri"], &uri), json.Unmarshal(p["_meta"], &meta)
		_, _ = json.Unmarshal(p["_meta"], &meta), json.Unmarshal(meta["io.modelcontextprotocol/protocolVersion"], &version)
		if got.URI != uri || got.Meta.Version != version {
			t.Fatalf("%q: %+v", m.Params, got)
		}
	})
}

// TestAnswerNotWritten checks that Write writes nothing if begin fails, that it returns the errors
// of begin and of the writer, and how it writes an error.
func TestAnswerNotWritten(t *testing.T) {
	a := Answer{ID: "1", Error: &jsonrpc.Error{Code: -5, Message: "<m>", Data: json.RawMessage(`{"a":1}`)}}
	no := errors.New("no")
	out := new(bytes.Buffer)
	if err := a.Write(out, "", func(int64) error { return no }); err != no || out.Len() != 0 {
		t.Error(err, out)
	}
	r, w := io.Pipe()
	r.CloseWithError(no)
	if err := a.Write(w, "", func(int64) error { return nil }); err != no {
		t.Error(err)
	}
	if err := a.Write(out, "", func(int64) error { return nil }); err != nil || out.String() != `{"jsonrpc":"2.0","id":1,"error":{"code":-5,"message":"<m>","data":{"a":1}}}` {
		t.Error(err, out.String())
	}
}

// FuzzKey checks that all spellings of an id have the same key.
func FuzzKey(f *testing.F) {
	f.Add("a<\"", int64(5))
	f.Fuzz(func(t *testing.T, s string, n int64) {
		if !utf8.ValidString(s) {
			return
		}
		spelt, _ := json.Marshal(s)
		escaped := new(strings.Builder)
		for _, r := range s {
			if r < 0x10000 {
				b, _ := json.Marshal(string(r))
				escaped.Write(b[1 : len(b)-1])
			} else {
				escaped.WriteRune(r)
			}
		}
		if max(len(spelt), escaped.Len()+2) > maxID {
			return
		}
		_, a, errA := parseID(spelt)
		id, b, errB := parseID([]byte(`"` + escaped.String() + `"`))
		var said string
		if err := json.Unmarshal([]byte(id), &said); errA != nil || errB != nil || a != b || err != nil || said != s {
			t.Errorf("%q: %q %q %q", s, a, b, id)
		}
		n %= 1 << 53
		_, a, errA = parseID([]byte(fmt.Sprint(n)))
		_, b, errB = parseID([]byte(fmt.Sprintf("%d.0", n)))
		if errA != nil || errB != nil || a != b {
			t.Error(n, a, b)
		}
	})
}

// TestTooManyValues checks that a message with too many values is refused, and that the refusal has
// the call's id.
func TestTooManyValues(t *testing.T) {
	for n, refused := range map[int]bool{rawjson.MaxValues / 2: false, rawjson.MaxValues: true} {
		line := []byte(`{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{"x":[` + strings.Repeat("0,", n) + `0]}}`)
		_, no := Parse(line)
		if (no != nil) != refused || refused && (string(no.ID) != `"a"` || no.Key != `"a` || !strings.Contains(no.Error.Message, "more than 10000 JSON values")) {
			t.Errorf("%d values: %+v", n, no)
		}
	}
	if _, no := Parse([]byte(strings.Repeat("[", 2*rawjson.MaxValues))); no == nil || no.ID != nil {
		t.Errorf("not JSON: %+v", no)
	}
}

// TestLongID checks that an id is bounded, and that a longer one is not repeated.
func TestLongID(t *testing.T) {
	call := func(n int) []byte {
		return []byte(`{"jsonrpc":"2.0","id":"` + strings.Repeat("a", n-2) + `","method":"ping"}`)
	}
	if _, no := Parse(call(maxID)); no != nil {
		t.Errorf("an id of %d bytes: %+v", maxID, no)
	}
	if _, no := Parse(call(maxID + 1)); no == nil || no.ID != nil || no.Key != "" {
		t.Errorf("a longer one: %+v", no)
	}
}
