package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/knack-dev/knack/internal/base/rawjson"
)

func TestParseCall(t *testing.T) {
	deep := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	for name, c := range map[string]struct {
		line string
		want Call
		ok   bool
	}{
		"a call":               {`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, Call{ID: "1", Method: "tools/list"}, true},
		"spaces":               {" { \"id\" : \"a b\" ,\t\"jsonrpc\":\"2.0\", \"method\":\"m\\u0065\", \"params\" : { } }\r", Call{ID: `"a b"`, Method: "me", Params: []byte("{ }")}, true},
		"levels":               {`{"jsonrpc":"2.0","id":0,"method":"m","params":` + deep(64) + `}`, Call{ID: "0", Method: "m", Params: []byte(deep(64))}, true},
		"too many levels":      {`{"jsonrpc":"2.0","id":0,"method":"m","params":` + deep(65) + `}`, Call{}, false},
		"10,000 levels":        {`{"jsonrpc":"2.0","id":0,"method":"m","params":` + deep(10000) + `}`, Call{}, false},
		"a notification":       {`{"jsonrpc":"2.0","method":"m"}`, Call{}, false},
		"an answer":            {`{"jsonrpc":"2.0","id":1,"result":{}}`, Call{}, false},
		"both":                 {`{"jsonrpc":"2.0","id":1,"method":"m","result":{}}`, Call{}, false},
		"a batch":              {`[{"jsonrpc":"2.0","id":1,"method":"m"}]`, Call{}, false},
		"nothing":              {``, Call{}, false},
		"a member twice":       {`{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}`, Call{}, false},
		"another case":         {`{"jsonrpc":"2.0","ID":1,"method":"m"}`, Call{}, false},
		"an escaped key":       {`{"jsonrpc":"2.0","id":1,"meth\u006fd":"m"}`, Call{}, false},
		"an unknown member":    {`{"jsonrpc":"2.0","id":1,"method":"m","more":1}`, Call{}, false},
		"no version":           {`{"id":1,"method":"m"}`, Call{}, false},
		"another version":      {`{"jsonrpc":"1.0","id":1,"method":"m"}`, Call{}, false},
		"a list of params":     {`{"jsonrpc":"2.0","id":1,"method":"m","params":[]}`, Call{}, false},
		"null params":          {`{"jsonrpc":"2.0","id":1,"method":"m","params":null}`, Call{}, false},
		"a method of no text":  {`{"jsonrpc":"2.0","id":1,"method":5}`, Call{}, false},
		"a null method":        {`{"jsonrpc":"2.0","id":1,"method":null}`, Call{}, false},
		"half a pair":          {`{"jsonrpc":"2.0","id":1,"method":"\ud800"}`, Call{}, false},
		"a null id":            {`{"jsonrpc":"2.0","id":null,"method":"m"}`, Call{}, false},
		"a fraction":           {`{"jsonrpc":"2.0","id":1.5,"method":"m"}`, Call{}, false},
		"a whole fraction":     {`{"jsonrpc":"2.0","id":1.0,"method":"m"}`, Call{}, false},
		"an exponent":          {`{"jsonrpc":"2.0","id":1e2,"method":"m"}`, Call{}, false},
		"minus nothing":        {`{"jsonrpc":"2.0","id":-0,"method":"m"}`, Call{}, false},
		"a negative id":        {`{"jsonrpc":"2.0","id":-7,"method":"m"}`, Call{ID: "-7", Method: "m"}, true},
		"16 digits":            {`{"jsonrpc":"2.0","id":1000000000000000,"method":"m"}`, Call{}, false},
		"an escaped id":        {`{"jsonrpc":"2.0","id":"\u0061","method":"m"}`, Call{}, false},
		"an id beyond ASCII":   {`{"jsonrpc":"2.0","id":"ä","method":"m"}`, Call{}, false},
		"an id of no kind":     {`{"jsonrpc":"2.0","id":{},"method":"m"}`, Call{}, false},
		"no UTF-8":             {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", Call{}, false},
		"a byte-order mark":    {"\ufeff{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}", Call{}, false},
		"what follows":         {`{"jsonrpc":"2.0","id":1,"method":"m"}x`, Call{}, false},
		"two":                  {`{"jsonrpc":"2.0","id":1,"method":"m"}{}`, Call{}, false},
		"a comma at the end":   {`{"jsonrpc":"2.0","id":1,"method":"m",}`, Call{}, false},
		"a control character":  {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\x01\"}", Call{}, false},
		"a number with a zero": {`{"jsonrpc":"2.0","id":01,"method":"m"}`, Call{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := ParseCall([]byte(c.line))
			if !ok {
				got = Call{}
			}
			if diff := cmp.Diff(c.want, got); ok != c.ok || diff != "" {
				t.Errorf("%v\n%s", ok, diff)
			}
		})
	}
}

func TestParseParams(t *testing.T) {
	const version = `"io.modelcontextprotocol/protocolVersion"`
	for name, c := range map[string]struct {
		method, params string
		want           Params
		ok             bool
	}{
		"none":                  {"tools/list", ``, Params{}, true},
		"a tool":                {"tools/call", `{"name":"skill","arguments":{"a":[1,"\ud800"]},"uri":5}`, Params{Name: "skill", Arguments: []byte(`{"a":[1,"\ud800"]}`)}, true},
		"null arguments":        {"tools/call", `{"name":"skill","arguments":null}`, Params{Name: "skill", Arguments: []byte(`null`)}, true},
		"a prompt":              {"prompts/get", `{"name":"p","arguments":{"a":"\n"}}`, Params{Name: "p", Texts: map[string]string{"a": "\n"}}, true},
		"a prompt with nothing": {"prompts/get", `{"name":"p","arguments":null}`, Params{Name: "p"}, true},
		"a number for a text":   {"prompts/get", `{"name":"p","arguments":{"a":1}}`, Params{}, false},
		"an argument twice":     {"prompts/get", `{"name":"p","arguments":{"a":"1","\u0061":"2"}}`, Params{}, false},
		"a cursor":              {"resources/list", `{"cursor":"x"}`, Params{Cursor: "x"}, true},
		"a null cursor":         {"resources/list", `{"cursor":null}`, Params{}, true},
		"a cursor of no text":   {"resources/list", `{"cursor":1}`, Params{}, false},
		"a file":                {"resources/read", `{"uri":"skill://a\/b"}`, Params{URI: "skill://a/b"}, true},
		"half a pair":           {"resources/read", `{"uri":"\udc00"}`, Params{}, false},
		"two halves apart":      {"resources/read", `{"uri":"\ud800x\udc00"}`, Params{}, false},
		"a pair":                {"resources/read", `{"uri":"\ud83d\ude00"}`, Params{URI: "😀"}, true},
		"a member twice":        {"resources/read", `{"uri":"a","uri":"b"}`, Params{}, false},
		"an escaped key":        {"resources/read", `{"\u0075ri":"a"}`, Params{}, false},
		"another case":          {"resources/read", `{"URI":"a"}`, Params{}, true},
		"a second round":        {"tools/call", `{"name":"a","requestState":"x"}`, Params{}, false},
		"a folder":              {"resources/directory/read", `{"uri":"a","cursor":"b"}`, Params{URI: "a", Cursor: "b"}, true},
		"completing":            {"completion/complete", `{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":"v"}}`, Params{Ref: Ref{Type: "ref/prompt", Name: "p"}, Argument: Argument{"a", "v"}}, true},
		"completing nothing":    {"completion/complete", `{"ref":{"type":"ref/prompt","name":"p"}}`, Params{}, false},
		"completing both":       {"completion/complete", `{"ref":{"type":"ref/prompt","name":"p","uri":"u"},"argument":{"name":"a","value":"v"}}`, Params{}, false},
		"in a context":          {"completion/complete", `{"context":{},"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":"v"}}`, Params{}, false},
		"meta":                  {"tools/list", `{"_meta":{` + version + `:"2026-07-28","progressToken":7,"callId":"exec-1","io.modelcontextprotocol/clientInfo":{"name":"c"},"io.modelcontextprotocol/clientCapabilities":{}}}`, Params{Meta: Meta{Version: "2026-07-28", ClientInfo: []byte(`{"name":"c"}`), Capabilities: []byte("{}"), CallID: "exec-1"}}, true},
		"meta of nothing":       {"tools/list", `{"_meta":null}`, Params{}, true},
		"meta of no object":     {"tools/list", `{"_meta":5}`, Params{}, false},
		"two versions":          {"tools/list", `{"_meta":{` + version + `:"a",` + version + `:"b"}}`, Params{}, false},
		"a version of no text":  {"tools/list", `{"_meta":{` + version + `:null}}`, Params{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var raw []byte
			if c.params != "" {
				raw = []byte(c.params)
			}
			got, ok := ParseParams(c.method, raw)
			if !ok {
				got = &Params{}
			}
			if diff := cmp.Diff(&c.want, got); ok != c.ok || diff != "" {
				t.Errorf("%v\n%s", ok, diff)
			}
		})
	}
}

// FuzzParseCall holds the quick reader against the slow one, and that against
// encoding/json: what is taken is a call, with the id, the method and the params that
// every decoder finds.
func FuzzParseCall(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"skill","arguments":{"name":"x"},"_meta":{"progressToken":1}}}`,
		`{"jsonrpc":"2.0","id":"a","method":"resources/read","params":{"uri":"skill:\/\/a\ud83d\ude00"}}`,
		`{"jsonrpc":"2.0","id":-1.5e+3,"method":"x","params":{"a":[true,false,null,{}]}}`, ` {} `, `[1]`, "{\"a\":\"\xff\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		c, ok := ParseCall(line)
		if !ok {
			return
		}
		m, no := Parse(line)
		req, is := m.(*jsonrpc.Request)
		if no != nil || !is || !req.IsCall() {
			t.Fatalf("not a call for the slow reader: %q", line)
		}
		if c.Key() != Key(req.ID) || c.Method != req.Method || !bytes.Equal(c.Params, req.Params) || c.ID != string(EncodeID(req.ID)) && !strings.ContainsAny(c.ID, "<>&") {
			t.Fatalf("%q: %q %q %q, slowly %v %q %q", line, c.ID, c.Method, c.Params, req.ID.Raw(), req.Method, req.Params)
		}
		var p struct {
			Meta map[string]any `json:"_meta"`
			URI  string         `json:"uri"`
		}
		got, ok := ParseParams("resources/read", c.Params)
		if !ok || c.Params == nil {
			return
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(c.Params, &members); err != nil {
			t.Fatalf("%q: %s", c.Params, err)
		}
		for key, to := range map[string]any{"_meta": &p.Meta, "uri": &p.URI} {
			if raw := members[key]; raw != nil && json.Unmarshal(raw, to) != nil {
				t.Fatalf("%q: took %s", c.Params, key)
			}
		}
		version, _ := p.Meta["io.modelcontextprotocol/protocolVersion"].(string)
		if got.URI != p.URI || got.Meta.Version != version {
			t.Fatalf("%q: %+v", c.Params, got)
		}
	})
}

func TestParseClient(t *testing.T) {
	for raw, want := range map[string]string{
		`{"name":"a","version":"1","title":"A","more":5}`: "a 1",
		`{"Name":"b","name":"a"}`:                         "a ",
		`{"name":null}`:                                   " ",
		`{"name":"a","icons":[{"src":"x"}]}`:              "a ",
		`{"name":"a","icons":[{"src":5}]}`:                "no",
		`{"name":5}`:                                      "no",
		`{"name":"a","name":"b"}`:                         "no",
		`{"name":"a","description":5}`:                    "no",
		`[]`:                                              "no",
	} {
		name, version, ok := ParseClient([]byte(raw))
		if got := name + " " + version; ok && got != want || ok != (want != "no") {
			t.Errorf("%s: %q %v", raw, got, ok)
		}
	}
}

// An answer that is not to be written is not, and one that cannot be says so.
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

// FuzzKey gives an id another spelling: it stays the same call.
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
		a, errA := parseID(spelt)
		b, errB := parseID([]byte(`"` + escaped.String() + `"`))
		if errA != nil || errB != nil || Key(a) != Key(b) {
			t.Errorf("%q: %q %q", s, Key(a), Key(b))
		}
		if n %= 1 << 53; true {
			id, err := jsonrpc.MakeID(float64(n))
			if c := (Call{ID: string(EncodeID(id))}); err != nil || Key(id) != c.Key() {
				t.Error(n, Key(id))
			}
		}
	})
}

// TestTooManyValues: no reader decodes a message of too many values, and the refusal knows the
// call.
func TestTooManyValues(t *testing.T) {
	for n, refused := range map[int]bool{rawjson.MaxValues / 2: false, rawjson.MaxValues: true} {
		line := []byte(`{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{"x":[` + strings.Repeat("0,", n) + `0]}}`)
		if _, ok := ParseCall(line); ok == refused {
			t.Errorf("%d values: %v", n, ok)
		}
		_, no := Parse(line)
		if (no != nil) != refused || refused && (string(no.ID) != `"a"` || no.Key != `"a` || !strings.Contains(no.Error.Message, "more than 10000 JSON values")) {
			t.Errorf("%d values: %+v", n, no)
		}
	}
	if _, no := Parse([]byte(strings.Repeat("[", 2*rawjson.MaxValues))); no == nil || no.ID != nil {
		t.Errorf("not JSON: %+v", no)
	}
}

