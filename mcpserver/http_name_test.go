package mcpserver_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
)

// TestEncodedName checks that a name that no header can contain may be sent in Base64, and must
// equal the name in the body.
func TestEncodedName(t *testing.T) {
	const odd = "Été CI/CD"
	w := start(t, setting{files: map[string]string{"odd/SKILL.md": skillText(odd, "Not ASCII."), "plain/é.md": "e", "plain/SKILL.md": skillText("plain", "P.")}})
	c := w.dial(modern)
	encode := func(s string) string { return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?=" }
	for _, ask := range []struct {
		method string
		params map[string]any
		header string
		code   int64
	}{
		{"prompts/get", map[string]any{"name": odd}, encode(odd), 0},
		{"resources/read", map[string]any{"uri": "skill://plain/é.md"}, encode("skill://plain/é.md"), 0},
		{"tools/call", map[string]any{"name": "skill", "arguments": map[string]any{"name": odd}}, encode("skill"), 0},
		{"prompts/get", map[string]any{"name": "plain"}, "plain", 0},
		{"prompts/get", map[string]any{"name": odd}, encode("another"), -32020},
		{"prompts/get", map[string]any{"name": odd}, "=?base64?w4l0w6kgQ0kvQ0Q", -32020},
		{"prompts/get", map[string]any{"name": odd}, "=?base64?%%%?=", -32020},
		{"prompts/get", map[string]any{"name": odd}, "=?base64?=", -32020},
	} {
		r := c.request(http.MethodPost, c.body(ask.method, ask.params))
		r.Header.Set("Mcp-Name", ask.header)
		resp := do(t, r)
		status, m := resp.StatusCode, read(t, resp)
		want := 200
		if ask.code != 0 {
			want = 400
		}
		if status != want || m.code() != ask.code {
			t.Errorf("%s %q: %d %+v", ask.method, ask.header, status, m.Error)
		}
		if m.Error != nil && !strings.HasPrefix(m.Error.Message, "header mismatch: Mcp-Name ") {
			t.Errorf("%q: %s", ask.header, m.Error.Message)
		}
	}
}

func TestNameTwice(t *testing.T) {
	c := start(t, setting{}).dial(modern)
	r := c.request(http.MethodPost, c.body("prompts/get", map[string]any{"name": "a-first"}))
	r.Header["Mcp-Name"] = []string{"a-first", "b-crlf"}
	resp := do(t, r)
	if m := read(t, resp); m.code() != -32020 {
		t.Errorf("%s %+v", resp.Status, m.Error)
	}
}
