package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/mcpserver"
)

// TestHTTPMessages checks that a body that is not a message is refused as over stdio. An id is
// never rounded, and a request without a method is not taken for a notification.
func TestHTTPMessages(t *testing.T) {
	t.Parallel()
	w := start(t, setting{})
	const refused = `"code":-32600`
	for _, x := range []struct{ what, body, want string }{
		{"an empty body", " \n", `"parse error: the body is empty"`},
		{"not JSON", `{"jsonrpc":"2.0",}`, `"parse error: invalid character '}' looking for beginning of object key string"`},
		{"null", `null`, `"invalid request: a message is an object"`},
		{"a number", ` 5`, `"invalid request: a message is an object"`},
		{"a text", `"x"`, `"invalid request: a message is an object"`},
		{"a batch", `[]`, `"invalid request: batches are not supported; send one message at a time"`},
		{"an error without an id", `{"jsonrpc":"2.0","error":{"code":1,"message":"x"}}`, `"a result or an error without an id answers no call"`},
		{"a result without an id", `{"jsonrpc":"2.0","id":null,"result":{}}`, `"a result or an error without an id answers no call"`},
		{"a fraction", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, refused},
		{"too many digits", `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, refused},
		{"far too many", `{"jsonrpc":"2.0","id":12345678901234567890,"method":"ping"}`, refused},
		{"no method", `{"jsonrpc":"2.0","id":1}`, refused},
		{"a method in capitals", `{"jsonrpc":"2.0","id":1,"METHOD":"ping"}`, refused},
		{"another version", `{"jsonrpc":"1.0","id":1,"method":"ping"}`, refused},
		{"an object for an id", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, refused},
		{"half a pair", `{"jsonrpc":"2.0","id":"a\ud83d","method":"ping"}`, `"id":"a\ud83d"`},
		{"not UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}", `"code":-32700`},
		{"a space that is none of JSON's", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\u00a0", `"code":-32700`},
	} {
		for _, era := range eras {
			c := w.dial(era)
			resp, err := http.DefaultClient.Do(c.request(http.MethodPost, x.body))
			if err != nil {
				t.Fatal(err)
			}
			answer, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode != http.StatusBadRequest || !bytes.Contains(answer, []byte(x.want)) {
				t.Errorf("%s, %s: %d %s", era, x.what, resp.StatusCode, answer)
			}
		}
	}
}

// TestHalfAPair checks that half of a surrogate pair is read as U+FFFD on both transports. An id
// that contains one is refused, and the refusal repeats the id unchanged.
func TestHalfAPair(t *testing.T) {
	t.Parallel()
	w := start(t, setting{})
	c := w.dial(legacy)
	const refused = `"error":{"code":-32600,"message":"invalid request: \"id\" has half of a surrogate pair, for which decoders put another character"}`
	for body, want := range map[string]string{
		`{"jsonrpc":"2.0","id":"a\ud800b","method":"ping"}`:      `{"jsonrpc":"2.0","id":"a\ud800b",` + refused + `}`,
		`{"jsonrpc":"2.0","id":"\uDC00","method":"tools/list"}`:  `{"jsonrpc":"2.0","id":"\uDC00",` + refused + `}`,
		`{"jsonrpc":"2.0","id":"\ud83d\ud83d","method":"ping"}`:  `{"jsonrpc":"2.0","id":"\ud83d\ud83d",` + refused + `}`,
		`{"jsonrpc":"2.0","id":"\ud83d\\ude00","method":"ping"}`: `{"jsonrpc":"2.0","id":"\ud83d\\ude00",` + refused + `}`,
		`{"jsonrpc":"2.0","id":"\uD83D\uDE00","method":"ping"}`:  `{"jsonrpc":"2.0","id":"😀","result":{}}`,
		`{"jsonrpc":"2.0","id":"\\ud800\ufffd","method":"ping"}`: `{"jsonrpc":"2.0","id":"\\ud800�","result":{}}`,
		`{"jsonrpc":"2.0","id":8,"method":"p\ud800ing"}`:         `{"jsonrpc":"2.0","id":8,"error":{"code":-32601,"message":"method not found"}}`,
		`{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"skill://\ud800/SKILL.md"}}`: `{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":` +
			`"Resource not found: skill://�/SKILL.md (no skill has it; resources/list names all)","data":{"uri":"skill://�/SKILL.md"}}}`,
		`{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"t\udfff","arguments":{}}}`: `{"jsonrpc":"2.0","id":6,"error":{"code":-32602,"message":` +
			`"Unknown tool: t� (the tools are skill, read_file_in_skill, find_skills)"}}`,
	} {
		resp := c.post(body)
		over, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		for line := range bytes.Lines(over) {
			if data, ok := bytes.CutPrefix(line, []byte("data: {")); ok {
				over = append([]byte("{"), data...)
			}
		}
		var out bytes.Buffer
		const hello = `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
		must(t, w.server.Run(context.Background(), &mcpserver.StdioTransport{In: strings.NewReader(hello + "\n" + body), Out: &out}))
		for line := range bytes.Lines(out.Bytes()) {
			if bytes.Contains(line, []byte(`"id":"i"`)) {
				continue
			}
			for transport, answer := range map[string][]byte{"stdio": line, "HTTP": over} {
				if diff := cmp.Diff(members(t, []byte(want)), members(t, answer)); diff != "" {
					t.Errorf("%s, %s: %s", transport, body, diff)
				}
			}
		}
		if n := bytes.Count(out.Bytes(), []byte("\n")); n != 2 {
			t.Errorf("%s: %d lines over stdio", body, n)
		}
	}
}

// members returns the members of a message as they were written.
func members(t *testing.T, message []byte) map[string]string {
	t.Helper()
	var raw map[string]json.RawMessage
	must(t, json.Unmarshal(message, &raw))
	out := map[string]string{}
	for name, value := range raw {
		out[name] = string(value)
	}
	return out
}
