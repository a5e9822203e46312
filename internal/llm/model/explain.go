package model

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/httpfetch"
	"github.com/knack-dev/knack/internal/base/lazyregexp"
)

// This file explains why a request got no answer.

var (
	errPage = errors.New("it is a web page")

	tooLong = lazyregexp.New(`(?i)context[ _](?:length|size|window)|maximum context|prompt is too long|too many tokens|token count|exceed_context_size|too large for model`)
	noModel = lazyregexp.New(`(?i)model.{0,80}(?:not[ _]found|not exist)|(?:no such|invalid|unknown|not a valid) model|model_not_found`)
	keyWord = lazyregexp.New(`(?i)api[ _-]?key`)
)

// failure is an error object that an endpoint sends instead of an answer.
type failure struct{ raw json.RawMessage }

func (f *failure) Error() string { return "the endpoint reports a failure" }

// oversized is the error of an answer that exceeds its bound.
type oversized struct{ error }

func isFailure(err error) bool {
	var f *failure
	return errors.As(err, &f)
}

// status returns the error of a response without an answer.
func (c *Client) status(resp *http.Response) *Error {
	data, _ := io.ReadAll(io.LimitReader(resp.Body, maxFailure)) // a partial body is enough
	e := c.fail("", "")
	e.Status = resp.StatusCode
	e.Wait, _ = httpfetch.RetryAfter(resp.Header, time.Now())
	if resp.StatusCode/100 == 3 {
		e.Category, e.what = Network, "redirects to no address: look whether the URL is right"
		return e
	}
	kind, message := reported(data)
	c.classify(e, kind, message, string(data))
	e.again = (e.Category == Server || e.Category == Rate) && !strings.Contains(kind, "insufficient_quota")
	return e
}

// classify sets the category from the status, the endpoint's kind of failure, and its message.
func (c *Client) classify(e *Error, kind, message, body string) {
	e.body = c.redact(body)
	e.Message = c.redact(oneLine(c.redact(message))) // joining lines may reveal a secret that was split
	all := kind + " " + message
	said := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(strings.ToLower(kind), w) })
	}
	request := e.Status == 0 || e.Status == http.StatusBadRequest || e.Status == http.StatusNotFound || e.Status == http.StatusRequestEntityTooLarge || e.Status == http.StatusUnprocessableEntity
	switch {
	case request && tooLong().MatchString(all), e.Status == http.StatusRequestEntityTooLarge:
		e.Category, e.Tokens = TooLong, tokensIn(message, body)
	case request && noModel().MatchString(all), e.Status == http.StatusNotFound, e.Status == 0 && said("not_found"):
		e.Category = NotFound
	case e.Status == http.StatusUnauthorized, e.Status == http.StatusForbidden, (e.Status == http.StatusBadRequest || e.Status == 0) && keyWord().MatchString(all), e.Status == 0 && said("auth", "permission"):
		e.Category = Auth
	case e.Status == http.StatusTooManyRequests, e.Status == 0 && said("rate_limit", "quota", "exhausted"):
		e.Category = Rate
	case e.Status == http.StatusRequestTimeout, e.Status == http.StatusConflict, e.Status >= 500, e.Status == 0 && !said("invalid"):
		e.Category = Server
	default:
		e.Category = Refused
	}
}

// reported returns the kind of the endpoint's failure, and its message.
func reported(data []byte) (kind, message string) {
	data = bytes.TrimSpace(data)
	if all := list(data); len(all) > 0 {
		data = all[0] // Gemini writes a list
	}
	o := object(data)
	if o == nil {
		var s string
		switch {
		case json.Unmarshal(data, &s) == nil:
			return "", s
		case !utf8.Valid(data), bytes.HasPrefix(data, []byte("<")), bytes.HasPrefix(data, []byte("{")), bytes.HasPrefix(data, []byte("[")):
			return "", "" // a web page, or a cut text
		}
		return "", string(data)
	}
	if inner := object(o["error"]); inner != nil {
		o = inner
	}
	for _, key := range []string{"type", "code", "status"} {
		kind += " " + cmp.Or(text(o[key]), string(o[key]))
	}
	for _, key := range []string{"message", "error", "detail", "msg"} {
		if message := messageIn(o[key]); message != "" {
			return kind, message
		}
	}
	return kind, ""
}

// messageIn returns a message, or the messages of a list of complaints. It skips the request, which
// such a list may repeat.
func messageIn(raw json.RawMessage) string {
	if s := text(raw); s != "" {
		return s
	}
	if inner := object(raw); inner != nil {
		return cmp.Or(messageIn(inner["message"]), messageIn(inner["detail"]))
	}
	var all []string
	for _, item := range list(raw) {
		o := object(item)
		var where []string
		for _, part := range list(o["loc"]) {
			where = append(where, cmp.Or(text(part), string(part)))
		}
		if what := cmp.Or(text(o["msg"]), text(o["message"])); what != "" {
			all = append(all, strings.TrimPrefix(strings.Join(where, ".")+": "+what, ": "))
		}
	}
	return strings.Join(all, "; ")
}

