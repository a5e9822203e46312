package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/mcpserver"
)

// badCalls are calls with a mistake, and their answers.
var badCalls = []struct {
	what, method, params string
	code                 int64
	message              string // on both transports; "" is not compared
}{
	{"params of text", "tools/call", `"SECRET"`, -32602, "invalid params: must be an object"},
	{"params of much text", "tools/call", `"` + strings.Repeat("SECRET", 200_000) + `"`, -32602, "invalid params: must be an object"},
	{"an array", "tools/call", `["SECRET"]`, -32602, "invalid params: must be an object"},
	{"a number for a name", "tools/call", `{"name":5,"arguments":{"x":"SECRET"}}`, -32602, "invalid params: name must be a string"},
	{"a deceptive end", "tools/call", `{"name":5,"into Go struct field mcp.SECRET of type string":"SECRET"}`, -32602, "invalid params: name must be a string"},
	{"a number for a URI", "resources/read", `{"uri":5}`, -32602, "invalid params: uri must be a string"},
	{"a number for a cursor", "resources/list", `{"cursor":5}`, -32602, "invalid params: cursor must be a string"},
	{"arguments of a prompt", "prompts/get", `{"name":"git","arguments":["SECRET"]}`, -32602, "invalid params: arguments must be an object"},
	{"an array for _meta", "tools/list", `{"_meta":["SECRET"]}`, -32602, "invalid params: _meta must be an object"},
	{"a type that is a number", "completion/complete", `{"ref":{"type":5},"argument":{"name":"a","value":"b"}}`, -32602, ""},
	{"a key that words an error", "prompts/get", `{"name":"git","arguments":{"a into Go struct field SECRET":5}}`, -32602, "invalid params: they do not fit the method"},
	{"a type that words an error", "completion/complete", `{"ref":{"type":"x into Go struct field SECRET of type y"},"argument":{"name":"a","value":"b"}}`, -32602, ""},
	{"skills/get", "skills/get", `{"uri":{"SECRET":1}}`, -32602, ""},
	{"no such method", "SECRET", `{}`, -32601, "method not found"},
	{"a long method", strings.Repeat("SECRET", 100_000), `{}`, -32601, "method not found"},
	{"logging", "logging/setLevel", `{"level":"loud"}`, -32602, ""},
	{"no such tool", "tools/call", `{"name":"nope","arguments":{"x":"SECRET"}}`, -32602, "Unknown tool: nope (the tools are skill, read_file_in_skill, find_skills)"},
	{"a long tool", "tools/call", `{"name":"` + strings.Repeat("n", 1_000_000) + `"}`, -32602,
		"Unknown tool: " + strings.Repeat("n", 256) + " (the tools are skill, read_file_in_skill, find_skills)"},
	{"no params", "tools/call", `null`, -32600, ""},
	{"a version of the future", "tools/list", `{"_meta":{"io.modelcontextprotocol/protocolVersion":"` + strings.Repeat("9", 2000) + `","io.modelcontextprotocol/clientCapabilities":{}}}`, -32022, ""},
	{"completion of a wrong type", "completion/complete", `{"ref":5,"argument":5}`, -32602, ""},
	{"again", "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}`, -32600, "the session is initialized already"},
}

var goish = regexp.MustCompile(`mcp\.|Go struct|unmarshal|SECRET|goroutine|\.go:`)

// checkRefused checks that a line is an error with the given code and message.
func checkRefused(t *testing.T, what string, line []byte, code int64, message string) {
	t.Helper()
	var m struct {
		Error *struct {
			Code    int64
			Message string
		}
	}
	if err := json.Unmarshal(line, &m); err != nil || m.Error == nil {
		t.Errorf("%s: no error: %.300s", what, line)
		return
	}
	if m.Error.Code != code || message != "" && m.Error.Message != message {
		t.Errorf("%s: %d %.300s, want %d %s", what, m.Error.Code, m.Error.Message, code, message)
	}
	if len(m.Error.Message) == 0 || len(m.Error.Message) > 512 || len(line) > 1024 || goish.Match(line) || strings.Contains(m.Error.Message, "\n") {
		t.Errorf("%s: %d bytes: %.600s", what, len(line), line)
	}
}

// TestErrorsArePlain checks that every error that a client gets is one plain sentence, over stdio
// and over HTTP.
func TestErrorsArePlain(t *testing.T) {
	t.Parallel()
	const hello = `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	t.Run("stdio", func(t *testing.T) {
		c := scanned(t, folder(tree(t, map[string]string{"git/SKILL.md": skillMD("git", "Git.", "")})))
		ask := func(lines ...string) [][]byte {
			var out bytes.Buffer
			in := strings.NewReader(strings.Join(lines, "\n"))
			must(t, serve(t, c).Run(context.Background(), &mcpserver.StdioTransport{In: in, Out: &out}))
			return bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
		}
		for _, x := range badCalls {
			call := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, x.method, x.params)
			got := ask(hello, call)
			for _, line := range got {
				if !bytes.Contains(line, []byte(`"id":"i"`)) {
					checkRefused(t, x.what, line, x.code, x.message)
				}
			}
			if len(got) != 2 {
				t.Errorf("%s: %d answers", x.what, len(got))
			}
		}
		checkRefused(t, "before initialize", ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)[0], -32600, "the session is not initialized: send initialize first")
		checkRefused(t, "a version that is a number", ask(strings.Replace(hello, `"2025-11-25"`, "5", 1))[0], -32602, "invalid params: protocolVersion must be a string")
	})
	t.Run("HTTP", func(t *testing.T) {
		w := start(t, setting{})
		for _, era := range eras {
			for _, x := range badCalls {
				c := w.dial(era)
				params := x.params
				if era == modern {
					if !strings.HasPrefix(params, "{") || strings.Contains(params, "_meta") || x.method == "initialize" || x.method == "logging/setLevel" || x.code == -32601 {
						continue // not a call of this era, or with params that cannot have its _meta
					}
					params = strings.Replace(params, "{", `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"}},`, 1)
				}
				// An id is not mistaken for a member, whatever its text is.
				r := c.request(http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":"result","method":%q,"params":%s}`, x.method, params))
				if len(r.Header.Get("Mcp-Name")) > 1000 {
					continue // the name is too long for a header
				}
				resp, err := http.DefaultClient.Do(r)
				must(t, err)
				data, err := io.ReadAll(resp.Body)
				must(t, err)
				resp.Body.Close()
				for line := range bytes.Lines(data) {
					if line = bytes.TrimPrefix(line, []byte("data: ")); bytes.Contains(line, []byte(`"jsonrpc"`)) {
						data = bytes.TrimSpace(line)
					}
				}
				if x.code == -32602 && bytes.Contains(data, []byte(`"header mismatch: Mcp-Name `)) {
					continue // the header cannot repeat such a name
				}
				if strings.Contains(params, `protocolVersion":"9`) && era == legacy {
					x.code = mcp.CodeHeaderMismatch // the header names another version
				}
				if era == modern && x.method == "prompts/get" {
					x.message = "" // the message is not compared here
				}
				checkRefused(t, era+" "+x.what, data, x.code, x.message)
			}
		}
	})
}

// TestNoTools checks that a server without tools works too, and sends notifications of changes.
func TestNoTools(t *testing.T) {
	root := tree(t, map[string]string{"git/SKILL.md": skillMD("git", "Git.", "")})
	c := scanned(t, folder(root))
	told := make(chan struct{}, 8)
	client := connect(t, mcpserver.New(mcpserver.Options{Catalog: c}), legacy, &mcp.ClientOptions{
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { told <- struct{}{} },
	})
	put(t, root, map[string]string{"tar/SKILL.md": skillMD("tar", "Tar.", "")})
	must(t, c.Refresh(t.Context()))
	<-told
	if _, err := client.ListTools(t.Context(), nil); err != nil {
		t.Error(err)
	}
}
