package model

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/base/rawjson"
)

// wire is the part of a client that depends on the protocol.
type wire interface {
	// paths returns the paths of a turn and of the list of models.
	paths() (turn, models string)
	// authorize sets the headers of a request.
	authorize(h http.Header, key string)
	// body writes the members of a request's body.
	body(c *Client, r Request) (members, error)
	// reader returns a reader that assembles the answer. used has the ids of the conversation's
	// calls, and show gets the text as it arrives.
	reader(used map[string]bool, show func(string)) reader
}

// reader assembles an answer.
type reader interface {
	// event reads an event of a stream. It reports whether it was the last one.
	event(data []byte) (last bool, err error)
	// readWhole reads an unstreamed answer.
	readWhole(data []byte) error
	// text returns the text so far.
	text() string
	// end returns the answer. Its error is errCut if the answer is incomplete, or errNothing if no
	// part of it has arrived.
	end() (Answer, error)
}

// members are the members of a JSON object.
type members = map[string]json.RawMessage

// Client sends requests to one endpoint. Its methods are safe for concurrent use.
type Client struct {
	endpoint Endpoint // without its key
	base     *url.URL
	wire     wire
	http     *http.Client
	jitter   func() float64
	// authorize sets the headers with the key, and redact removes secrets from a text. No field
	// has the key, so printing a Client never shows it.
	authorize func(http.Header)
	redact    func(string) string
	keyless   bool
	dropped   dropped
	bad       error // why requests are impossible
}

// New returns a client without connecting. If the endpoint cannot be used, each method that needs
// it returns an error with the reason.
func New(e Endpoint, o Options) *Client {
	c := &Client{jitter: o.Jitter}
	if c.jitter == nil {
		c.jitter = rand.Float64
	}
	key := strings.TrimSpace(e.Key)
	e.Key = ""
	e.Wire = cmp.Or(e.Wire, OpenAI)
	switch e.Wire {
	case Anthropic:
		c.wire, e.URL = messages{}, cmp.Or(e.URL, AnthropicURL)
	default:
		c.wire, e.URL = chat{}, cmp.Or(e.URL, OpenAIURL)
	}
	var err error
	if c.base, err = url.Parse(e.URL); err != nil {
		c.base = &url.URL{}
	}
	if e.Wire == Anthropic {
		c.base.Path = strings.TrimSuffix(strings.TrimSuffix(c.base.Path, "/"), "/v1") // the wire's paths begin with it
	}
	switch {
	case e.Wire != OpenAI && e.Wire != Anthropic:
		c.bad = fmt.Errorf("there is no wire %q: write openai or anthropic", string(e.Wire))
	case c.base.Host == "" || c.base.Scheme != "http" && c.base.Scheme != "https":
		c.bad = errors.New("the URL of the model is not an http or https address: write it as in http://127.0.0.1:11434/v1")
	case strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' }):
		c.bad = c.fail(Auth, "cannot be sent the key of "+cmp.Or(e.KeyName, "the model")+": it has a line break or a character that no key has")
	}
	c.endpoint, c.keyless = e, key == ""
	c.authorize = func(h http.Header) {
		if o.Agent != "" {
			h.Set("User-Agent", o.Agent)
		}
		c.wire.authorize(h, key)
	}
	c.redact = redactor(key, c.base)
	c.http = &http.Client{Transport: o.transport(), CheckRedirect: c.redirect}
	return c
}

// String names the endpoint.
func (c *Client) String() string { return c.endpoint.String() }

// GoString is [Client.String], for the verb %#v.
func (c *Client) GoString() string { return c.String() }

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// transport returns the transport of a client.
func (o Options) transport() http.RoundTripper {
	if o.Transport != nil {
		return o.Transport
	}
	return &http.Transport{
		Proxy:                  o.Proxy,
		DialContext:            (&net.Dialer{Timeout: connectPatience}).DialContext,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // some servers send a compressed stream in one piece
		TLSHandshakeTimeout:    connectPatience,
		IdleConnTimeout:        time.Minute,
		MaxResponseHeaderBytes: 256 << 10,
	}
}

// Body returns the body of a request as JSON, for a dry run. The key is in a header, not in the
// body.
func (c *Client) Body(r Request) ([]byte, error) {
	m, err := c.wire.body(c, r)
	if err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	maps.Copy(m, c.endpoint.Extra)
	if string(m["stream"]) == "false" && c.endpoint.Extra["stream_options"] == nil {
		delete(m, "stream_options") // refused without a stream
	}
	body, err := rawjson.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	return body, nil
}

