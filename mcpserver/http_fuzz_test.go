package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/mcpserver"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
	"github.com/knack-dev/knack/tool"
)

// FuzzHTTPBody: whatever body arrives in either era, there is one answer, which is
// no failure of the server, and what is JSON by its header is JSON.
func FuzzHTTPBody(f *testing.F) {
	for _, body := range []string{
		"", "{", "[]", "null", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":"a","method":"resources/read","params":{"uri":"skill://git/SKILL.md"}}`,
		`{"jsonrpc":"2.0","id":1e99,"method":"ping"}`, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"skill","arguments":{"name":"git"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"skills/get","params":{"uri":"skill://../SKILL.md","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, `{"jsonrpc":"2.0","id":null,"method":7}`, "\xff\xfe{}",
	} {
		f.Add([]byte(body), true)
		f.Add([]byte(body), false)
	}
	root := f.TempDir()
	lay(f, root, map[string]string{"git/SKILL.md": skillText("git", "Works with git.")})
	c := catalog.New([]catalog.Source{dir.New(dir.Options{Root: skill.Root{Label: "dir-1", Scope: skill.ScopeProject, Dir: root, Shown: "skills"}})}, catalog.Options{})
	if err := c.Refresh(context.Background()); err != nil {
		f.Fatal(err)
	}
	tools, err := tool.ParseSets(tool.DefaultSet)
	if err != nil {
		f.Fatal(err)
	}
	h, err := mcpserver.NewHTTP(mcpserver.New(mcpserver.Options{Catalog: c, Tools: tools, Version: "test", Remote: true}), mcpserver.HTTPOptions{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte, isModern bool) {
		if bytes.Contains(body, []byte("listen")) || bytes.Contains(body, []byte(`\u`)) {
			t.Skip("a stream that waits for news")
		}
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/mcp", bytes.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		era := legacy
		if isModern {
			era = modern
			var m struct {
				Method any
				Params struct{ Name, URI any }
			}
			_ = json.Unmarshal(body, &m)
			for name, v := range map[string]any{"Mcp-Method": m.Method, "Mcp-Name": m.Params.Name} {
				if s, ok := v.(string); ok {
					req.Header.Set(name, s)
				}
			}
			if s, ok := m.Params.URI.(string); ok {
				req.Header.Set("Mcp-Name", s)
			}
		} else {
			req.Header.Set("Mcp-Session-Id", "none") // no session is made: there would soon be too many
		}
		req.Header.Set("Mcp-Protocol-Version", era)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		if w.Code >= 500 {
			t.Fatalf("%q: %d %s", body, w.Code, w.Body)
		}
		if strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") && !json.Valid(w.Body.Bytes()) {
			t.Fatalf("%q: no JSON: %q", body, w.Body)
		}
	})
}
