package registry

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/hosts"
	"github.com/knack-dev/knack/internal/base/httpfetch"
	"github.com/knack-dev/knack/internal/distribution/reference"
	"github.com/knack-dev/knack/skill"
)

// registry is a registry as used by one source.
type registry struct {
	all   *Client
	named string // the host of the source, which the person named
	host  string // the host as sources spell it

	unreached error // why no request can be sent, or nil
	client    *http.Client
	mu        sync.Mutex
	session   *session // until the registry refuses it

	places  chan struct{} // concurrent downloads
	sending chan struct{} // concurrent uploads, which may wait for a download
}

// Repository is a repository of a registry.
type Repository struct {
	registry *registry
	path     string
	writes   bool // requests need push access
}

// Writable returns the repository with write access. Its reads and writes use one sign-in with
// push access.
func (r *Repository) Writable() *Repository { return &Repository{r.registry, r.path, true} }

// String returns the registry and the path, as HOST/PATH.
func (r *Repository) String() string { return r.registry.host + "/" + r.path }

// Registry returns the host of the registry as sources spell it.
func (r *Repository) Registry() string { return r.registry.host }

// Path returns the path of the repository in its registry.
func (r *Repository) Path() string { return r.path }

// Named returns the host that the person named. Only this host may be in a private network.
func (r *Repository) Named() string { return r.registry.named }

// hub is the host that serves docker.io.
const hub = "registry-1.docker.io"

// Repository returns a repository of the registry at host. named is the host that the person named
// as the source. The hosts differ if an answer of that registry leads to another registry.
func (c *Client) Repository(named, host, path string) *Repository {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := named + "\n" + host
	reg := c.registries[key]
	if reg == nil {
		reg = &registry{all: c, named: named, host: host, places: make(chan struct{}, AtOnce), sending: make(chan struct{}, AtOnce)}
		source := &registry{host: named}
		reached, err := c.options.Fetcher.For(source.scheme() + "://" + source.address())
		client := http.DefaultClient // never used
		if reg.unreached = err; err == nil {
			client = reached.HTTP()
			if host == named {
				client.Transport = signsIn{client.Transport, c.options.Fetcher, source.address()}
			}
			client.CheckRedirect = staysWithUploads(client.CheckRedirect)
		}
		reg.client = client
		reg.session = reg.newSession()
		c.registries[key] = reg
	}
	return &Repository{registry: reg, path: path}
}

// signsIn lets a registry sign in at another port of its own host, as GitLab's does. The person
// named the host, so it may be in a private network. Only a sign-in may use the other port.
type signsIn struct {
	http.RoundTripper
	fetcher *httpfetch.Fetcher
	address string // of the source
}

// signingIn marks the context of a sign-in request.
type signingIn struct{}

func (t signsIn) RoundTrip(r *http.Request) (*http.Response, error) {
	if host := (&url.URL{Host: t.address}).Hostname(); r.Context().Value(signingIn{}) != nil && strings.EqualFold(r.URL.Hostname(), host) && r.URL.Host != t.address {
		c, err := t.fetcher.For(r.URL.Scheme + "://" + r.URL.Host)
		if err != nil {
			return nil, err
		}
		return c.RoundTrip(r)
	}
	return t.RoundTripper.RoundTrip(r)
}

// staysWithUploads refuses to redirect uploads to another host.
func staysWithUploads(check func(*http.Request, []*http.Request) error) func(*http.Request, []*http.Request) error {
	return func(r *http.Request, via []*http.Request) error {
		if first := via[0]; first.Method != http.MethodGet && first.Method != http.MethodHead && first.URL.Host != r.URL.Host {
			return errElsewhere
		}
		return check(r, via)
	}
}

// address returns the host that serves the registry.
func (r *registry) address() string {
	if r.host == "docker.io" || r.host == "index.docker.io" {
		return hub
	}
	return r.host
}

// scheme returns "http" for this machine, else "https".
func (r *registry) scheme() string {
	name := r.host
	if host, _, err := net.SplitHostPort(name); err == nil {
		name = host
	}
	if hosts.IsLoopback(name) {
		return "http"
	}
	return "https"
}

