package model

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/knack-dev/knack/internal/base/rawjson"
)

const (
	// silence bounds the pauses within an answer.
	silence = time.Minute
	// firstPatience bounds the time to the first byte of an answer. A local server loads the
	// model and reads the prompt first; Ollama takes up to 5 minutes to load one
	// (OLLAMA_LOAD_TIMEOUT).
	firstPatience = 5 * time.Minute
	// connectPatience bounds a connection, and listPatience a list of models.
	connectPatience = 30 * time.Second
	listPatience    = 10 * time.Second
	// failurePatience bounds the body of a failure. The status alone is enough.
	failurePatience = 5 * time.Second
	// tries is the number of requests for a turn before the first byte of an answer arrives.
	tries = 3
	// maxWait is the longest wait before another attempt. If an endpoint requires a longer wait,
	// there is no other attempt: an earlier one would be in vain.
	maxWait = time.Minute
)

var (
	errSilent  = errors.New("it sends nothing")
	errCut     = errors.New("it broke off")
	errBroken  = errors.New("a piece of it is damaged")
	errNothing = errors.New("nothing of an answer has come")
	errNoModel = errors.New("it is not an answer of a model")
)

// turn requests an answer, with up to three attempts as long as no part of an answer arrives.
func (c *Client) turn(ctx context.Context, r Request, show func(string)) (Answer, error) {
	for try := 1; ; try++ {
		body, err := c.Body(r)
		if err != nil {
			return Answer{}, err
		}
		in := c.wire.reader(usedIDs(r.Messages), show)
		a, err := c.attempt(ctx, body, in)
		if err == nil {
			return a, nil
		}
		if text := in.text(); text != "" {
			a = Answer{Message: Message{Role: Assistant, Text: text}}
		}
		if ctx.Err() != nil {
			return a, context.Cause(ctx)
		}
		var e *Error
		if !errors.As(err, &e) {
			return a, err
		}
		if c.drop(e, body) {
			try--
			continue
		}
		e.Tries, e.Model = try, c.endpoint.Model
		e.Message = withoutRequest(e.Message, r)
		if !e.again || e.Wait > maxWait || try == tries {
			return a, c.explain(ctx, e)
		}
		if err := c.pause(ctx, try, e.Wait); err != nil {
			return a, err
		}
	}
}

// explain adds the available models to an error about an unknown model.
func (c *Client) explain(ctx context.Context, e *Error) error {
	if e.Category == NotFound {
		e.Models, _ = c.Models(ctx)
	}
	return e
}

// pause waits before another attempt. It waits as long as the endpoint requests, or else 1, 2 or 4
// seconds, plus or minus a quarter. The variation spreads the attempts of clients that failed at
// the same time.
func (c *Client) pause(ctx context.Context, try int, asked time.Duration) error {
	wait := asked
	if wait == 0 {
		wait = time.Duration(float64(time.Second<<(try-1)) * (0.75 + c.jitter()/2))
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// attempt sends the request once.
func (c *Client) attempt(ctx context.Context, body []byte, in reader) (Answer, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	quiet := time.AfterFunc(firstPatience, func() { cancel(errSilent) })
	defer quiet.Stop()
	turn, _ := c.wire.paths()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpointURL(turn).String(), bytes.NewReader(body))
	if err != nil {
		return Answer{}, c.fail(Network, "has no valid URL")
	}
	c.authorize(req.Header)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream, application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return Answer{}, c.unreachable(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		quiet.Reset(failurePatience)
		return Answer{}, c.status(resp)
	}
	heard := &bodyReader{from: resp.Body, quiet: quiet}
	if err := read(heard, in); err != nil {
		return Answer{}, c.broken(ctx, err, heard.began)
	}
	a, err := in.end()
	if err != nil {
		return Answer{}, c.broken(ctx, err, heard.began)
	}
	return a, nil
}

// bodyReader reads the body of an answer, and restarts the timer of silence with each byte.
type bodyReader struct {
	from  io.Reader
	quiet *time.Timer
	began bool
}

func (h *bodyReader) Read(p []byte) (int, error) {
	n, err := h.from.Read(p)
	if n > 0 {
		h.began = true
		h.quiet.Reset(silence)
	}
	return n, err
}

// read reads an answer: a stream of events or, from some endpoints, one JSON value.
func read(from io.Reader, in reader) error {
	b := bufio.NewReader(from)
	switch first := opening(b); first {
	case '<':
		return errPage
	case '{', '[':
		data, err := bounded(b, maxWhole)
		if err != nil {
			return err
		}
		return in.readWhole(data)
	}
	for e := newEvents(b); ; {
		data, err := e.next()
		last := err == io.EOF
		if err == nil {
			last, err = in.event(data)
		}
		switch {
		case last:
			return nil
		case err != nil && e.atEnd && !isFailure(err):
			return errCut // in the middle of an event
		case err != nil:
			// A complete answer counts even if the connection fails after it.
			_, unfinished := in.end()
			switch {
			case unfinished == nil && !isFailure(err):
				return nil
			case errors.Is(unfinished, errCut) && errors.As(err, new(*json.SyntaxError)):
				return errBroken // the earlier events belong to an answer
			}
			return err
		}
	}
}

// opening returns the first byte that is not a space or a byte order mark, or 0.
func opening(b *bufio.Reader) byte {
	for range maxFailure {
		c, err := b.ReadByte()
		if err != nil {
			return 0
		}
		switch c {
		case ' ', '\t', '\r', '\n', 0xef, 0xbb, 0xbf:
			continue
		}
		_ = b.UnreadByte() // it was just read
		return c
	}
	return 0
}

// bounded reads everything, or fails if there are more than limit bytes.
func bounded(from io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(from, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("sent more than %d MiB", limit>>20)
		return nil, &oversized{err}
	}
	return data, err
}

// get requests a list of models.
func (c *Client) get(ctx context.Context, at *url.URL) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, c.fail(Network, "has no valid URL")
	}
	c.authorize(req.Header)
	req.Header.Set("Accept", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return nil, c.status(resp)
	}
	data, err := bounded(resp.Body, maxList)
	if err != nil {
		return nil, c.broken(ctx, err, true)
	}
	return data, nil
}

// redirect follows a redirect within the host of the key, unless it would lose the body.
func (c *Client) redirect(r *http.Request, via []*http.Request) error {
	first := via[0]
	switch {
	case r.URL.Scheme != first.URL.Scheme || r.URL.Host != first.URL.Host:
		return &refusal{"redirects to " + r.URL.Scheme + "://" + r.URL.Host + ", which gets neither the request nor the key: if that is right, write its address as the URL"}
	case r.Method != first.Method:
		return &refusal{"redirects to another path in a way that loses the request: write the right address as the URL"}
	case len(via) > 5:
		return &refusal{"redirects in a circle: look whether the URL is right"}
	}
	return nil
}

// refusal is the error of a redirect that is not followed.
type refusal struct{ what string }

func (r *refusal) Error() string { return r.what }

// failureOf returns the failure that an event or an answer reports, or nil.
func failureOf(o members) error {
	raw := o["error"]
	if text(o["object"]) == "error" { // vLLM
		raw, _ = rawjson.Marshal(o) // cannot fail: the members are valid JSON
	}
	if has(raw) {
		return &failure{bytes.Clone(raw)}
	}
	return nil
}
