package openid

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/lazyregexp"
)

// maxAnswer bounds an answer of the provider, in bytes: a token with 10,000 groups has half of
// that.
const maxAnswer = 1 << 20

var (
	errLarge = errors.New("its answer is larger than 1 MiB")
	errSoon  = errors.New("its keys were fetched a moment ago, and none of them is the token's")
)

// transport is the transport of requests to the provider, with the proxies of the environment.
func transport() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSHandshakeTimeout, t.ResponseHeaderTimeout = askTime, askTime
	t.MaxResponseHeaderBytes, t.MaxConnsPerHost = 64<<10, 32
	return t
}

// bounded bounds the size of answers, and how often the keys are fetched, which is all that is
// fetched besides the description.
type bounded struct {
	next http.RoundTripper
	now  func() time.Time

	mu   sync.Mutex
	last map[string]time.Time
}

// RoundTrip implements [http.RoundTripper].
func (b *bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet && !strings.HasSuffix(r.URL.Path, "/.well-known/openid-configuration") {
		b.mu.Lock()
		now, at := b.now(), r.URL.String()
		last, again := b.last[at]
		soon := again && now.Sub(last) < keyTime
		if !soon {
			b.last = map[string]time.Time{at: now} // there is one provider
		}
		b.mu.Unlock()
		if soon {
			return nil, errSoon
		}
	}
	resp, err := b.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	resp.Body = &boundedBody{resp.Body, maxAnswer}
	return resp, nil
}

type boundedBody struct {
	io.ReadCloser
	left int
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left+1)])
	if n > b.left {
		return b.left, errLarge
	}
	b.left -= n
	return n, err
}

// reasonOf says in words why a request to the provider failed. The errors of the libraries
// repeat what the provider sent.
func reasonOf(err error) string {
	var mismatch *oidc.IssuerMismatchError
	var refusal *oauth2.RetrieveError
	var wait net.Error
	var name *net.DNSError
	var dial *net.OpError
	switch {
	case errors.As(err, &mismatch):
		return "it names another issuer, " + display.Quote(mismatch.Discovered) + "; write sign-in.issuer exactly like that, if it is meant"
	case errors.As(err, &refusal):
		say := "it answered " + strconv.Itoa(refusal.Response.StatusCode)
		if isWord(refusal.ErrorCode) {
			say += ", " + refusal.ErrorCode
		}
		return say
	case errors.Is(err, errLarge):
		return errLarge.Error()
	case errors.Is(err, errSoon):
		return errSoon.Error()
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &wait) && wait.Timeout():
		return "it does not answer in time"
	case errors.As(err, &name):
		return "its name is not known: " + display.Excerpt(name.Name)
	case errors.As(err, &dial):
		return display.Echo(dial.Err.Error())
	}
	say := err.Error()
	if m := status().FindString(say); m != "" { // of a description; the body follows
		return "it answered " + m
	}
	return display.Echo(say)
}

// status matches the status of an answer at the beginning of an error of package oidc.
var status = lazyregexp.New(`^[1-5][0-9][0-9]\b`)

// isWord reports whether a text is an error code of OAuth, which can be shown.
func isWord(text string) bool {
	for _, c := range []byte(text) {
		if c != '_' && (c < 'a' || c > 'z') {
			return false
		}
	}
	return text != "" && len(text) <= 64
}