// Check returns an error for an invalid repository name. It is for names from a registry: names
// from people are checked when they are parsed.
func (r *Repository) Check() error {
	u, err := url.ParseRequestURI("oci://" + r.registry.host)
	if err != nil || u.Host != r.registry.host || u.User != nil || len(r.path) > 255 || !reference.IsRepository(r.path) {
		return errors.New("this is not the name of a repository")
	}
	return nil
}

// accepted lists the media types of readable manifests.
const accepted = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.v2+json, application/vnd.docker.distribution.manifest.list.v2+json"

// call is a request to a repository.
type call struct {
	method, path string
	what         string // the requested or sent object, in words
	header       http.Header
	body         func() io.ReadCloser // nil if nothing is sent
	size         int64                // of the body
	from         string               // another repository of the registry, to read from
}

// request sends one request to the repository and returns an answer with status 200 or 206. The
// parameter what names the requested object in errors.
func (r *Repository) request(ctx context.Context, method, path, what string, header http.Header) (*http.Response, error) {
	resp, err := r.send(ctx, call{method: method, path: path, what: what, header: header})
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusPartialContent {
		return resp, nil
	}
	resp.Body.Close()
	return nil, r.refused(ctx, resp, what)
}

// name returns the path of the repository in requests.
func (r *Repository) name() string {
	if r.registry.address() == hub && !strings.Contains(r.path, "/") {
		return "library/" + r.path
	}
	return r.path
}

// send sends a request and returns its answer with any status. If the registry refuses the earlier
// credentials and the user has other ones now, it repeats the request once.
func (r *Repository) send(ctx context.Context, c call) (*http.Response, error) {
	if reg := r.registry; reg.unreached != nil {
		return nil, fmt.Errorf("%s cannot be reached: %w", reg.host, reg.unreached)
	}
	current, earlier := r.registry.signedIn()
	resp, err := r.sendIn(ctx, current, c)
	if code := r.refusal(resp, err); earlier && code != 0 {
		if next := r.registry.renew(ctx, current, code); next != nil {
			if resp != nil {
				resp.Body.Close()
			}
			resp, err = r.sendIn(ctx, next, c)
		}
	}
	if err != nil {
		return nil, r.explain(ctx, err)
	}
	return resp, nil
}

// sendIn sends a request in a session. It returns the error unexplained.
func (r *Repository) sendIn(ctx context.Context, s *session, c call) (*http.Response, error) {
	reg := r.registry
	host, path := reg.address(), c.path
	if !strings.HasPrefix(path, "/") { // the next page of a list and an upload have a complete path
		path = "/v2/" + r.name() + "/" + path
	}
	scopes := []string{scopeOf(r.name(), r.writes)}
	if c.from != "" {
		scopes = append(scopes, scopeOf(c.from, false))
	}
	req, err := http.NewRequestWithContext(ctx, c.method, reg.scheme()+"://"+host+path, nil)
	if err != nil {
		return nil, fmt.Errorf("the address of %s cannot be made: %w", r, err)
	}
	for key, values := range c.header {
		req.Header[key] = values
	}
	if c.body != nil {
		req.Body, req.ContentLength = c.body(), c.size
		req.GetBody = func() (io.ReadCloser, error) { return c.body(), nil }
		if c.size == 0 {
			req.Body, req.GetBody = http.NoBody, nil
		}
	}
	return s.do(req, scopes)
}

// Resolve returns the digest of the manifest with a tag.
func (r *Repository) Resolve(ctx context.Context, tag string) (digest string, err error) {
	err = r.registry.all.try(ctx, func() (bool, error) {
		resp, err := r.request(ctx, http.MethodHead, "manifests/"+tag, "the tag "+display.Quote(tag), http.Header{"Accept": {accepted}})
		if err != nil {
			return false, err
		}
		resp.Body.Close()
		digest = resp.Header.Get("Docker-Content-Digest")
		return false, nil
	})
	if status, ok := errors.AsType[*StatusError](err); ok && status.Code == http.StatusMethodNotAllowed {
		err, digest = nil, ""
	}
	if err != nil {
		return "", err
	}
	if _, bad := skill.ParseDigest(digest); bad == nil {
		return digest, nil
	}
	// Some registries send no digest with HEAD. Compute it from the bytes of the manifest.
	m, err := r.Manifest(ctx, tag)
	if err != nil {
		return "", err
	}
	return m.Digest, nil
}

