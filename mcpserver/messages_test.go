package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/mcpserver"
)

// doorMeta is the _meta of a request of 2026-07-28.
const doorMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`

// post sends a body, and returns the answer.
func post(t testing.TB, h http.Handler, body string, headers map[string]string) *http.Response {
	t.Helper()
	return postFrom(t, h, "192.0.2.1:1", body, headers)
}

// postFrom is like post, for a client at an address.
func postFrom(t testing.TB, h http.Handler, address, body string, headers map[string]string) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/mcp", strings.NewReader(body))
	r.RemoteAddr = address
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

// begin opens a session of the older era over HTTP, and returns the headers of its requests.
func begin(t testing.TB, h http.Handler, address string) (headers map[string]string) {
	t.Helper()
	resp := postFrom(t, h, address, initialize("1", legacy), nil)
	headers = map[string]string{"Mcp-Session-Id": resp.Header.Get("Mcp-Session-Id"), "Mcp-Protocol-Version": legacy}
	if resp.StatusCode != http.StatusOK {
		return nil
	}
	if resp = postFrom(t, h, address, initialized, headers); resp.StatusCode != http.StatusAccepted {
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

// modernHeaders returns the headers of a request of 2026-07-28 that repeat parts of its
// body.
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

// goish matches the parts of an error that are no plain words: names of Go, and text that the client
// sent beside a name or URI.
var goish = regexp.MustCompile(`mcp\.|Go struct|unmarshal|SECRET|goroutine|\.go:`)

// TestOddMessages sends usual and unusual messages over both transports, in both eras, and compares
// the answers with testdata/messages.txt. Each error is one short, plain sentence.
//
// In the file, a result has no contents, and messages are quoted with ' for ". If several ways in a
// row have the same answer, the file has it once.
func TestOddMessages(t *testing.T) {
	t.Parallel()
	files := fixtures()
	files["a-first/large.txt"] = "large"
	s := serve(t, scanned(t, folder(tree(t, files))))
	h, err := mcpserver.NewHTTP(s, mcpserver.HTTPOptions{})
	must(t, err)
	session := begin(t, h, "192.0.2.1:1")
	said := func(answer string) string {
		answer = strings.TrimSpace(answer)
		if _, _, ok := strings.Cut(answer, `"result":`); ok {
			return "a result"
		}
		return strings.TrimPrefix(answer, `{"jsonrpc":"2.0",`)
	}
	over := func(headers func(body string) map[string]string) func(string) string {
		return func(body string) string {
			resp := post(t, h, body, headers(body))
			text, err := io.ReadAll(resp.Body)
			must(t, err)
			return resp.Status[:3] + " " + said(string(text))
		}
	}
	ways := []struct {
		name string
		ask  func(body string) string
	}{
		{"HTTP " + modern, over(modernHeaders)},
		{"HTTP " + legacy, over(func(string) map[string]string { return session })},
		{"stdio", func(body string) string { return said(talk(t, s, "").end(t, body)) }},
		{"stdio " + legacy, func(body string) string { return said(talk(t, s, legacy).end(t, body)) }},
	}
	var out strings.Builder
	ask := func(body string, only string) {
		key := strings.ReplaceAll(body, doorMeta, "$META")
		if len(key) > 300 {
			key = fmt.Sprintf("%s... (%d bytes)", key[:100], len(key))
		}
		fmt.Fprintf(&out, "> %s\n", strings.Trim(strconv.QuoteToASCII(strings.ReplaceAll(key, `"`, "'")), `"`))
		last := ""
		for _, w := range ways {
			if !strings.Contains(w.name, only) || strings.ContainsAny(body, "\r\n") && strings.HasPrefix(w.name, "stdio") {
				continue
			}
			var answer string
			testwait.Within(testwait.Patience, func() bool { // a busy machine may not scan in time
				answer = w.ask(body)
				return !strings.Contains(answer, "the machine is busy")
			})
			if len(answer) > 1024 || goish.MatchString(answer) || strings.Contains(answer, "\n") {
				t.Errorf("%s, %s: not plain: %.1024s", w.name, key, answer)
			}
			if line := strings.TrimPrefix(answer, "200 "); line != last {
				fmt.Fprintf(&out, "%s: %s\n", w.name, answer)
				last = line
			}
		}
	}
	odd := oddMessages()
	for _, name := range slices.Sorted(maps.Keys(odd)) {
		ask(odd[name], "")
	}
	for _, name := range slices.Sorted(maps.Keys(oddMetas)) {
		meta := oddMetas[name]
		if name != "" && name != "modern" {
			ask(callText("7", "tools/list", withMeta("{}", meta)), "")
			ask(callText("7", "resources/read", withMeta(`{"uri":"skill://a-first/crlf.txt"}`, meta)), "")
			continue
		}
		for _, c := range oddCalls() {
			ask(callText("7", c.method, withMeta(c.params, meta)), map[string]string{"": legacy, "modern": modern}[name])
		}
	}
	const golden = "testdata/messages.txt"
	if *update {
		must(t, os.WriteFile(golden, []byte(out.String()), 0o644))
		return
	}
	want, err := os.ReadFile(golden)
	must(t, err)
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(out.String(), "\n")); diff != "" {
		t.Error(diff)
	}
}
