package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// doorMeta is the _meta of a request of 2026-07-28.
const doorMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`

// post sends a body, and returns the answer.
func post(t testing.TB, h http.Handler, body string, headers map[string]string) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/mcp", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range headers {
		if value == "" {
			r.Header.Del(name)
			continue
		}
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

// shown is an answer over HTTP as text: status, headers and body.
func shown(t testing.TB, resp *http.Response) string {
	t.Helper()
	var b strings.Builder
	body, err := io.ReadAll(resp.Body)
	must(t, err)
	resp.Header.Del("Content-Length")
	fmt.Fprintln(&b, resp.Status)
	must(t, resp.Header.Write(&b))
	b.Write(body)
	return b.String()
}

// begin opens a session over HTTP.
func begin(t testing.TB, h http.Handler, version string) (headers map[string]string) {
	t.Helper()
	resp := post(t, h, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"`+version+`","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, nil)
	headers = map[string]string{"Mcp-Session-Id": resp.Header.Get("Mcp-Session-Id"), "Mcp-Protocol-Version": version}
	if resp = post(t, h, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, headers); resp.StatusCode != http.StatusAccepted {
		t.Fatal(resp.Status)
	}
	return headers
}

// withMeta adds a _meta to params that are an object or missing.
func withMeta(params, meta string) string {
	switch {
	case meta == "":
		return params
	case params == "" || params == "{}":
		return "{" + meta + "}"
	case params[0] == '{':
		return params[:len(params)-1] + "," + meta + "}"
	}
	return params
}

func callText(id, method, params string) string {
	text := `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `"`
	if params != "" {
		text += `,"params":` + params
	}
	return text + "}"
}

// modernHeaders are those of a request of 2026-07-28 that say what its body says.
func modernHeaders(body string) map[string]string {
	headers := map[string]string{"Mcp-Protocol-Version": modern}
	var m struct {
		Method any
		Params struct{ Name, URI any }
	}
	_ = json.Unmarshal([]byte(body), &m)
	for _, h := range []struct {
		name string
		v    any
	}{{"Mcp-Method", m.Method}, {"Mcp-Name", m.Params.Name}, {"Mcp-Name", m.Params.URI}} {
		if s, ok := h.v.(string); ok && s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
			headers[h.name] = s
		}
	}
	return headers
}
