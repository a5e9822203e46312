// Package model compares the requests of knack's own client of language models with those of the
// vendors' clients. It is a module of its own, so that knack's module does not have its
// dependencies.
package model

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"

	"github.com/knack-dev/knack/internal/llm/model"
)

// endpoint answers each request with the next of its streams, and records the request bodies.
type endpoint struct {
	mu      sync.Mutex
	streams []string
	bodies  [][]byte
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	e.mu.Lock()
	defer e.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, e.streams[min(len(e.bodies), len(e.streams)-1)])
	e.bodies = append(e.bodies, body)
}

// listen starts an endpoint with the answers of a conversation, and returns it with its URL. named
// adds the name of each event.
func listen(t *testing.T, answers [][]string, named bool) (*endpoint, string) {
	t.Helper()
	e := &endpoint{}
	for _, events := range answers {
		var b strings.Builder
		for _, event := range events {
			if named { // the vendor's client of Messages reads the names
				var o struct{ Type string }
				if err := json.Unmarshal([]byte(event), &o); err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&b, "event: %s\n", o.Type)
			}
			fmt.Fprintf(&b, "data: %s\n\n", event)
		}
		e.streams = append(e.streams, b.String())
	}
	s := httptest.NewServer(e)
	t.Cleanup(s.Close)
	return e, s.URL
}

// conversation is a list of prompts to a model, and the model's answers. Each call in an answer
// gets a result. After an answer without calls, the next prompt follows.
type conversation struct {
	name    string
	system  string
	prompts []string
	tools   bool
	answers [][]string
}

// result returns the result of the call with this id.
func result(id, name string) (text string, failed bool) {
	return "Result of " + name + " for " + id + ": <b>\"done\"</b> & å\n", strings.HasSuffix(id, "bad")
}

const schema = `{"type":"object","properties":{"name":{"type":"string","description":"A <name> & more"}},"required":["name"],"additionalProperties":false}`

// talk has the conversation with knack's client, and returns the bodies of the requests.
func talk(t *testing.T, wire model.Wire, url, tools string, c conversation, e *endpoint) (bodies [][]byte) {
	t.Helper()
	client := model.New(model.Endpoint{Wire: wire, URL: url, Model: "a-model", Key: "key"}, model.Options{})
	defer client.Close()
	r := model.Request{System: c.system, MaxTokens: 1000}
	if c.tools {
		r.Tools = json.RawMessage(tools)
	}
	prompts := c.prompts
	r.Messages = []model.Message{{Role: model.User, Text: prompts[0]}}
	for range c.answers {
		a, err := client.Answer(t.Context(), r, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Messages = append(r.Messages, a.Message)
		if len(a.Message.Calls) == 0 {
			if prompts = prompts[1:]; len(prompts) > 0 {
				r.Messages = append(r.Messages, model.Message{Role: model.User, Text: prompts[0]})
			}
			continue
		}
		results := model.Message{Role: model.Tool}
		for _, call := range a.Message.Calls {
			text, failed := result(call.ID, call.Name)
			results.Results = append(results.Results, model.Result{CallID: call.ID, Name: call.Name, Text: text, IsError: failed})
		}
		r.Messages = append(r.Messages, results)
	}
	if _, err := client.Answer(t.Context(), r, nil); err != nil { // makes the client send the last answer, too
		t.Fatal(err)
	}
	return e.bodies
}

// talkOpenAI has the conversation with OpenAI's client, and returns the bodies of the requests.
func talkOpenAI(t *testing.T, url string, c conversation, e *endpoint) [][]byte {
	t.Helper()
	client := openai.NewClient(openaioption.WithBaseURL(url), openaioption.WithAPIKey("key"), openaioption.WithMaxRetries(0))
	p := openai.ChatCompletionNewParams{Model: "a-model", MaxTokens: openai.Int(1000), StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}}
	if c.system != "" {
		p.Messages = append(p.Messages, openai.SystemMessage(c.system))
	}
	if c.tools {
		p.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{Name: "skill", Description: openai.String("Load a skill"), Parameters: parameters(t)})}
	}
	prompts := c.prompts
	p.Messages = append(p.Messages, openai.UserMessage(prompts[0]))
	turn := func() openai.ChatCompletionMessage {
		stream := client.Chat.Completions.NewStreaming(context.Background(), p)
		var all openai.ChatCompletionAccumulator
		for stream.Next() {
			all.AddChunk(stream.Current())
		}
		if err := stream.Err(); err != nil {
			t.Fatal(err)
		}
		return all.Choices[0].Message
	}
	for range c.answers {
		m := turn()
		p.Messages = append(p.Messages, m.ToParam())
		if len(m.ToolCalls) == 0 {
			if prompts = prompts[1:]; len(prompts) > 0 {
				p.Messages = append(p.Messages, openai.UserMessage(prompts[0]))
			}
		}
		for _, call := range m.ToolCalls {
			text, _ := result(call.ID, call.Function.Name)
			p.Messages = append(p.Messages, openai.ToolMessage(text, call.ID))
		}
	}
	turn()
	return e.bodies
}

