package mcpserver

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// These tests hold as long as the SDK (v1.8.0) does what internal/httpd/write.go
// and resources.go are there for. When one fails, the SDK has fixed something.

const upstreamMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"}}`

func upstreamPost(t *testing.T, stateless bool, version, body string, header ...string) (int, string, http.Header) {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "t", Version: "1"}, &mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{Resources: &mcp.ResourceCapabilities{}}})
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "resources/read" {
				return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "x:y", Text: "t"}}}, nil
			}
			return next(ctx, method, req)
		}
	})
	srv := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: stateless, JSONResponse: true}))
	defer srv.Close()
	r, _ := http.NewRequest(http.MethodPost, srv.URL, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Mcp-Protocol-Version", version)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), resp.Header
}

func TestUpstreamReadFromMiddlewareHasNoResultType(t *testing.T) {
	_, text, _ := upstreamPost(t, true, "2026-07-28", `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"x:y",`+upstreamMeta+`}}`,
		"Mcp-Method", "resources/read", "Mcp-Name", "x:y")
	if !strings.Contains(text, `"contents"`) || strings.Contains(text, `"resultType"`) {
		t.Errorf("upstream sets the resultType: mcpserver/result.go may go: %s", text)
	}
}

func TestUpstreamStatefulRefusesModern(t *testing.T) {
	status, text, _ := upstreamPost(t, false, "2026-07-28", `{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{`+upstreamMeta+`}}`, "Mcp-Method", "resources/list")
	if status != http.StatusBadRequest || !strings.Contains(text, "-32022") {
		t.Errorf("upstream serves both eras with one handler: the dispatch in mcpserver/internal/httpd/handler.go may go: %d %s", status, text)
	}
}

func TestUpstreamUnknownMethodIsPlainText(t *testing.T) {
	status, text, h := upstreamPost(t, true, "2025-11-25", `{"jsonrpc":"2.0","id":1,"method":"skills/nothing"}`)
	if status != http.StatusBadRequest || !strings.HasPrefix(h.Get("Content-Type"), "text/plain") || !strings.Contains(text, "JSON RPC not handled") {
		t.Errorf("upstream answers unknown methods otherwise: see mcpserver/internal/httpd/write.go: %d %s", status, text)
	}
}

func TestUpstreamRepeatsHeaders(t *testing.T) {
	_, text, _ := upstreamPost(t, true, "2026-07-28", `{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{`+upstreamMeta+`}}`, "Mcp-Method", "CANARY")
	if !strings.Contains(text, "CANARY") {
		t.Errorf("upstream repeats no header any more: mcpserver/internal/httpd/write.go need not reword it: %s", text)
	}
}

func TestUpstreamComparesEncodedNamesRaw(t *testing.T) {
	status, text, _ := upstreamPost(t, true, "2026-07-28", `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"x:é",`+upstreamMeta+`}}`,
		"Mcp-Method", "resources/read", "Mcp-Name", "=?base64?eDrDqQ==?=")
	if status != http.StatusBadRequest || !strings.Contains(text, "-32020") {
		t.Errorf("upstream decodes names: mcpserver/internal/httpd/headers.go may go: %d %s", status, text)
	}
}

func TestUpstreamSaysResultTypeByProposal(t *testing.T) {
	s := mcp.NewServer(&mcp.Implementation{Name: "t", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "x", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{}, nil
	})
	srv := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{JSONResponse: true}))
	defer srv.Close()
	ask := func(session, body string) (http.Header, string) {
		r, _ := http.NewRequest(http.MethodPost, srv.URL, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return resp.Header, string(text)
	}
	h, agreed := ask("", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"9999-01-01","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	session := h.Get("Mcp-Session-Id")
	ask(session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	_, text := ask(session, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x","arguments":{}}}`)
	if !strings.Contains(agreed, "2025-11-25") || !strings.Contains(text, `"resultType"`) {
		t.Errorf("upstream says resultType by the version agreed on: the row may go: %s %s", agreed, text)
	}
}
