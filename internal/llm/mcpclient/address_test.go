package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/internal/test/testwait"
)

// served starts a server over HTTP that records the headers of its requests.
func served(t *testing.T, answer http.Handler) (at Server, seen func(name string) []string) {
	t.Helper()
	var mu sync.Mutex
	var all []http.Header
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		all = append(all, r.Header.Clone())
		mu.Unlock()
		answer.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return Server{Name: "files", URL: s.URL + "/mcp?key=" + canary}, func(name string) (values []string) {
		mu.Lock()
		defer mu.Unlock()
		for _, h := range all {
			values = append(values, h.Get(name))
		}
		return values
	}
}

// TestAddress checks that the tools of a server at an address are listed and called, in both
// versions of the protocol, with and without sessions.
func TestAddress(t *testing.T) {
	for _, protocol := range []string{"", older} {
		for _, stateless := range []bool{false, true} {
			t.Run(fmt.Sprint("offers ", protocol, " stateless ", stateless), func(t *testing.T) {
				s, seen := served(t, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return tools(canary) }, &mcp.StreamableHTTPOptions{Stateless: stateless}))
				s.Headers = map[string]string{"X-Team": "billing"}
				s.TokenFile, s.Dir = "token", t.TempDir()
				must(t, os.WriteFile(filepath.Join(s.Dir, "token"), []byte(canary+"\n"), 0o600))
				o := options(t)
				o.protocol = protocol
				c, err := Connect(t.Context(), s, o)
				must(t, err)
				checkTools(t, c)
				if text, _, err := c.Call(t.Context(), "secret", nil); text != "the token is [redacted]" || err != nil {
					t.Errorf("%q, %v", text, err)
				}
				if want := map[string]string{"": "2026-07-28", older: older}[protocol]; c.Protocol() != want && !(protocol == "" && !stateless) {
					t.Errorf("version %s, want %s", c.Protocol(), want)
				}
				c.Close(t.Context())
				for i, v := range seen("Authorization") {
					if v != "Bearer "+canary || seen("X-Team")[i] != "billing" {
						t.Errorf("request %d has other headers", i)
					}
				}
			})
		}
	}
}

// TestCannotAsk checks the error for each unusable address. No message has the token, or the
// query of the address.
func TestCannotAsk(t *testing.T) {
	elsewhere, asked := served(t, http.NotFoundHandler())
	status := func(status int, header, value, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(header, value)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body+canary)
		}
	}
	const html = "text/html; charset=utf-8"
	for name, c := range map[string]struct {
		handler   http.Handler
		token     bool
		what, fix string
	}{
		"401 without token": {status(401, "WWW-Authenticate", "Bearer", ""), false, "the server requires a token (401)", "name the variable that has it with servers.files.token-env"},
		"401":               {status(401, "WWW-Authenticate", "Bearer", ""), true, "the server refuses the token in servers.files.token-env (401)", "check the token; the server's administrator can give you another"},
		"403":               {status(403, "Content-Type", html, ""), true, "the server refuses this client (403)", "its token may not give access; ask the server's operator"},
		"404":               {status(404, "Content-Type", html, ""), true, "no MCP server is at this path (404)", "check the host, the port and the path"},
		"500":               {status(500, "Content-Type", html, ""), true, "the server fails (500)", "see its log, or try again later"},
		"429":               {status(429, "Content-Type", html, ""), true, "the server limits how often clients may ask (429)", "try again later"},
		"HTML":              {status(200, "Content-Type", html, "<html>"), true, "a web page is at this address, not an MCP server", "check the host, the port and the path"},
		"garbage":           {status(200, "Content-Type", "application/json", "{"), true, "the server at this address is not an MCP server", "check the host, the port and the path"},
		"text":              {status(200, "Content-Type", "text/plain", "hello"), true, "the server at this address is not an MCP server", "check the host, the port and the path"},
		"redirect":          {http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect), true, "the server redirects to " + strings.Replace(elsewhere.URL, "?key="+canary, "", 1) + " (307)", "write that address into servers.files.url if you trust it"},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := served(t, c.handler)
			if c.token {
				s.TokenEnv = "DOCS_TOKEN"
				t.Setenv("DOCS_TOKEN", canary)
			}
			o := options(t)
			o.within = testwait.Patience
			_, err := Connect(t.Context(), s, o)
			var e *Error
			if !errors.As(err, &e) {
				t.Fatal(err)
			}
			at, _, _ := strings.Cut(s.URL, "?")
			if e.What != c.what+" at "+at || e.Fix != c.fix {
				t.Errorf("%s | %s\nwant %s | %s", e.What, e.Fix, c.what+" at "+at, c.fix)
			}
			if strings.Contains(fmt.Sprintf("%+v", err), canary) || strings.Contains(e.Fix, canary) {
				t.Errorf("a secret is in %+v", e)
			}
		})
	}
	if n := len(asked("Host")); n > 0 {
		t.Errorf("%d requests went elsewhere", n)
	}
	for _, url := range []string{"http://192.0.2.1/mcp", "https://ana:" + canary + "@127.0.0.1/mcp"} {
		if _, err := Connect(t.Context(), Server{Name: "files", URL: url}, options(t)); err == nil || !strings.Contains(err.Error(), "its address cannot be used") || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: %v", url, err)
		}
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	if _, err := Connect(t.Context(), Server{Name: "files", URL: gone.URL + "/mcp"}, options(t)); err == nil || err.Error() != "files: no server listens on this port: the connection was refused at "+gone.URL+"/mcp" {
		t.Errorf("%v", err)
	}
}