// Answer requests an answer from the model, and calls show, if not nil, with each part of the
// answer's text as it arrives. The error is an [*Error], or the context's cause if it has ended. If
// the answer had begun, it is returned with the text so far and without calls.
func (c *Client) Answer(ctx context.Context, r Request, show func(string)) (Answer, error) {
	switch {
	case c.bad != nil:
		return Answer{}, c.bad
	case c.endpoint.Model == "" && c.endpoint.Extra["model"] == nil:
		return Answer{}, c.nameless(ctx)
	}
	if show == nil {
		show = func(string) {}
	}
	a, err := c.turn(ctx, r, show)
	if a.Message.Role != "" {
		a.Message.From = c.identity()
		c.estimate(r, &a)
	}
	return a, err
}

// nameless returns the error for a missing model name. It lists the models to choose from.
func (c *Client) nameless(ctx context.Context) error {
	names, err := c.Models(ctx)
	var e *Error
	if errors.As(err, &e) && e.Category != NotFound && e.Category != Shape || ctx.Err() != nil {
		return err
	}
	e = c.fail(NotFound, "needs the name of a model, and none is given")
	e.Models = names
	return e
}

// identity identifies the endpoint in [Message.From]. The path is hashed, since it may have a secret.
func (c *Client) identity() string {
	return fmt.Sprintf("%s %s %08x", c.endpoint.Wire, c.base.Host, crc32.ChecksumIEEE([]byte(c.base.Path)))
}

// owns reports whether a message came from this endpoint, so that it is sent back
// unchanged.
func (c *Client) owns(m Message) bool {
	return len(m.Raw) > 0 && (m.From == "" || m.From == c.identity())
}

// estimate counts a token for 4 characters if the endpoint reports no usage.
func (c *Client) estimate(r Request, a *Answer) {
	if a.Usage != (Usage{}) {
		return
	}
	body, err := c.Body(r)
	if err != nil {
		return // Answer has already built the same body
	}
	out := utf8.RuneCountInString(a.Message.Text)
	for _, call := range a.Message.Calls {
		out += utf8.RuneCountInString(call.Name) + utf8.RuneCount(call.Arguments)
	}
	a.Usage = Usage{Input: (utf8.RuneCount(body) + 3) / 4, Output: (out + 3) / 4, Estimated: true}
}

// Models returns the names of the endpoint's models, in its order.
func (c *Client) Models(ctx context.Context) ([]string, error) {
	if c.bad != nil {
		return nil, c.bad
	}
	ctx, cancel := context.WithTimeout(ctx, listPatience)
	defer cancel()
	_, path := c.wire.paths()
	at := c.endpointURL(path)
	if c.endpoint.Wire == Anthropic {
		q := at.Query()
		q.Set("limit", "1000") // the maximum of a page
		at.RawQuery = q.Encode()
	}
	data, err := c.get(ctx, at)
	if err != nil {
		return nil, err
	}
	names, ok := modelsIn(data)
	if !ok {
		return nil, c.fail(Shape, "answers with no list of models: look whether the URL is right; a URL of Chat Completions usually ends in /v1")
	}
	return names, nil
}

// modelsIn parses a list of models: {"data":[{"id":…}]}, or only the list. A server without
// models may write null.
func modelsIn(data []byte) (names []string, ok bool) {
	all := json.RawMessage(data)
	if o := object(data); o != nil {
		all, ok = o["data"]
		if !ok || string(all) == "null" && text(o["object"]) != "list" {
			return nil, false
		}
	}
	var items []json.RawMessage
	if json.Unmarshal(all, &items) != nil {
		return nil, false
	}
	names = []string{} // not nil: the server has a list
	for _, item := range items {
		name := text(object(item)["id"])
		if name == "" {
			return nil, false
		}
		names = append(names, name)
	}
	return names, true
}

// endpointURL returns the URL of a path of the wire.
func (c *Client) endpointURL(path string) *url.URL { return c.base.JoinPath(path) }

// usedIDs returns the ids of a conversation's calls.
func usedIDs(all []Message) map[string]bool {
	used := map[string]bool{}
	for _, m := range all {
		for _, call := range m.Calls {
			used[call.ID] = true
		}
	}
	return used
}

// sendable returns arguments in the form that endpoints accept. They refuse a conversation with
// arguments that are not a JSON object, so other text is wrapped in one, as Anthropic advises
// (docs.claude.com/en/docs/agents-and-tools/tool-use/fine-grained-tool-streaming).
func sendable(arguments json.RawMessage) json.RawMessage {
	if object(arguments) != nil {
		return arguments
	}
	wrapped, _ := rawjson.Marshal(members{"INVALID_JSON": quoted(string(arguments))}) // cannot fail
	return wrapped
}

// has reports whether raw is a JSON value other than null and the empty list.
func has(raw json.RawMessage) bool {
	return !slices.Contains([]string{"", "null", "[]"}, string(bytes.TrimSpace(raw)))
}

// quoted writes a string as JSON.
func quoted(s string) json.RawMessage {
	raw, _ := rawjson.Marshal(s) // cannot fail
	return raw
}

// number writes a number as JSON.
func number(n int) json.RawMessage { return json.RawMessage(strconv.Itoa(n)) }