// oneLine cuts a message to one line of at most 500 characters.
func oneLine(s string) string {
	s = display.OneLine(display.CutBytes(s, 16*maxMessage))
	if r := []rune(s); len(r) > maxMessage {
		s = string(r[:maxMessage-1]) + "…"
	}
	return s
}

// tokensIn returns the number of tokens of a conversation that is too long: the larger of two
// numbers in the error, since the smaller one is the limit.
func tokensIn(message, body string) int {
	if n, err := strconv.Atoi(string(object(object(json.RawMessage(body))["error"])["n_prompt_tokens"])); err == nil {
		return n // llama.cpp
	}
	var all []int
	for _, word := range strings.Fields(message) {
		word = strings.ReplaceAll(strings.Trim(word, "().,;:"), ",", "")
		if n, err := strconv.Atoi(word); err == nil && n > 0 {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	if all = slices.Compact(all); len(all) < 2 {
		return 0
	}
	return all[len(all)-1]
}

// unreachable returns the error of a request without a response.
func (c *Client) unreachable(ctx context.Context, err error) *Error {
	var (
		refused *refusal
		name    *net.DNSError
		dial    *net.OpError
		cert    *tls.CertificateVerificationError
		late    net.Error
		at      *url.Error
	)
	if errors.As(err, &at) {
		err = at.Err // the rest is the address, which may have a secret
	}
	switch {
	case errors.Is(context.Cause(ctx), errSilent):
		return c.silent(false)
	case errors.As(err, &refused):
		return c.fail(Network, refused.what)
	case errors.As(err, &name) && name.IsNotFound:
		return c.fail(Network, "cannot be reached: there is no such host; look whether the URL is right")
	case strings.HasPrefix(err.Error(), "failed to parse Location header"): // of net/http, which has no type for it
		return c.fail(Network, "redirects to no address: look whether the URL is right")
	case errors.Is(err, http.ErrSchemeMismatch):
		return c.fail(Network, "speaks no TLS: write http:// in its URL")
	case errors.As(err, &cert):
		return c.fail(Network, "has a certificate that this machine does not trust: "+c.redact(oneLine(cert.Err.Error())))
	case errors.As(err, &dial) && dial.Op == "proxyconnect":
		return c.fail(Network, "cannot be reached, because the proxy cannot: "+c.redact(oneLine(dial.Err.Error())))
	case errors.As(err, &dial) && dial.Op == "dial":
		return c.fail(Network, "cannot be reached: "+c.redact(oneLine(dial.Err.Error()))+"; look whether it runs, and whether the URL is right")
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &late) && late.Timeout():
		return c.fail(Network, "does not answer: look whether it runs")
	case strings.Contains(err.Error(), "malformed HTTP"): // net/http has no type for it either
		return c.fail(Network, "does not speak HTTP: look whether the URL is right")
	case strings.HasPrefix(err.Error(), "invalid proxy"): // its address may have a password
		return c.fail(Network, "cannot be reached, because the proxy has no valid address")
	}
	e := c.fail(Network, "closed the connection without an answer: try again later")
	e.again = true
	return e
}

func (c *Client) silent(began bool) *Error {
	if began {
		return c.fail(Network, fmt.Sprintf("has sent nothing for %.0f seconds in the middle of its answer: try again", silence.Seconds()))
	}
	return c.fail(Network, fmt.Sprintf("has sent nothing for %.0f minutes: look whether the model is loaded, and try again", firstPatience.Minutes()))
}

// broken returns the error of a response with no answer, or only a part of one.
func (c *Client) broken(ctx context.Context, err error, began bool) *Error {
	var (
		reports *failure
		large   *oversized
		syntax  *json.SyntaxError
	)
	switch {
	case errors.Is(context.Cause(ctx), errSilent):
		return c.silent(began)
	case errors.As(err, &reports):
		e := c.fail("", "")
		if code, err := strconv.Atoi(string(object(reports.raw)["code"])); err == nil && code >= 400 && code < 600 {
			e.Status = code
		}
		kind, message := reported(reports.raw)
		c.classify(e, kind, message, string(reports.raw))
		return e
	case errors.Is(err, errPage):
		return c.fail(Shape, "answers with a web page: look whether the URL is right; a URL of Chat Completions usually ends in /v1")
	case errors.As(err, &large), errors.Is(err, errLongEvent), errors.Is(err, errLongStream), errors.Is(err, errLarge), errors.Is(err, errNameless), errors.Is(err, errManyCalls):
		return c.fail(Shape, err.Error())
	case errors.Is(err, errBroken):
		return c.fail(Network, "sent an answer with a damaged piece: try again, or look at the proxy in between")
	case errors.As(err, &syntax), errors.Is(err, errNoModel), errors.Is(err, errNothing) && began:
		return c.fail(Shape, "sent something that is not an answer of a model: look whether the URL is right")
	case began:
		return c.fail(Network, "broke off in the middle of its answer: try again")
	}
	e := c.fail(Network, "closed the connection without an answer: try again later")
	e.again = true
	return e
}
