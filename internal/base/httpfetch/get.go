package httpfetch

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/knack-dev/knack/internal/base/display"
)

// Answer is the answer to a request for a file.
type Answer struct {
	// Body has the served bytes. The caller bounds and closes it.
	Body io.ReadCloser
	Size int64 // -1 if unknown
	// URL is the address of the bytes after redirects.
	URL *url.URL
}

// StatusError is the error for an answer with a failure status.
type StatusError struct {
	Status int
	Wait   time.Duration // the wait that the server asks for, or 0
	where  string
	login  string
}

// ErrAccess matches the error for a server that refuses access, with or without credentials.
var ErrAccess = errors.New("the server refuses access")

// Error describes the failure in words.
func (e *StatusError) Error() string {
	switch {
	case e.Wait > 0:
		return fmt.Sprintf("%s: the server asks to wait %s; try again then", e.where, e.Wait.Round(time.Second))
	case e.Status == http.StatusUnauthorized, e.Status == http.StatusForbidden:
		return fmt.Sprintf("%s: the server refuses access (%d)%s", e.where, e.Status, cmp.Or(e.login, "; knack sends no credentials there"))
	case e.Status == http.StatusNotFound, e.Status == http.StatusGone:
		return fmt.Sprintf("%s: there is no such file (%d)", e.where, e.Status)
	}
	return fmt.Sprintf("%s: the server answers %d %s", e.where, e.Status, http.StatusText(e.Status))
}

// Is makes an error with a wait match [ErrBusy], and a refused access match [ErrAccess].
func (e *StatusError) Is(target error) bool {
	return target == ErrBusy && e.Wait > 0 || target == ErrAccess && (e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden)
}

// Get requests a file. Errors never contain credentials or the query of the address. If the server
// answers with any status but 200, the error is a [*StatusError].
func (c *Client) Get(ctx context.Context, at *url.URL) (*Answer, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, refuse("the address is not an https: address")
	}
	resp, err := c.HTTP().Do(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Shown(at), Plain(err))
	}
	if resp.StatusCode == http.StatusOK {
		return &Answer{Body: resp.Body, Size: resp.ContentLength, URL: resp.Request.URL}, nil
	}
	resp.Body.Close()
	failed := &StatusError{Status: resp.StatusCode, where: Shown(resp.Request.URL), login: c.options.Login}
	if wait, ok := RetryAfter(resp.Header, time.Now()); ok && (failed.Status == http.StatusTooManyRequests || failed.Status == http.StatusServiceUnavailable) {
		failed.Wait = wait
	}
	return nil, failed
}

// RetryAfter returns the wait that the server asks for, or 0.
func (e *StatusError) RetryAfter() time.Duration { return e.Wait }

// Shown returns an address for people. It leaves out credentials and the query, which may be a
// signature.
func Shown(u *url.URL) string {
	return display.Excerpt((&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String())
}

// Plain returns the cause of a failed request in plain words, without the address that net/http
// adds.
func Plain(err error) error {
	var at *url.Error
	for errors.As(err, &at) {
		err = at.Err
	}
	var name *net.DNSError
	var unknown x509.UnknownAuthorityError
	var other x509.HostnameError
	var invalid x509.CertificateInvalidError
	var alert tls.AlertError
	var timeout net.Error
	switch {
	case errors.Is(err, ErrRefused):
		var r *refusal
		errors.As(err, &r)
		return r
	case errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &name) && name.IsNotFound:
		return fmt.Errorf("there is no host %s", display.Quote(name.Name))
	case errors.As(err, &unknown):
		return errors.New("this machine does not know the authority that signed the certificate; SSL_CERT_FILE can name a file with more authorities")
	case errors.As(err, &other):
		return errors.New("the certificate is for another host")
	case errors.As(err, &invalid):
		return errors.New("the certificate is not valid: " + invalid.Error())
	case errors.As(err, &alert):
		return errors.New("the server offers no TLS that knack accepts, 1.2 or newer: " + alert.Error())
	case errors.As(err, &timeout) && timeout.Timeout():
		return errors.New("the server does not answer")
	}
	return err
}
