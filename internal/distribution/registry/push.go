package registry

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/knack-dev/knack/internal/base/lazyregexp"
	"github.com/knack-dev/knack/skill"
)

var errElsewhere = errors.New("it sends uploads on to another host, which knack does not follow")

// Has reports whether the repository has a blob. It also returns false if the registry does not
// support the request.
func (r *Repository) Has(ctx context.Context, digest string) (bool, error) {
	has := false
	err := r.registry.all.try(ctx, func() (bool, error) {
		resp, err := r.send(ctx, call{method: http.MethodHead, path: "blobs/" + digest, what: "a blob"})
		if err != nil {
			return false, err
		}
		resp.Body.Close()
		switch code := resp.StatusCode; {
		case code == http.StatusOK:
			has = true
		case code == http.StatusNotFound, code == http.StatusMethodNotAllowed, resp.Request.URL.Host != r.registry.address():
			// A host that a registry redirects to may support only GET.
		default:
			return false, r.refused(ctx, resp, "a blob")
		}
		return false, nil
	})
	return has, err
}

// Upload sends a blob, and calls moved with each change of the number of sent bytes. If from is not
// nil, the registry may mount the blob from that repository, which must be in the same registry. In
// that case, taken is true.
func (r *Repository) Upload(ctx context.Context, d Descriptor, what string, content io.ReaderAt, from *Repository, moved func(n int64)) (taken bool, err error) {
	select {
	case r.registry.sending <- struct{}{}:
		defer func() { <-r.registry.sending }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	up := &upload{repo: r, want: d, what: what, content: content, moved: moved}
	if from != nil && from.registry.address() == r.registry.address() {
		up.from = from.name()
	}
	err = r.registry.all.try(ctx, func() (bool, error) {
		var err error
		taken, err = up.attempt(ctx)
		return false, err
	})
	return taken, err
}

// upload is a blob that is being sent.
type upload struct {
	repo    *Repository
	want    Descriptor
	what    string
	content io.ReaderAt
	from    string
	moved   func(n int64)
	// Atomic: the connection may still read a body after its answer arrived.
	sent   atomic.Int64
	unread atomic.Pointer[error] // the error of reading the content
}

func (u *upload) attempt(ctx context.Context) (taken bool, err error) {
	path := "blobs/uploads/"
	if u.from != "" {
		path += "?" + url.Values{"mount": {u.want.Digest}, "from": {u.from}}.Encode()
	}
	resp, err := u.repo.send(ctx, call{method: http.MethodPost, path: path, what: u.what, from: u.from, body: u.nothing})
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusCreated:
		return u.from != "", nil
	case http.StatusAccepted:
	default:
		return false, u.repo.rejected(ctx, resp, u.what)
	}
	to, err := u.repo.location(resp)
	if err != nil {
		return false, err
	}
	query := to.Query()
	query.Set("digest", u.want.Digest)
	to.RawQuery = query.Encode()
	resp, err = u.repo.send(ctx, call{
		method: http.MethodPut, path: to.RequestURI(), what: u.what, size: u.want.Size, body: u.body, from: u.from,
		header: http.Header{"Content-Type": {"application/octet-stream"}},
	})
	if unread := u.unread.Load(); unread != nil {
		return false, *unread
	}
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusCreated, http.StatusNoContent, http.StatusOK:
		return false, nil
	case http.StatusBadRequest, http.StatusNotFound, http.StatusRequestedRangeNotSatisfiable:
		// Wrong bytes arrived, or the registry lost this upload: another one may succeed.
		return false, &temporary{u.repo.rejected(ctx, resp, u.what)}
	}
	return false, u.repo.rejected(ctx, resp, u.what)
}

func (u *upload) nothing() io.ReadCloser { return http.NoBody }

// body returns the content from its start, for each attempt.
func (u *upload) body() io.ReadCloser {
	u.moved(-u.sent.Swap(0))
	return io.NopCloser(&counted{io.NewSectionReader(u.content, 0, u.want.Size), u})
}

type counted struct {
	io.Reader
	up *upload
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.up.sent.Add(int64(n))
	c.up.moved(int64(n))
	if err != nil && err != io.EOF {
		c.up.unread.Store(&err)
	}
	return n, err
}

