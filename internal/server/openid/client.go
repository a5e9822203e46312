package openid

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/jsonfile"
	"github.com/knack-dev/knack/internal/base/lazyregexp"
)

// maxAnswer bounds an answer of the provider, in bytes. A token with 10,000 groups has half that
// size.
const maxAnswer = 1 << 20

var (
	errKeys  = errors.New("its keys are not JSON as a key set has it")
	errLarge = errors.New("its answer is larger than 1 MiB")
	errSoon  = errors.New("its keys were fetched a moment ago, and none of them is the token's")
)

// transport returns the transport for requests to the provider. It uses the proxies that the
// environment configures.
func transport() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSHandshakeTimeout, t.ResponseHeaderTimeout = askTime, askTime
	t.MaxResponseHeaderBytes, t.MaxConnsPerHost = 64<<10, 32
	return t
}

// bounded limits the size of answers and the rate at which the keys are fetched. It takes every GET
// request, except for the description, for a fetch of the keys. It passes on only the keys for
// signatures.
type bounded struct {
	next http.RoundTripper
	now  func() time.Time

	mu   sync.Mutex
	last map[string]time.Time
}

// RoundTrip implements [http.RoundTripper].
func (b *bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	keys := r.Method == http.MethodGet && !strings.HasSuffix(r.URL.Path, "/.well-known/openid-configuration")
	if keys {
		b.mu.Lock()
		now, at := b.now(), r.URL.String()
		last, again := b.last[at]
		soon := again && now.Sub(last) < keyTime
		if !soon {
			b.last = map[string]time.Time{at: now} // only one entry, since there is one provider
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
	if keys && resp.StatusCode == http.StatusOK {
		return resp, onlySigning(resp)
	}
	return resp, nil
}

// onlySigning removes all keys that are not for signatures from an answer (RFC 7517, sections 4.2
// and 4.3).
func onlySigning(resp *http.Response) error {
	data, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return err
	}
	var all struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := jsonfile.Unmarshal(data, &all); err != nil {
		return errKeys
	}
	all.Keys = slices.DeleteFunc(all.Keys, func(key json.RawMessage) bool {
		var k struct {
			Use  string   `json:"use"`
			Ops  []string `json:"key_ops"`
			Type string   `json:"kty"`
			ID   string   `json:"kid"`
			Alg  string   `json:"alg"`
		}
		return jsonfile.Unmarshal(key, &k) != nil || k.Use != "" && k.Use != "sig" || k.Ops != nil && !slices.Contains(k.Ops, "verify")
	})
	if data, err = json.Marshal(all); err != nil {
		return err
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
	return nil
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

// reasonOf explains why a request to the provider failed. It does not repeat the libraries' errors,
// which contain the provider's answer.
func reasonOf(err error) string {
	var mismatch *oidc.IssuerMismatchError
	var refusal *oauth2.RetrieveError
	var wait net.Error
	var name *net.DNSError
	var dial *net.OpError
	switch {
	case errors.As(err, &mismatch):
		return "it names another issuer, " + display.Quote(mismatch.Discovered) + "; if you mean that one, write sign-in.issuer exactly so"
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
	case errors.Is(err, errKeys):
		return errKeys.Error()
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &wait) && wait.Timeout():
		return "it does not answer in time"
	case errors.As(err, &name):
		return "its name is not known: " + display.Excerpt(name.Name)
	case errors.As(err, &dial):
		return display.Echo(dial.Err.Error())
	}
	say := err.Error()
	if m := status().FindString(say); m != "" { // the description failed; the body follows the status
		return "it answered " + m
	}
	return display.Echo(say)
}

// status matches the status of an answer at the beginning of an error of package oidc.
var status = lazyregexp.New(`^[1-5][0-9][0-9]\b`)

// isWord reports whether a string is an OAuth error code, which is safe to display.
func isWord(text string) bool {
	for _, c := range []byte(text) {
		if c != '_' && (c < 'a' || c > 'z') {
			return false
		}
	}
	return text != "" && len(text) <= 64
}