// TestTokens checks that an invalid token is refused, and not repeated.
func TestTokens(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"empty": " \n", "two": canary + "\n" + canary, "words": "Bearer " + canary, "long": strings.Repeat(canary, 2_000)} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		t.Setenv("DOCS_TOKEN", text)
		for _, s := range []Server{{TokenFile: name, Dir: dir}, {TokenEnv: "DOCS_TOKEN"}} {
			s.Name, s.URL = "docs", "https://docs.invalid/mcp"
			if _, err := Connect(t.Context(), s, options(t)); err == nil || !strings.Contains(err.Error(), "token") || strings.Contains(err.Error(), "canary") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if _, err := Connect(t.Context(), Server{Name: "docs", URL: "https://docs.invalid/mcp", TokenFile: "none", Dir: dir}, options(t)); err == nil || !strings.Contains(err.Error(), "the file of its token cannot be read") {
		t.Errorf("%v", err)
	}
}

// answering returns a server over HTTP that answers calls of tools with the given function.
func answering(call http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.NewDecoder(r.Body).Decode(&m)
		w.Header().Set("Content-Type", "application/json")
		switch m.Method {
		case "server/discover":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, m.ID)
		case "initialize":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}}`, m.ID)
		case "tools/call":
			r.Header.Set("Id", string(m.ID))
			call(w, r)
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	})
}

// TestCallsOverHTTP checks the error for each call without a result.
func TestCallsOverHTTP(t *testing.T) {
	endless := func(w http.ResponseWriter) {
		for {
			if _, err := io.WriteString(w, strings.Repeat("x", 64<<10)); err != nil {
				return
			}
		}
	}
	for name, c := range map[string]struct {
		call http.HandlerFunc
		what string
	}{
		"a gigabyte": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"`)
			endless(w)
		}, "the answer is larger than 4 MiB"},
		"a long event": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: ")
			endless(w)
		}, "the answer is larger than 4 MiB"},
		"never": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "no answer came within 200ms"},
		"half": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0",`)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, "no answer came within 200ms"},
		"an empty stream": {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "text/event-stream") },
			`the server's answer cannot be understood: calling "tools/call": request terminated without response`},
		"500":     {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, "the server fails (500) at ADDRESS"},
		"garbage": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<"+canary) }, "the server at this address is not an MCP server at ADDRESS"},
	} {
		t.Run(name, func(t *testing.T) {
			nothingLeft(t)
			s, _ := served(t, answering(c.call))
			t.Setenv("DOCS_TOKEN", canary)
			s.TokenEnv = "DOCS_TOKEN"
			o := options(t)
			c1, err := Connect(t.Context(), s, o)
			must(t, err)
			defer c1.Close(context.Background())
			if c1.server.Timeout = testwait.Patience; strings.HasPrefix(c.what, "no answer") {
				c1.server.Timeout = 200 * time.Millisecond
			}
			at, _, _ := strings.Cut(s.URL, "?")
			if _, _, err := c1.Call(t.Context(), "any", nil); err == nil || err.Error() != "files: "+strings.Replace(c.what, "ADDRESS", at, 1) {
				t.Errorf("%v\nwant %s", err, c.what)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, _, err := c1.Call(ctx, "any", nil); !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestGoesOnOverHTTP checks that a bad answer, or a restart of the server, fails only one call, and
// that no request is sent after the end.
func TestGoesOnOverHTTP(t *testing.T) {
	for name, bad := range map[string]http.HandlerFunc{
		"large": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, strings.Repeat(" ", maxMessage+1))
		},
		"garbage": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
		"restart": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) },
		"half": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "{")
			panic(http.ErrAbortHandler)
		},
	} {
		t.Run(name, func(t *testing.T) {
			nothingLeft(t)
			var calls atomic.Int64
			s, _ := served(t, answering(func(w http.ResponseWriter, r *http.Request) {
				if calls.Add(1) == 1 {
					bad(w, r)
					return
				}
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"good"}]}}`, r.Header.Get("Id"))
			}))
			c, err := Connect(t.Context(), s, options(t))
			must(t, err)
			if text, _, err := c.Call(t.Context(), "any", nil); err == nil {
				t.Errorf("the first call: %q", text)
			}
			testwait.Until(t, func() bool {
				text, _, err := c.Call(t.Context(), "any", nil)
				return text == "good" && err == nil
			}, "no call succeeds after a bad answer")
			c.Close(t.Context())
			before := calls.Load()
			if text, _, err := c.Call(t.Context(), "any", nil); err == nil || calls.Load() > before {
				t.Errorf("after the end: %q", text)
			}
		})
	}
}