// location returns the address to which the registry directs an upload. It must be at the registry:
// another host would get the credentials.
func (r *Repository) location(resp *http.Response) (*url.URL, error) {
	to, err := resp.Location()
	if err != nil {
		return nil, fmt.Errorf("%s does not say where an upload for %s goes: is it a registry?", r.registry.host, r.path)
	}
	here := &url.URL{Scheme: r.registry.scheme(), Host: r.registry.address()}
	port := func(u *url.URL) string {
		return cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	}
	if !strings.EqualFold(to.Hostname(), here.Hostname()) || port(to) != port(here) && to.Port() != "" {
		return nil, fmt.Errorf("%s wants an upload for %s to go to %s, another host, which knack does not do: tell the registry's operator", r.registry.host, r.path, to.Host)
	}
	return to, nil
}

// Put sends a manifest under a name: its digest, or a tag. linked reports whether the registry
// lists it as a referrer of its subject.
func (r *Repository) Put(ctx context.Context, name, mediaType string, data []byte) (linked bool, err error) {
	_, notDigest := skill.ParseDigest(name)
	what := "the tag " + name
	if notDigest == nil {
		what = "the manifest " + name
	}
	err = r.registry.all.try(ctx, func() (bool, error) {
		resp, err := r.send(ctx, call{
			method: http.MethodPut, path: "manifests/" + name, what: what, size: int64(len(data)),
			body:   func() io.ReadCloser { return io.NopCloser(bytes.NewReader(data)) },
			header: http.Header{"Content-Type": {mediaType}},
		})
		if err != nil {
			return false, err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusCreated && resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusAccepted {
			return false, r.rejected(ctx, resp, what)
		}
		if got := resp.Header.Get("Docker-Content-Digest"); got != "" && got != skill.DigestOf(data).String() {
			return false, fmt.Errorf("%s took %s of %s and says that its digest is another one: tell the registry's operator", r.registry.host, what, r.path)
		}
		linked = resp.Header.Get("OCI-Subject") != ""
		return false, nil
	})
	return linked, err
}

var plainCode = lazyregexp.New(`^[A-Z][A-Z_]{1,40}$`)

// rejected returns the reason why the registry rejected an upload. It repeats only the code of
// the registry's message.
func (r *Repository) rejected(ctx context.Context, resp *http.Response, what string) error {
	host, status := r.registry.host, strconv.Itoa(resp.StatusCode)+" "+http.StatusText(resp.StatusCode)
	var body struct {
		Errors []struct {
			Code string `json:"code"`
		} `json:"errors"`
	}
	data, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if json.Unmarshal(data, &body) == nil && len(body.Errors) > 0 && plainCode().MatchString(body.Errors[0].Code) {
		status += ", " + body.Errors[0].Code
	}
	failure := func(format string, args ...any) error {
		return &StatusError{Code: resp.StatusCode, message: fmt.Sprintf(format, args...)}
	}
	after := retryAfter(resp)
	switch code := resp.StatusCode; {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return failure("%s", r.denied(ctx, status))
	case code == http.StatusNotFound:
		return failure("%s does not take %s for %s (%s): it may have no such repository, so create that there first", host, what, r.path, status)
	case code == http.StatusMethodNotAllowed, code == http.StatusNotImplemented:
		return failure("%s takes no uploads for %s (%s): it may be read-only, or a mirror of another registry", host, r.path, status)
	case code == http.StatusRequestEntityTooLarge:
		return failure("%s does not take %s of %s, since it is too large (%s): ask the registry's operator for a higher limit", host, what, r.path, status)
	case code == http.StatusInsufficientStorage:
		return failure("%s has no space left for %s of %s (%s): tell the registry's operator", host, what, r.path, status)
	case (code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable) && after > 0:
		return failure("%s wants no more requests for %s (%s): try again then", host, after, status)
	case code == http.StatusTooManyRequests, code == http.StatusRequestTimeout, code >= 500:
		return &temporary{failure("%s answers %q when it is sent %s of %s: try again later", host, status, what, r.path)}
	}
	return failure("%s does not take %s of %s (%s): is it a registry that takes OCI artifacts?", host, what, r.path, status)
}
