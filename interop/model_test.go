package interop

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/llm/model"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// startModel starts the model server in an npm package, and returns its address once the server
// answers.
func startModel(t *testing.T, program string, args func(port string) []string, ready string) string {
	t.Helper()
	bin := node(t, "client")
	if _, err := os.Stat(filepath.Join("node_modules", program)); err != nil {
		missing(t, "no %s; run npm ci --prefix interop: %v", program, err)
	}
	// A program that chooses its own port does not print it, so choose a free port here.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	var out strings.Builder
	cmd := exec.CommandContext(t.Context(), bin, append([]string{filepath.Join("node_modules", program)}, args(port)...)...)
	cmd.Env = append(os.Environ(), "HOST=127.0.0.1", "PORT="+port)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s says:\n%s", program, out.String())
		}
	})
	url := "http://127.0.0.1:" + port
	testwait.Until(t, func() bool {
		resp, err := http.Get(url + ready)
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}, "an answer of ", program)
	return url
}

// written writes a file for a program and returns its path.
func written(t *testing.T, name, text string) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// talk has a conversation with a model until the model makes no more calls. It returns the model's
// texts and calls.
func talk(t *testing.T, e model.Endpoint, tools, prompt string) (said []string) {
	t.Helper()
	c := model.New(e, model.Options{})
	defer c.Close()
	r := model.Request{System: "You help.", Tools: json.RawMessage(tools), Messages: []model.Message{{Role: model.User, Text: prompt}}}
	for range 3 {
		streamed := ""
		a, err := c.Answer(t.Context(), r, func(text string) { streamed += text })
		if err != nil {
			return append(said, err.Error())
		}
		if streamed != a.Message.Text {
			t.Errorf("%q was shown of %q", streamed, a.Message.Text)
		}
		if a.Message.Text != "" {
			said = append(said, a.Message.Text)
		}
		r.Messages = append(r.Messages, a.Message)
		if len(a.Message.Calls) == 0 {
			return said
		}
		results := model.Message{Role: model.Tool}
		for _, call := range a.Message.Calls {
			if call.ID == "" {
				t.Errorf("a call of %s has no id", call.Name)
			}
			said = append(said, fmt.Sprintf("%s(%s)", call.Name, call.Arguments))
			results.Results = append(results.Results, model.Result{CallID: call.ID, Name: call.Name, Text: "# PDF"})
		}
		r.Messages = append(r.Messages, results)
	}
	return said
}

// whole requests an answer that is not streamed.
var whole = map[string]json.RawMessage{"stream": json.RawMessage("false")}

const (
	chatTools     = `[{"type":"function","function":{"name":"skill","description":"Load a skill","parameters":{"type":"object"}}}]`
	messagesTools = `[{"name":"skill","description":"Load a skill","input_schema":{"type":"object"}}]`
)

