package mcpserver_test

import (
	"bytes"
	"io"
	"net/http"
	"testing"
)

// What is no message is refused over HTTP as it is over stdio: an id is never
// rounded, and a request without a method is not taken for a notification.
func TestHTTPMessages(t *testing.T) {
	t.Parallel()
	w := start(t, setting{})
	const refused = `"code":-32600`
	for _, x := range []struct{ what, body, want string }{
		{"a fraction", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, refused},
		{"too many digits", `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, refused},
		{"far too many", `{"jsonrpc":"2.0","id":12345678901234567890,"method":"ping"}`, refused},
		{"no method", `{"jsonrpc":"2.0","id":1}`, refused},
		{"a method in capitals", `{"jsonrpc":"2.0","id":1,"METHOD":"ping"}`, refused},
		{"another version", `{"jsonrpc":"1.0","id":1,"method":"ping"}`, refused},
		{"an object for an id", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, refused},
		{"not UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}", `"code":-32700`},
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
