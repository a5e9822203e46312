package registry

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/knack-dev/knack/internal/base/httpfetch"
)

// Limits of the attempts of one request, and of the waits between them.
const (
	attempts  = 8
	firstWait = 100 * time.Millisecond
	lastWait  = 5 * time.Second
)

// temporary is a failure that another attempt may avoid.
type temporary struct{ err error }

func (e *temporary) Error() string { return e.err.Error() }
func (e *temporary) Unwrap() error { return e.err }

// StatusError is the error of an answer with an unexpected status.
type StatusError struct {
	Code    int
	message string
	wait    time.Duration
}

// RetryAfter returns the wait that the registry requests, or 0.
func (e *StatusError) RetryAfter() time.Duration { return e.wait }

// Error names the failed request and a fix.
func (e *StatusError) Error() string { return e.message }

// try calls f until it succeeds, fails permanently, or has failed 8 times in a row, or 3 times with
// timeouts. f reports whether it made progress before it failed; if so, try begins to count again.
func (c *Client) try(ctx context.Context, f func() (further bool, err error)) error {
	for n := 0; ; n++ {
		further, err := f()
		if further {
			n = 0
		}
		if network, ok := errors.AsType[net.Error](err); ok && network.Timeout() {
			n += 2 // a timeout has already taken half a minute
		}
		var again *temporary
		if err == nil || ctx.Err() != nil {
			return cmp.Or(ctx.Err(), err)
		}
		if !errors.As(err, &again) || n+1 >= attempts {
			return err
		}
		if err := c.options.Wait(ctx, min(firstWait<<n, lastWait)); err != nil {
			return err
		}
	}
}

// explain returns the error of a request without an answer. The underlying error has the address of
// a redirect, which may contain a signature. So the message has only the host.
func (r *Repository) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var (
		noLogin *loginError
		sign    *signInError
		realm   *realmError
		at      *url.Error
	)
	switch {
	case errors.As(err, &noLogin):
		return fmt.Errorf("%s asks for credentials: %w", r.registry.host, noLogin.err)
	case errors.Is(err, errNoCredentials):
		return &StatusError{Code: http.StatusUnauthorized, message: r.denied(ctx, "401 Unauthorized")}
	case errors.As(err, &sign):
		return r.signIn(ctx, sign)
	case errors.As(err, &at) && !errors.As(err, &realm):
		host := r.registry.host
		if u, bad := url.Parse(at.URL); bad == nil && u.Host != "" {
			host = u.Host
		}
		why := at.Err
		if text, _, quotes := strings.Cut(why.Error(), `"`); quotes && !errors.Is(why, httpfetch.ErrRefused) {
			why = errors.New(strings.TrimRight(text, " :")) // the quoted text comes from the registry and may be a secret
		}
		failure := fmt.Errorf("%s cannot be reached for %s: %w", host, r, why)
		if lasts(at.Err) {
			return failure
		}
		return &temporary{failure}
	}
	// The remaining errors come from the sign-in, and quote addresses that the registry chose.
	if errors.As(err, &realm) {
		return fmt.Errorf("%s cannot be asked about %s: it leads to a sign-in that is refused, since its address is not https, or is one of a private network under another name than the registry's", r.registry.host, r.path)
	}
	return fmt.Errorf("%s cannot be asked about %s, since its sign-in gave no token: tell the registry's operator", r.registry.host, r.path)
}

// broke returns the error of an answer that ended early.
func (r *Repository) broke(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &temporary{fmt.Errorf("%s broke off while it sent %s of %s (%w): try again later", r.registry.host, what, r.path, err)}
}

// lasts reports whether a failure would still exist a second later: an unknown host, a refused
// connection, an invalid certificate, or a refused address.
func lasts(err error) bool {
	var (
		dns    *net.DNSError
		op     *net.OpError
		cert   *tls.CertificateVerificationError
		record tls.RecordHeaderError
		alert  tls.AlertError
	)
	switch {
	case errors.As(err, &dns), errors.As(err, &cert), errors.As(err, &record), errors.As(err, &alert):
		return true
	case errors.As(err, &op):
		return op.Op == "dial"
	}
	var network net.Error
	return errors.Is(err, httpfetch.ErrRefused) || !errors.As(err, &network) && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF)
}

// refused returns the error of an answer with an unexpected status. It does not repeat the
// registry's text, which may quote a secret that was sent.
func (r *Repository) refused(ctx context.Context, resp *http.Response, what string) error {
	status := strconv.Itoa(resp.StatusCode) + " " + http.StatusText(resp.StatusCode)
	host := r.registry.host
	from := resp.Request.URL.Host
	after := retryAfter(resp)
	failure := func(format string, args ...any) error {
		return &StatusError{resp.StatusCode, fmt.Sprintf(format, args...), after}
	}
	switch code := resp.StatusCode; {
	case from != r.registry.address():
		// Each redirect is different, since its address expires.
		return &temporary{failure("%s, to which %s redirects for %s of %s, answers %q: try again later", from, host, what, r.path, status)}
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return failure("%s", r.denied(ctx, status))
	case code == http.StatusNotFound:
		return failure("%s has no %s", r, strings.TrimPrefix(what, "the "))
	case (code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable) && after > 0: // a short wait is already over
		return failure("%s wants no more requests for %s (%s): log in with docker login for more of them, or try again then", host, after, status)
	case code == http.StatusTooManyRequests, code == http.StatusRequestTimeout, code >= 500 && code != http.StatusNotImplemented:
		return &temporary{failure("%s answers %q when it is asked for %s of %s: try again later", host, status, what, r)}
	}
	return failure("%s answers %q when it is asked for %s of %s: is it a registry?", host, status, what, r)
}

// denied returns the message about missing or insufficient credentials.
func (r *Repository) denied(ctx context.Context, status string) string {
	all := r.registry.all
	what := "access to " + r.path
	if r.writes {
		what = "pushing to " + r.path
	}
	session, _ := r.registry.signedIn()
	found, err := session.credentials(ctx)
	switch {
	case err != nil:
		return fmt.Sprintf("%s denies %s (%s): %s", r.registry.host, what, status, err)
	case all.login.File == "":
		return fmt.Sprintf("%s denies %s (%s), or there is no such repository: the home folder is not known, so name the folder of docker's config.json in DOCKER_CONFIG", r.registry.host, what, status)
	case found.Username+found.Password+found.AccessToken+found.RefreshToken == "":
		return fmt.Sprintf("%s denies %s (%s), or there is no such repository: %s has no credentials for it; log in with: docker login %s", r.registry.host, what, status, all.login.File, r.registry.host)
	}
	return fmt.Sprintf("%s denies %s (%s), or there is no such repository: it does not take the credentials that %s has for it; log in again with: docker login %s", r.registry.host, what, status, all.login.File, r.registry.host)
}

// signIn explains why the token service issued no token.
func (r *Repository) signIn(ctx context.Context, e *signInError) error {
	status := strconv.Itoa(e.code) + " " + http.StatusText(e.code)
	switch {
	case e.code == http.StatusTooManyRequests, e.code >= 500:
		return &temporary{&StatusError{e.code, fmt.Sprintf("the sign-in of %s answers %q: try again later", r.registry.host, status), 0}}
	}
	return &StatusError{Code: e.code, message: r.denied(ctx, status)}
}

// retryAfter returns the wait that the registry requests, or 0. A date is compared with the date of
// the answer.
func retryAfter(resp *http.Response) time.Duration {
	now, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	wait, _ := httpfetch.RetryAfter(resp.Header, now)
	return wait
}
