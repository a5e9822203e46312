// Package model has one turn of a conversation with a language model, over the two wires that
// nearly every endpoint speaks: OpenAI's Chat Completions and Anthropic's Messages.
//
// A caller keeps the messages, and appends the answer's message and the results of its calls:
//
//	client := model.New(endpoint, model.Options{})
//	answer, err := client.Answer(ctx, model.Request{Messages: messages, Tools: tools}, show)
//	messages = append(messages, answer.Message)
//
// No error, and no text of a value of this package, has a key in it.
package model

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
)

// Wire is how an endpoint is spoken to.
type Wire string

// The wires.
const (
	// OpenAI is Chat Completions: POST {URL}/chat/completions. An Endpoint without a wire has it.
	OpenAI Wire = "openai"
	// Anthropic is Messages: POST {URL}/v1/messages.
	Anthropic Wire = "anthropic"
)

// Addresses of vendors. Gemini's speaks Chat Completions
// (ai.google.dev/gemini-api/docs/openai).
const (
	OpenAIURL    = "https://api.openai.com/v1"
	AnthropicURL = "https://api.anthropic.com"
	GeminiURL    = "https://generativelanguage.googleapis.com/v1beta/openai"
)

// Endpoint is a model and its address.
type Endpoint struct {
	Wire Wire
	// URL is the address below which the wire's paths are; if empty, [OpenAIURL] or
	// [AnthropicURL].
	URL   string
	Model string
	// Key is sent to the host of URL and to no other. Spaces around it are left out. If it is
	// empty, none is sent.
	Key string `json:"-"`
	// KeyName names what holds the key, "OPENAI_API_KEY" or the name of a file, for errors.
	KeyName string
	// Extra has members of the request's body, which replace those that the client writes.
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

// Role says who a message is from.
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
	// Text is what a user or an assistant says.
	Text string
	// Calls are the calls of an assistant, in their order.
	Calls []Call
	// Results answer all calls of the assistant's message before.
	Results []Result
	// Raw is an assistant's message in the form of the wire, with every member that it had. Some
	// endpoints refuse a request without them: extra_content, reasoning_content, thinking blocks
	// with their signatures. It is sent back unchanged. If it is empty, or From is another endpoint, the
	// message is made of Text and Calls.
	Raw json.RawMessage
	// From is the endpoint that Raw came from, as [Client.Answer] sets it. If it is empty, Raw
	// counts as one of the endpoint that is asked.
	From string
}

// Call is a call of a tool that a model asks for.
type Call struct {
	// ID is unique in the conversation. A call that came without one has a made one: "call_1".
	ID   string
	Name string
	// Arguments is a JSON object: {} if the call has no arguments. If what came is no JSON
	// object, it is that text, which need not be JSON.
	Arguments json.RawMessage
}

// Result is the result of a call.
type Result struct {
	CallID, Name, Text string
	// IsError says that the call failed. Only Anthropic's wire tells the model.
	IsError bool
}

// Request is a conversation that waits for the model's answer.
type Request struct {
	System   string
	Messages []Message
	// Tools are the definitions in the wire's form, as function.Definitions writes them.
	Tools json.RawMessage
	// MaxTokens bounds the answer. If it is 0, the endpoint's own limit applies, and with
	// Anthropic's wire, which requires one, [DefaultMaxTokens].
	MaxTokens int
}

// DefaultMaxTokens is the max_tokens of a request to Anthropic that sets none. It is the largest
// that every model from Claude 3.5 on accepts
// (docs.claude.com/en/docs/about-claude/models/overview, "Max output").
const DefaultMaxTokens = 8192

// Usage counts the tokens of one turn.
type Usage struct {
	Input, Output int
	// Estimated says that the endpoint reports nothing, and that a token counts as 4 characters.
	Estimated bool
}

// Answer is what a model answers.
type Answer struct {
	Message Message
	Usage   Usage
	// Stop is one of the reasons below, or else the endpoint's own word.
	Stop string
}

// Why an answer ended.
const (
	StopEnd     = "end"     // all is said
	StopCalls   = "calls"   // the model waits for the results of its calls
	StopLength  = "length"  // the answer reached the limit of tokens, and its last call may be cut
	StopRefused = "refused" // the model or the endpoint's filter refuses
)

// Options say how endpoints are reached. The zero value reaches them directly.
type Options struct {
	// Transport sends the requests. If it is nil, New makes one.
	Transport http.RoundTripper
	// Proxy returns the proxy for a request, or nil. A command passes [http.ProxyFromEnvironment].
	// A Transport has its own.
	Proxy func(*http.Request) (*url.URL, error)
	// Agent is the User-Agent, "knack/1.2.0".
	Agent string
	// Jitter returns a number from 0 to 1 that spreads the waits before further attempts. If
	// it is nil, the number is random.
	Jitter func() float64
}