// TestInteropAimock has conversations with aimock through both APIs, streamed and not.
func TestInteropAimock(t *testing.T) {
	t.Parallel()
	fixtures := written(t, "fixtures.json", `{"fixtures":[
		{"match":{"userMessage":"Hello"},"response":{"content":"Hello to you, 😀 & <all> of \"you\""}},
		{"match":{"userMessage":"pdf","hasToolResult":false},"response":{"content":"I look.","toolCalls":[{"name":"skill","arguments":{"name":"pdf"}},{"name":"skill","arguments":{"name":"docx"}}]}},
		{"match":{"userMessage":"pdf","hasToolResult":true},"response":{"content":"Done with the PDF"}},
		{"match":{"userMessage":"locked"},"response":{"error":{"message":"Incorrect API key provided","type":"invalid_request_error"},"status":401}}]}`)
	url := startModel(t, "@copilotkit/aimock/dist/cli.js", func(port string) []string {
		return []string{"--port", port, "--fixtures", fixtures, "--strict", "--chunk-size", "3", "--log-level", "warn"}
	}, "/v1/models")
	for wire, tools := range map[model.Wire]string{model.OpenAI: chatTools, model.Anthropic: messagesTools} {
		for _, extra := range []map[string]json.RawMessage{nil, whole} {
			e := model.Endpoint{Wire: wire, URL: url + "/v1", Model: "a-model", Key: "a-key", KeyName: "OPENAI_API_KEY", Extra: extra}
			for prompt, want := range map[string][]string{
				"Hello":         {"Hello to you, 😀 & <all> of \"you\""},
				"A pdf, please": {"I look.", `skill({"name":"pdf"})`, `skill({"name":"docx"})`, "Done with the PDF"},
				"locked":        {strings.TrimPrefix(url, "http://") + " refuses the key in OPENAI_API_KEY: check that it is complete, and may use this model (401): Incorrect API key provided"},
			} {
				if d := cmp.Diff(want, talk(t, e, tools, prompt)); d != "" {
					t.Errorf("%s, %s, %v (-want +got):\n%s", wire, prompt, extra, d)
				}
			}
		}
	}
	c := model.New(model.Endpoint{URL: url + "/v1", Model: "a-model"}, model.Options{})
	defer c.Close()
	names, err := c.Models(t.Context())
	if err != nil || len(names) == 0 {
		t.Errorf("models: %q, %v", names, err)
	}
	_, err = c.Answer(t.Context(), model.Request{Messages: []model.Message{{Role: model.User, Text: "What no fixture has"}}}, nil)
	var e *model.Error
	if !errors.As(err, &e) {
		t.Errorf("without a fixture: %v", err)
	}
}

// TestInteropMockLLM has conversations with mock-llm. The server streams only texts, and cuts them
// within characters. Its answers with calls are not streamed.
func TestInteropMockLLM(t *testing.T) {
	t.Parallel()
	rules := written(t, "rules.yaml", `streaming: {chunkSize: 1, chunkIntervalMs: 1}
rules:
  - path: "/v1/chat/completions"
    match: "@"
    response: {status: 200, content: '{"id":"x","object":"chat.completion","model":"m","choices":[{"message":{"role":"assistant","content":"You say {{jmes request body.messages[-1].content}}"},"finish_reason":"stop"}]}'}
  - path: "/v1/chat/completions"
    match: "contains(body.messages[-1].content, 'pdf')"
    response: {status: 200, content: '{"id":"x","object":"chat.completion","model":"m","choices":[{"message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_a","type":"function","function":{"name":"skill","arguments":"{\"name\":\"pdf\"}"}},{"function":{"name":"skill"}}]},"finish_reason":"tool_calls"}]}'}
  - path: "/v1/chat/completions"
    match: "contains(body.messages[-1].content, 'locked')"
    response: {status: 401, content: '{"error":{"message":"Incorrect API key provided.","type":"invalid_request_error","code":"invalid_api_key"}}'}
`)
	url := startModel(t, "@dwmkerr/mock-llm/dist/main.js", func(string) []string { return []string{"--config", rules} }, "/health")
	e := model.Endpoint{URL: url + "/v1", Model: "a-model"}
	locked := strings.TrimPrefix(url, "http://") + " asks for a key: name the variable or the file that has one"
	for _, c := range []struct {
		extra  map[string]json.RawMessage
		prompt string
		want   []string
	}{
		{nil, "hello, 😀 of you", []string{"You say hello, 😀 of you"}},
		{whole, "hello, 😀 of you", []string{"You say hello, 😀 of you"}},
		{whole, "a pdf", []string{`skill({"name":"pdf"})`, `skill({})`, "You say # PDF"}},
		{whole, "locked", []string{locked + " (401): Incorrect API key provided."}},
		{nil, "locked", []string{locked + ": Incorrect API key provided."}}, // the error is in the stream, after the status 200
	} {
		e.Extra = c.extra
		if d := cmp.Diff(c.want, talk(t, e, chatTools, c.prompt)); d != "" {
			t.Errorf("%s, %v (-want +got):\n%s", c.prompt, c.extra, d)
		}
	}
}
