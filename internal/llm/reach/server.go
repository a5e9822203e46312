package reach

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/knack-dev/knack/internal/base/display"
)

// Watched passes requests on, and records the properties of the last answer that explain why a
// client does not understand it.
type Watched struct {
	Next http.RoundTripper

	mu   sync.Mutex
	last answer
}

// answer has the properties of an answer that explain a failure.
type answer struct {
	status   int
	html     bool
	wantsTLS bool   // the server said that it speaks HTTPS
	location string // of a redirect
}

// maxExplanation bounds the part of a refusal that is read for its reason.
const maxExplanation = 512

// RoundTrip sends a request and records the properties of its answer.
func (w *Watched) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := w.Next.RoundTrip(r)
	if err != nil || r.Method != http.MethodPost { // not the DELETE that ends a session
		return resp, err
	}
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	got := answer{status: resp.StatusCode, html: strings.EqualFold(strings.TrimSpace(kind), "text/html"), location: resp.Header.Get("Location")}
	if resp.StatusCode == http.StatusBadRequest && r.URL.Scheme == "http" {
		start, _ := io.ReadAll(io.LimitReader(resp.Body, maxExplanation))
		got.wantsTLS = bytes.Contains(start, []byte("HTTPS"))
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(start), resp.Body), resp.Body}
	}
	w.mu.Lock()
	w.last = got
	w.mu.Unlock()
	return resp, nil
}

// Failure explains why the server at u does not answer as an MCP server. what is "" if the error
// explains it best. token reports whether the token in the variable was sent.
func (w *Watched) Failure(u *url.URL, err error, token bool, variable string) (what, fix string) {
	if what, fix = unreached(u, err); what != "" {
		return what, fix
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	what, fix = w.last.failure(u, token, variable)
	if what == "" && w.last.status/100 == 2 && foreign(err) {
		return "the server at this address is not an MCP server", "check the host, the port and the path"
	}
	return what, fix
}

// foreign reports whether an error of the SDK means that the answer is not an MCP message. The
// error has no type, so foreign compares its text.
func foreign(err error) bool {
	text := err.Error()
	return strings.Contains(text, "failed to decode response") || strings.Contains(text, "unsupported content type") ||
		strings.Contains(text, "client is closing") // such an answer can close the client first
}

// failure explains an answer that is not from an MCP server.
func (a answer) failure(u *url.URL, token bool, variable string) (what, fix string) {
	status := func(text string) string { return fmt.Sprintf("%s (%d)", text, a.status) }
	switch {
	case a.wantsTLS:
		return "the server speaks HTTPS there", "try " + other(u, "https", u.Path)
	case a.status == http.StatusUnauthorized && token:
		return status("the server refuses the token in " + variable), "check the token; the server's administrator can give you another"
	case a.status == http.StatusUnauthorized:
		return status("the server requires a token"), "set the variable " + variable + " to the token"
	case a.status == http.StatusForbidden:
		return status("the server refuses this client"), "a knack server admits the names that --allow-host gives; the token may have no access"
	case a.status == http.StatusNotFound || a.status == http.StatusMethodNotAllowed || a.status == http.StatusNotImplemented || a.html && a.status < 300:
		what = status("no MCP server is at this path")
		if a.html && a.status < 300 {
			what = "a web page is at this address, not an MCP server"
		}
		if u.Path == "/mcp" {
			return what, "check the host, the port and the path"
		}
		return what, "try " + other(u, u.Scheme, "/mcp")
	case a.status >= 300 && a.status < 400:
		to := "another address"
		if at, err := u.Parse(a.location); a.location != "" && err == nil {
			to = display.RedactURI(at.String())
		}
		return status("the server redirects to " + to), "check that address instead if you trust it"
	case a.status == http.StatusTooManyRequests:
		return status("the server limits how often clients may ask"), "try again later"
	case a.status >= 500:
		return status("the server fails"), "see its log, or try again later"
	}
	return "", ""
}

// other returns the address with another scheme and path, without parts that may be secret.
func other(u *url.URL, scheme, path string) string {
	return (&url.URL{Scheme: scheme, Host: u.Host, Path: path}).String()
}

// unreached explains why no answer came from the server at u, or returns "".
func unreached(u *url.URL, err error) (what, fix string) {
	var (
		dns     *net.DNSError
		record  tls.RecordHeaderError
		unknown x509.UnknownAuthorityError
		invalid x509.CertificateInvalidError
		name    x509.HostnameError
		timeout net.Error
	)
	const port = "start the server, or check the host and the port"
	switch text := err.Error(); {
	case errors.As(err, &dns):
		return lookup(u.Hostname(), err)
	case isErrno(err, syscall.ECONNREFUSED, 10061):
		return "no server listens on this port: the connection was refused", port
	case isErrno(err, syscall.EHOSTUNREACH, 10065), isErrno(err, syscall.ENETUNREACH, 10051):
		return "this machine has no way to that host", "check the network and the address"
	case errors.As(err, &name):
		return "the server's certificate is not for " + u.Hostname() + certified(name.Certificate), "use a name of the certificate, or give the server one for this name"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the server's certificate is " + when(invalid.Cert, time.Now()), "renew it at the server; if it is valid, correct the clock of this machine"
	case errors.As(err, &unknown):
		return "the server's certificate is not signed by an authority that this machine trusts", "install the authority's certificate here (on Linux, SSL_CERT_FILE can name it)"
	case errors.As(err, &record), strings.Contains(text, "server gave HTTP response to HTTPS client"): // the second has no type
		return "the server does not speak HTTPS there", "try " + other(u, "http", u.Path)
	case strings.Contains(text, `malformed HTTP response "\x15\x03`): // a TLS alert
		return "the server speaks HTTPS there", "try " + other(u, "https", u.Path)
	case strings.Contains(text, "malformed HTTP response"):
		return "the server does not speak HTTP there", port
	case isErrno(err, syscall.ECONNRESET, 10054), isErrno(err, syscall.EPIPE, 10053), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		strings.Contains(text, "server closed idle connection"): // before the request was written
		return "the server closed the connection without an answer", "check the port; a server with TLS has an address that begins with https://"
	case isErrno(err, syscall.ETIMEDOUT, 10060), errors.As(err, &timeout) && timeout.Timeout():
		return "no answer came from that host in time", port + "; a firewall may be in between"
	}
	return "", ""
}

// maxNames bounds the names of a certificate in a message.
const maxNames = 3

// certified returns the names in a certificate, as the end of a message.
func certified(c *x509.Certificate) string {
	if c == nil {
		return ""
	}
	names := append([]string{}, c.DNSNames...)
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	if len(names) == 0 {
		return ""
	}
	if len(names) > maxNames {
		names = append(names[:maxNames], "…")
	}
	return ", but for " + display.Echo(strings.Join(names, ", "))
}

// when explains why a certificate is not valid now: it is too early or too late.
func when(c *x509.Certificate, now time.Time) string {
	if now.Before(c.NotBefore) {
		return "not valid before " + c.NotBefore.UTC().Format(time.DateOnly)
	}
	return "no longer valid: it ended on " + c.NotAfter.UTC().Format(time.DateOnly)
}
