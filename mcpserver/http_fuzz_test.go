package mcpserver_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/knack-dev/knack/mcpserver"
)

// fuzzMethods are the methods that a shape may name. The fuzzer then need not find a valid call
// first, and varies the parameters.
var fuzzMethods = []string{
	"initialize", "ping", "tools/list", "tools/call", "resources/list", "resources/templates/list", "resources/read", "resources/directory/read", "resources/subscribe", "resources/unsubscribe",
	"prompts/list", "prompts/get", "completion/complete", "logging/setLevel", "skills/list", "skills/get", "server/discover", "notifications/initialized", "notifications/cancelled", "notifications/roots/list_changed",
}

// The kinds of request that FuzzHTTPBody sends, selected by shape%shapes. If shape/shapes is 0, the
// body is a message. Otherwise shape/shapes selects the method, and the body is its params.
const (
	shapeModern    = iota // of the newer era
	shapeSession          // within a session
	shapeAlone            // of the older era, without a session
	shapeHandshake        // within a session without notifications/initialized
	shapes
)

// FuzzHTTPBody checks that every body gets one answer, in either era, within a session or without.
// The answer is not an internal error, and is JSON if its header says so.
func FuzzHTTPBody(f *testing.F) {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"}}`
	for shape := range byte(shapes) {
		for _, body := range []string{
			"", "{", "[]", "null", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":1e99,"method":"ping"}`, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":null,"method":7}`, "\xff\xfe{}",
			`{"jsonrpc":"2.0","id":1,"method":"skills/get","params":{"uri":"skill://../SKILL.md",` + meta + `}}`,
		} {
			f.Add([]byte(body), shape)
		}
		for i, params := range []string{
			`{"protocolVersion":"2025-11-25","capabilities":{"roots":{"listChanged":true}},"clientInfo":{"name":"t","version":"1"}}`, `{}`, `{"cursor":""}`, `{"name":"skill","arguments":{"name":"git"}}`, `{"cursor":"MSBza2lsbDovL2EvU0tJTEwubWQ"}`, `null`, `{"uri":"skill://git/SKILL.md"}`, `{"uri":"skill://git"}`, `{"uri":"skill://git/SKILL.md"}`, `{"uri":"skill://git/SKILL.md"}`,
			`[]`, `{"name":"git","arguments":{"a":"b"}}`, `{"ref":{"type":"ref/resource","uri":"skill://{+path}"},"argument":{"name":"path","value":"g"}}`, `{"level":"debug"}`, `{"limit":1}`, `{"uri":"skill://git/SKILL.md"}`, `{}`, `{}`, `{"requestId":1,"reason":"x"}`, `{}`,
		} {
			if shape == shapeModern {
				params = strings.Replace(strings.Replace(params, "{", "{"+meta+",", 1), ",}", "}", 1)
			}
			f.Add([]byte(params), shape+shapes*byte(i+1))
		}
	}
	c := scanned(f, folder(tree(f, map[string]string{"git/SKILL.md": skillText("git", "Works with git.")})))
	h, err := mcpserver.NewHTTP(serve(f, c, func(o *mcpserver.Options) { o.Remote = true }), mcpserver.HTTPOptions{})
	must(f, err)
	open := func(t testing.TB) string {
		id := post(t, h, initialize("1", legacy), nil).Header.Get("Mcp-Session-Id")
		if id == "" {
			t.Fatal("no session")
		}
		return id
	}
	session := begin(f, h, "192.0.2.1:1")["Mcp-Session-Id"]
	f.Fuzz(func(t *testing.T, body []byte, shape byte) {
		if i := int(shape / shapes); i > 0 {
			method, id := fuzzMethods[(i-1)%len(fuzzMethods)], `"id":7,`
			if strings.HasPrefix(method, "notifications/") {
				id = ""
			}
			body = []byte(`{"jsonrpc":"2.0",` + id + `"method":"` + method + `","params":` + string(body) + `}`)
		}
		if bytes.Contains(body, []byte("listen")) || bytes.Contains(body, []byte(`\u`)) {
			t.Skip("a stream that waits for news")
		}
		headers := map[string]string{"Mcp-Protocol-Version": legacy}
		switch shape % shapes {
		case shapeModern:
			headers = modernHeaders(string(body))
		case shapeSession:
			headers["Mcp-Session-Id"] = session
		case shapeHandshake: // sessions of this kind are bounded in number, and the oldest are ended
			headers["Mcp-Session-Id"] = open(t)
		}
		resp := post(t, h, string(body), headers)
		answer, err := io.ReadAll(resp.Body)
		must(t, err)
		if resp.StatusCode >= 500 {
			t.Fatalf("%q: %s %s", body, resp.Status, answer)
		}
		if shape%shapes == shapeSession && resp.StatusCode == http.StatusNotFound {
			t.Fatalf("%q: the session has ended", body)
		}
		switch kind := resp.Header.Get("Content-Type"); {
		case strings.HasPrefix(kind, "application/json"):
			whole(t, body, answer)
		case strings.HasPrefix(kind, "text/event-stream"):
			for line := range bytes.Lines(answer) {
				if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok && len(bytes.TrimSpace(data)) > 0 {
					whole(t, body, data)
				}
			}
		}
	})
}

// whole requires an answer that is JSON and not an internal error.
func whole(t *testing.T, asked, answer []byte) {
	var m struct{ Error struct{ Code int } }
	if !json.Valid(answer) || json.Unmarshal(answer, &m) == nil && m.Error.Code == -32603 {
		t.Fatalf("%q: %q", asked, answer)
	}
}
