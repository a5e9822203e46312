package model

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// wire is what differs between the wires.
type wire interface {
	// paths are those of a turn and of the list of models.
	paths() (turn, models string)
	// authorize sets the headers of a request.
	authorize(h http.Header, key string)
	// body writes the members of a request's body.
	body(c *Client, r Request) (members, error)
	// reader returns what puts the answer together. used are the ids of calls that the
	// conversation has.
	reader(used map[string]bool, text func(string)) reader
}

// reader puts an answer together.
type reader interface {
	// event takes an event of a stream. It reports whether that was the last one.
	event(data []byte) (last bool, err error)
	// whole takes an answer that is not streamed.
	whole(data []byte) error
	// end returns the answer. It reports whether it is whole.
	end() (Answer, bool)
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
	// authorize sets the headers that have the key. The key is in no field, so that no print
	// of a Client shows it.
	authorize func(http.Header)
	redact    func(string) string
	refused   refusals
	bad       error // why the endpoint cannot be asked
}

// New returns a client. It connects to nothing; an endpoint that cannot be asked is the error
// of each method.
func New(e Endpoint, o Options) *Client {
	c := &Client{jitter: o.Jitter}
	if c.jitter == nil {
		c.jitter = rand.Float64
	}
	key := strings.TrimSpace(e.Key)
	e.Key = ""
	e.Wire = cmp.Or(e.Wire, OpenAI)
	switch e.Wire {
	case OpenAI:
		c.wire, e.URL = chat{}, cmp.Or(e.URL, OpenAIURL)
	case Anthropic:
		c.wire, e.URL = messages{}, cmp.Or(e.URL, AnthropicURL)
	default:
		c.bad = fmt.Errorf("there is no wire %q; the wires are: openai, anthropic", string(e.Wire))
		c.wire = chat{}
	}
	var err error
	if c.base, err = url.Parse(e.URL); err != nil || c.base.Host == "" || c.base.Scheme != "http" && c.base.Scheme != "https" {
		c.bad = errors.New("the URL of the model is no address: write it as http://127.0.0.1:11434/v1 or https://HOST/v1")
		c.base = &url.URL{}
	}
	c.endpoint = e
	c.authorize = func(h http.Header) {
		if o.Agent != "" {
			h.Set("User-Agent", o.Agent)
		}
		c.wire.authorize(h, key)
	}
	c.http = &http.Client{Transport: o.transport(), CheckRedirect: c.redirect}
	return c
}

// String names the endpoint.
func (c *Client) String() string { return c.endpoint.String() }

// Close closes the connections that are kept for further requests.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// transport makes the transport of a client.
func (o Options) transport() http.RoundTripper {
	if o.Transport != nil {
		return o.Transport
	}
	return &http.Transport{Proxy: o.Proxy, ForceAttemptHTTP2: true, DisableCompression: true, IdleConnTimeout: time.Minute}
}

// Body returns the body of a request as JSON, for a dry run. The key is a header and not in it.
func (c *Client) Body(r Request) ([]byte, error) {
	m, err := c.wire.body(c, r)
	if err != nil {
		return nil, err
	}
	for name, value := range c.endpoint.Extra {
		m[name] = value
	}
	return marshal(m)
}

// Answer asks the model, and calls text with each part of the answer's text as it arrives; text
// may be nil. The error is an [*Error], or the context's cause. If it comes after the beginning
// of an answer, the message of the answer is the text so far, without calls.
func (c *Client) Answer(ctx context.Context, r Request, text func(string)) (Answer, error) {
	if c.bad != nil {
		return Answer{}, c.bad
	}
	return c.answer(ctx, r, text)
}

// Models lists the names of the endpoint's models, in its order.
func (c *Client) Models(ctx context.Context) ([]string, error) {
	return nil, errors.New("not yet")
}

func (c *Client) redirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

type refusals struct{}

func (c *Client) answer(ctx context.Context, r Request, text func(string)) (Answer, error) {
	body, err := c.Body(r)
	if err != nil {
		return Answer{}, err
	}
	turn, _ := c.wire.paths()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base.JoinPath(turn).String(), bytes.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	c.authorize(req.Header)
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return Answer{}, &Error{Category: Network, Host: c.base.Host, what: "cannot be reached"}
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return Answer{}, &Error{Category: Server, Status: resp.StatusCode, Host: c.base.Host}
	}
	used := map[string]bool{}
	for _, m := range r.Messages {
		for _, call := range m.Calls {
			used[call.ID] = true
		}
	}
	if text == nil {
		text = func(string) {}
	}
	in := c.wire.reader(used, text)
	for e := newEvents(bufio.NewReader(resp.Body)); ; {
		data, err := e.next()
		last := false
		if err == nil {
			last, err = in.event(data)
		}
		if err != nil && err != io.EOF {
			return Answer{}, err
		}
		if last || err == io.EOF {
			break
		}
	}
	a, whole := in.end()
	a.Message.From = c.from()
	if !whole {
		return a, &Error{Category: Network, Host: c.base.Host, what: "broke off in the middle of its answer"}
	}
	return a, nil
}

// from names the endpoint of a message.
func (c *Client) from() string { return string(c.endpoint.Wire) + " " + c.base.Host + c.base.Path }

// owns reports whether a message goes back as it came.
func (c *Client) owns(m Message) bool {
	return len(m.Raw) > 0 && (m.From == "" || m.From == c.from())
}

// failure is a failure that an endpoint reports in the middle of an answer.
type failure struct{ body json.RawMessage }

func (f *failure) Error() string { return "the endpoint has failed" }

// has reports whether there is a JSON value but null and the empty list.
func has(raw json.RawMessage) bool {
	s := string(bytes.TrimSpace(raw))
	return s != "" && s != "null" && s != "[]"
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
