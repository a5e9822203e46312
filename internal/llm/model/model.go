// Package model makes one turn of a conversation with a language model. It speaks the wires of
// nearly every endpoint: OpenAI's Chat Completions and Anthropic's Messages.
//
// A caller keeps the messages, and appends the answer's message and the results of its calls:
//
//	client := model.New(endpoint, model.Options{})
//	answer, err := client.Answer(ctx, model.Request{Messages: messages, Tools: tools}, show)
//	messages = append(messages, answer.Message)
//
// No error and no printed value of this package reveals a key.
package model

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
)

// Wire is the protocol of an endpoint.
type Wire string

// The wires.
const (
	// OpenAI is Chat Completions: POST {URL}/chat/completions. It is the default.
	OpenAI Wire = "openai"
	// Anthropic is Messages: POST {URL}/v1/messages.
	Anthropic Wire = "anthropic"
)

// The vendors' addresses. Gemini's address speaks Chat Completions
// (ai.google.dev/gemini-api/docs/openai).
const (
	OpenAIURL    = "https://api.openai.com/v1"
	AnthropicURL = "https://api.anthropic.com"
	GeminiURL    = "https://generativelanguage.googleapis.com/v1beta/openai"
)

// Endpoint is a model and its address.
type Endpoint struct {
	Wire Wire
	// URL is the base of the wire's paths; empty means [OpenAIURL] or [AnthropicURL].
	URL   string
	Model string
	// Key is sent only to the host of URL, without surrounding spaces. If it is empty, no key is
	// sent.
	Key string `json:"-"`
	// KeyName names the variable or the file of the key in errors, such as "OPENAI_API_KEY".
	KeyName string
	// Extra has members to add to the request's body. They replace members with the same names.
	Extra map[string]json.RawMessage
}

// String names the model and its host, without the key.
func (e Endpoint) String() string {
	at := "the vendor"
	if u, err := url.Parse(e.URL); err == nil && u.Host != "" {
		at = u.Host
	}
	return fmt.Sprintf("%s at %s (%s)", e.Model, at, e.Wire)
}

// GoString is [Endpoint.String], for the verb %#v.
func (e Endpoint) GoString() string { return e.String() }

// Role is the author of a message.
type Role string

// The roles. The system message is in [Request.System].
const (
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool" // the results of calls
)

// Message is one message of a conversation.
type Message struct {
	Role Role
	// Text is the text of a user or an assistant.
	Text string
	// Calls lists the calls of an assistant, in order.
	Calls []Call
	// Results answer all calls of the previous assistant's message.
	Results []Result
	// Raw is an assistant's message in the wire's form with all of its members. It is sent back
	// unchanged, because some endpoints refuse a request without extra_content,
	// reasoning_content, or signed thinking blocks. If it is empty, or From is another endpoint,
	// the message is made of Text and Calls.
	Raw json.RawMessage
	// From identifies the endpoint of Raw, as [Client.Answer] sets it. If it is empty, Raw counts
	// as a message of the requested endpoint.
	From string
}

// Call is a model's call of a tool.
type Call struct {
	// ID is unique in the conversation. A call that came without an id gets one, such as
	// "call_1".
	ID   string
	Name string
	// Arguments is a JSON object, {} if the call has no arguments. If the model sent anything
	// else, it is that text, which may not be JSON.
	Arguments json.RawMessage
}

// Result is the result of a call.
type Result struct {
	CallID, Name, Text string
	// IsError is true if the call failed. Only Anthropic's wire sends it to the model.
	IsError bool
}

// Request is a conversation that waits for the model's answer.
type Request struct {
	System   string
	Messages []Message
	// Tools are the definitions in the wire's form, as function.Definitions writes them.
	Tools json.RawMessage
	// MaxTokens bounds the answer. 0 means the endpoint's own limit, or [DefaultMaxTokens] on
	// Anthropic's wire, which requires a limit.
	MaxTokens int
}

// DefaultMaxTokens is the default max_tokens of a request to Anthropic: the largest that every
// model from Claude 3.5 on accepts (docs.claude.com/en/docs/about-claude/models/overview, "Max
// output").
const DefaultMaxTokens = 8192

// Usage counts the tokens of one turn.
type Usage struct {
	Input, Output int
	// Estimated is true if the endpoint reports no usage. The tokens are then counted as 4
	// characters each.
	Estimated bool
}

// Answer is a model's answer.
type Answer struct {
	Message Message
	Usage   Usage
	// Stop is one of the reasons below, or else the endpoint's own word.
	Stop string
}

// The reasons why an answer ended.
const (
	StopEnd     = "end"     // the model has finished
	StopCalls   = "calls"   // the model waits for the results of its calls
	StopLength  = "length"  // the answer reached the limit of tokens, and its last call may be cut
	StopRefused = "refused" // the model or the endpoint's filter refuses
)

// Options configure the connections to endpoints. The zero value connects directly.
type Options struct {
	// Transport sends the requests. If it is nil, New makes one.
	Transport http.RoundTripper
	// Proxy returns the proxy for a request, or nil. A command passes
	// [http.ProxyFromEnvironment]. It is ignored if Transport is set.
	Proxy func(*http.Request) (*url.URL, error)
	// Agent is the User-Agent header, such as "knack/1.2.0".
	Agent string
	// Jitter returns a number from 0 to 1 that spreads the waits between attempts. If it is nil,
	// the number is random.
	Jitter func() float64
}