// TestDeepParams: params that the SDK could not decode are refused with the reason.
func TestDeepParams(t *testing.T) {
	for n, refused := range map[int]bool{maxLevels - 1: false, maxLevels: true} {
		_, no := Parse([]byte(`{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{"x":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}}`))
		if (no != nil) != refused || refused && (string(no.ID) != `"a"` || !strings.Contains(no.Error.Message, "deeper than 900 levels")) {
			t.Errorf("%d levels: %+v", n, no)
		}
	}
}

// TestRefusalOf: what the SDK says of an id that is in use repeats the id.
func TestRefusalOf(t *testing.T) {
	status, no := RefusalOf(400, "duplicate in-flight request ID "+strings.Repeat("a", 5000))
	if status != 400 || no.Code != jsonrpc.CodeInvalidRequest || no.Message != "invalid request: the id belongs to a call that is still in flight" {
		t.Errorf("%d %+v", status, no)
	}
}

// TestLongID checks that an id is bounded, and that a longer one is not repeated.
func TestLongID(t *testing.T) {
	call := func(n int) []byte {
		return []byte(`{"jsonrpc":"2.0","id":"` + strings.Repeat("a", n-2) + `","method":"ping"}`)
	}
	_, ok := ParseCall(call(maxID))
	if _, no := Parse(call(maxID)); !ok || no != nil {
		t.Errorf("an id of %d bytes: %v, %v", maxID, ok, no)
	}
	_, ok = ParseCall(call(maxID + 1))
	if _, no := Parse(call(maxID + 1)); ok || no == nil || no.ID != nil || no.Key != "" {
		t.Errorf("a longer one: %v, %+v", ok, no)
	}
}