// talkAnthropic has the conversation with Anthropic's client, and returns the bodies of the
// requests.
func talkAnthropic(t *testing.T, url string, c conversation, e *endpoint) [][]byte {
	t.Helper()
	client := anthropic.NewClient(anthropicoption.WithBaseURL(url), anthropicoption.WithAPIKey("key"), anthropicoption.WithMaxRetries(0))
	p := anthropic.MessageNewParams{Model: "a-model", MaxTokens: 1000}
	if c.system != "" {
		p.System = []anthropic.TextBlockParam{{Text: c.system}}
	}
	if c.tools {
		s := parameters(t)
		p.Tools = []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{Name: "skill", Description: anthropic.String("Load a skill"),
			InputSchema: anthropic.ToolInputSchemaParam{Properties: s["properties"], Required: []string{"name"}, ExtraFields: map[string]any{"additionalProperties": false}}}}}
	}
	prompts := c.prompts
	p.Messages = append(p.Messages, anthropic.NewUserMessage(anthropic.NewTextBlock(prompts[0])))
	turn := func() anthropic.Message {
		stream := client.Messages.NewStreaming(context.Background(), p)
		var m anthropic.Message
		for stream.Next() {
			if err := m.Accumulate(stream.Current()); err != nil {
				t.Fatal(err)
			}
		}
		if err := stream.Err(); err != nil {
			t.Fatal(err)
		}
		return m
	}
	for range c.answers {
		m := turn()
		p.Messages = append(p.Messages, m.ToParam())
		var results []anthropic.ContentBlockParamUnion
		for _, b := range m.Content {
			if b.Type == "tool_use" {
				text, failed := result(b.ID, b.Name)
				results = append(results, anthropic.NewToolResultBlock(b.ID, text, failed))
			}
		}
		if len(results) > 0 {
			p.Messages = append(p.Messages, anthropic.NewUserMessage(results...))
		} else if prompts = prompts[1:]; len(prompts) > 0 {
			p.Messages = append(p.Messages, anthropic.NewUserMessage(anthropic.NewTextBlock(prompts[0])))
		}
	}
	turn()
	return e.bodies
}

func parameters(t *testing.T) (p map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(schema), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// object is a JSON object.
type object = map[string]any

// decoded decodes a body. It leaves numbers as text.
func decoded(t *testing.T, body []byte) object {
	t.Helper()
	var o object
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&o); err != nil {
		t.Fatal(err)
	}
	return o
}

// each calls f for each object in a list.
func each(v any, f func(object)) {
	items, _ := v.([]any)
	for _, item := range items {
		if o, ok := item.(object); ok {
			f(o)
		}
	}
}
