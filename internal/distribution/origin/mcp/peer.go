// Package mcp reads skills from servers that have the Skills extension of MCP (SEP-2640). It checks
// each file against the digest in the server's list.
package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/httpfetch"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/skillsext"
)

// Options are the settings of an [Origin].
type Options struct {
	// HTTP returns the client for a server. This package bounds the client's answers.
	HTTP func(address string) (*http.Client, error)
	// Offline forbids requests to servers.
	Offline bool
	// Progress, if set, is called while bytes arrive.
	Progress origin.Progress
	// Login is added to the message about a server that refuses access. If it is "", the message
	// says that knack has no login.
	Login string
	// Warn, if set, is called with warnings about an installed skill.
	Warn func(text string)

	listTime time.Duration // the limit for a list of skills, or of a skill's folders; zero is an hour
}

// within limits the time for a list, which may have many pages.
func (l *library) within(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := l.opts.listTime
	if limit == 0 {
		limit = time.Hour
	}
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("%s: the server's list was not complete after %s", l.ref.Source, limit))
}

// Origin reads servers.
type Origin struct{ opts Options }

var _ origin.Origin = (*Origin)(nil)

// New returns an Origin. It connects to nothing.
func New(o Options) *Origin {
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	return &Origin{o}
}

// Resolve lists the skills of a server. The revision is the SHA-256 over their digests; it is empty
// if the server generates the files of a skill each time.
func (o *Origin) Resolve(ctx context.Context, ref origin.Ref) (origin.Revision, error) {
	l, err := o.Open(ctx, ref, origin.Revision{})
	if err != nil {
		return origin.Revision{}, err
	}
	defer l.Close()
	if _, err := l.Skills(ctx); err != nil {
		return origin.Revision{}, err
	}
	return l.Revision(), nil
}

// Versions returns nil, since a server has no versions.
func (o *Origin) Versions(context.Context, origin.Ref) ([]string, error) { return nil, nil }

// Open connects to a server.
func (o *Origin) Open(ctx context.Context, ref origin.Ref, _ origin.Revision) (origin.Library, error) {
	if o.opts.Offline {
		return nil, fmt.Errorf("%s: %w", ref.Source, origin.ErrOffline)
	}
	via, err := o.opts.HTTP(ref.Location)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ref.Source, err)
	}
	l := &library{ref: ref, opts: o.opts}
	client := *via
	if client.Transport == nil {
		client.Transport = http.DefaultTransport
	}
	client.Transport = &skillsext.Bounded{Next: &watched{next: client.Transport, library: l}, Exceeded: func(err error) { l.update(func() { l.exceeded = err }) }}
	if l.client, err = skillsext.Dial(ctx, "knack", ref.Location, &client); err != nil {
		return nil, l.reason(ctx, err)
	}
	extension, folders := l.client.Declared()
	if !extension {
		_ = l.Close()
		return nil, fmt.Errorf("%s: the server does not have the Skills extension of MCP (%s); ask its operator, or name another source", ref.Source, skillsext.ExtensionID)
	}
	l.folders = folders
	l.update(func() { l.status, l.page = 0, false }) // in the handshake, the server may have refused a newer protocol
	return l, nil
}

// watched records the last answer that was a refusal or a web page. The SDK's error has less
// information, and varies: it depends on which of the SDK's readers ends first.
type watched struct {
	next    http.RoundTripper
	library *library
}

func (w *watched) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header["Idempotency-Key"] = nil // net/http repeats a request with this key if the server has closed the connection; nil is not sent
	resp, err := w.next.RoundTrip(r)
	w.library.update(func() {
		w.library.network = err
		switch {
		case err != nil:
		case resp.StatusCode >= 400:
			w.library.status = resp.StatusCode
		case resp.StatusCode == http.StatusOK && strings.HasPrefix(resp.Header.Get("Content-Type"), "text/") && !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream"):
			w.library.page = true
		}
	})
	return resp, err
}

// accessError is the error of a server that refuses access.
type accessError struct{ message string }

func (e *accessError) Error() string        { return e.message }
func (e *accessError) Is(target error) bool { return target == httpfetch.ErrAccess }

// reason returns an error that explains in plain words why a server did not answer.
func (l *library) reason(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case errors.Is(err, httpfetch.ErrRefused): // a redirect
		return fmt.Errorf("%s: its server leads elsewhere, where knack does not go: %w", l.ref.Source, httpfetch.Plain(err))
	case l.exceeded != nil:
		return fmt.Errorf("%s: %w", l.ref.Source, l.exceeded)
	case l.status == http.StatusUnauthorized, l.status == http.StatusForbidden:
		return &accessError{fmt.Sprintf("%s: the server wants a login (status %d)%s", l.ref.Source, l.status, cmp.Or(l.opts.Login, ", which knack does not have: ask its operator for an archive or a repository of the skills"))}
	case l.status == http.StatusNotFound, l.status == http.StatusMethodNotAllowed, l.status == http.StatusNotImplemented:
		return fmt.Errorf("%s: there is no MCP server at this address (status %d): it often ends with /mcp", l.ref.Source, l.status)
	case l.page, strings.Contains(err.Error(), "unsupported content type"):
		return fmt.Errorf("%s: there is no MCP server at this address: it often ends with /mcp", l.ref.Source)
	case l.status != 0:
		return fmt.Errorf("%s: the server answers with status %d: try again later", l.ref.Source, l.status)
	case l.network != nil:
		return fmt.Errorf("%s: %w", l.ref.Source, httpfetch.Plain(l.network))
	}
	return fmt.Errorf("%s: %s", l.ref.Source, display.Echo(display.OneLine(err.Error())))
}