// Manifest returns the manifest with a tag or a digest. It checks that the bytes have the digest.
func (r *Repository) Manifest(ctx context.Context, name string) (*Manifest, error) {
	_, notDigest := skill.ParseDigest(name)
	what := "the tag " + display.Quote(name)
	if notDigest == nil {
		what = "the manifest " + name
	}
	var data []byte
	var mediaType string
	err := r.registry.all.try(ctx, func() (bool, error) {
		resp, err := r.request(ctx, http.MethodGet, "manifests/"+name, what, http.Header{"Accept": {accepted}})
		if err != nil {
			return false, err
		}
		defer resp.Body.Close()
		mediaType, _, _ = mime.ParseMediaType(resp.Header.Get("Content-Type"))
		data, err = io.ReadAll(io.LimitReader(resp.Body, MaxManifest+1))
		switch {
		case err != nil:
			return false, r.broke(ctx, what, err)
		case len(data) > MaxManifest:
			return false, tooLarge("%s of %s has more than %d MiB: is this an artifact of skills?", what, r, MaxManifest>>20)
		case notDigest == nil && skill.DigestOf(data).String() != name:
			return false, &temporary{fmt.Errorf("%s sent other bytes for %s than this digest says, 8 times: try again later, or tell the registry's operator", r, what)}
		}
		return false, nil
	})
	if err != nil {
		return nil, err
	}
	m, err := ParseManifest(data, skill.Digest(sha256.Sum256(data)).String())
	if err == nil && m.MediaType == "" {
		m.MediaType = mediaType
	}
	return m, err
}

// Tags returns the tags of the repository.
func (r *Repository) Tags(ctx context.Context) ([]string, error) {
	var tags []string
	all := 0 // including signature tags
	next := "tags/list?n=1000"
	for pages := 0; next != ""; pages++ {
		if all > maxTags || pages == maxPages {
			return nil, fmt.Errorf("%s has more than %s tags, or %s pages of them: name the one you want", r, display.Thousands(maxTags), display.Thousands(maxPages))
		}
		var page struct {
			Tags []string `json:"tags"`
		}
		path := next
		err := r.registry.all.try(ctx, func() (bool, error) {
			resp, err := r.request(ctx, http.MethodGet, path, "the list of its tags", nil)
			if err != nil {
				return false, err
			}
			defer resp.Body.Close()
			data, err := io.ReadAll(io.LimitReader(resp.Body, MaxManifest))
			if err != nil {
				return false, r.broke(ctx, "the list of its tags", err)
			}
			page.Tags = nil
			if err := json.Unmarshal(data, &page); err != nil {
				return false, fmt.Errorf("the list of the tags of %s is not JSON: tell the registry's operator", r)
			}
			next, err = nextPage(resp)
			return false, err
		})
		if err != nil {
			return nil, err
		}
		if len(page.Tags) == 0 || next == path {
			break
		}
		all += len(page.Tags)
		for _, tag := range page.Tags {
			if !strings.HasPrefix(tag, "sha256-") {
				tags = append(tags, tag)
			}
		}
	}
	return tags, nil
}

// nextPage returns the path of the next page, or "". A next page at another host is an error.
func nextPage(resp *http.Response) (string, error) {
	link, rest, ok := strings.Cut(strings.TrimPrefix(resp.Header.Get("Link"), "<"), ">")
	if !ok || !strings.Contains(rest, "next") {
		return "", nil
	}
	at, err := resp.Request.URL.Parse(link)
	if err != nil || at.Host != resp.Request.URL.Host {
		return "", errors.New("the list of tags goes on at another host, which knack does not follow: name the tag you want")
	}
	return at.RequestURI(), nil
}
