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
)

// wire is what differs between the wires.
type wire interface {
	// paths are those of a turn and of the list of models.
	paths() (turn, models string)
	// authorize sets the headers of a request.
	authorize(h http.Header, key string)
	// body writes the members of a request's body.
	body(c *Client, r Request) (members, error)
	// reader returns what puts the answer together. used are the ids of the conversation's
	// calls, and show gets the text as it arrives.
	reader(used map[string]bool, show func(string)) reader
}

// reader puts an answer together.
type reader interface {
	// event takes an event of a stream. It reports whether that was the last one.
	event(data []byte) (last bool, err error)
	// whole takes an answer that is not streamed.
	whole(data []byte) error
	// said is the text so far.
	said() string
	// end returns the answer. Its error is errCut if the end has not come, or errNothing if
	// nothing of an answer has.
	end() (Answer, error)
}

// members are those of a JSON object.
type members = map[string]json.RawMessage

// Client asks one endpoint. Its methods may be called from several goroutines.
type Client struct {
	endpoint Endpoint // without its key
	base     *url.URL
	wire     wire
	http     *http.Client
	jitter   func() float64
	// authorize sets the headers that have the key, and redact takes secrets out of a text.
	// The key is in no field, so that no print of a Client shows it.
	authorize func(http.Header)
	redact    func(string) string
	keyless   bool
	dropped   dropped
	bad       error // why the endpoint cannot be asked
}

// New returns a client. It connects to nothing. If the endpoint cannot be asked, each method
// that would ask it returns an error that says why.
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
		c.base.Path = strings.TrimSuffix(strings.TrimSuffix(c.base.Path, "/"), "/v1") // the wire's paths have it
	}
	switch {
	case e.Wire != OpenAI && e.Wire != Anthropic:
		c.bad = fmt.Errorf("there is no wire %q: write openai or anthropic", string(e.Wire))
	case c.base.Host == "" || c.base.Scheme != "http" && c.base.Scheme != "https":
		c.bad = errors.New("the URL of the model is no http or https address: write it as in http://127.0.0.1:11434/v1")
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

// Close closes the connections that are kept for further requests.
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

// Body returns the body of a request as JSON, for a dry run. The key is a header and not in it.
func (c *Client) Body(r Request) ([]byte, error) {
	m, err := c.wire.body(c, r)
	if err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	maps.Copy(m, c.endpoint.Extra)
	if string(m["stream"]) == "false" && c.endpoint.Extra["stream_options"] == nil {
		delete(m, "stream_options") // it is refused without a stream
	}
	body, err := marshal(m)
	if err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	return body, nil
}

// Answer asks the model, and calls show with each part of the answer's text as it arrives; show
// may be nil. The error is an [*Error], or the context's cause if that has ended. If the answer
// has begun before, it has the text so far, as a message without calls.
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
		a.Message.From = c.from()
		c.estimate(r, &a)
	}
	return a, err
}

// nameless is the error of an endpoint without the name of a model: it has the names to choose from.
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

// from names the endpoint that a message came from. Its path may have a secret in it.
func (c *Client) from() string {
	return fmt.Sprintf("%s %s %08x", c.endpoint.Wire, c.base.Host, crc32.ChecksumIEEE([]byte(c.base.Path)))
}

// owns reports whether a message goes back unchanged, since it came from this endpoint.
func (c *Client) owns(m Message) bool {
	return len(m.Raw) > 0 && (m.From == "" || m.From == c.from())
}

// estimate counts a token for 4 characters, if the endpoint reports nothing.
func (c *Client) estimate(r Request, a *Answer) {
	if a.Usage != (Usage{}) {
		return
	}
	body, err := c.Body(r)
	if err != nil {
		return // there was one a moment ago
	}
	out := utf8.RuneCountInString(a.Message.Text)
	for _, call := range a.Message.Calls {
		out += utf8.RuneCountInString(call.Name) + utf8.RuneCount(call.Arguments)
	}
	a.Usage = Usage{Input: (utf8.RuneCount(body) + 3) / 4, Output: (out + 3) / 4, Estimated: true}
}

// Models lists the names of the endpoint's models, in its order.
func (c *Client) Models(ctx context.Context) ([]string, error) {
	if c.bad != nil {
		return nil, c.bad
	}
	ctx, cancel := context.WithTimeout(ctx, listPatience)
	defer cancel()
	_, path := c.wire.paths()
	at := c.at(path)
	if c.endpoint.Wire == Anthropic {
		q := at.Query()
		q.Set("limit", "1000") // the most that one page has
		at.RawQuery = q.Encode()
	}
	data, err := c.get(ctx, at)
	if err != nil {
		return nil, err
	}
	names, ok := modelsIn(data)
	if !ok {
		return nil, c.fail(Shape, "answers with no list of models: look whether the URL is right; that of Chat Completions usually ends in /v1")
	}
	return names, nil
}

// modelsIn reads a list of models: {"data":[{"id":…}]}, or the list alone. A server that has
// none may write null.
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
	names = []string{} // not nil: there is a list
	for _, item := range items {
		name := text(object(item)["id"])
		if name == "" {
			return nil, false
		}
		names = append(names, name)
	}
	return names, true
}

// at returns the address of a path of the wire.
func (c *Client) at(path string) *url.URL { return c.base.JoinPath(path) }

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

// sendable returns arguments as they go back to an endpoint. Endpoints refuse a conversation
// in which they are no JSON object, so that such a text is put into one, as Anthropic advises
// (docs.claude.com/en/docs/agents-and-tools/tool-use/fine-grained-tool-streaming).
func sendable(arguments json.RawMessage) json.RawMessage {
	if object(arguments) != nil {
		return arguments
	}
	wrapped, _ := marshal(members{"INVALID_JSON": quoted(string(arguments))}) // cannot fail
	return wrapped
}

// has reports whether there is a JSON value other than null and the empty list.
func has(raw json.RawMessage) bool {
	return !slices.Contains([]string{"", "null", "[]"}, string(bytes.TrimSpace(raw)))
}

// quoted writes a string as JSON.
func quoted(s string) json.RawMessage {
	raw, _ := marshal(s) // cannot fail
	return raw
}

// number writes a number as JSON.
func number(n int) json.RawMessage { return json.RawMessage(strconv.Itoa(n)) }

// marshal writes JSON without escaping HTML.
func marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
