package oci

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"

	orasregistry "oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/knack-dev/knack/internal/display"
	"github.com/knack-dev/knack/internal/fetch"
	"github.com/knack-dev/knack/internal/lazyregexp"
	"github.com/knack-dev/knack/origin/oci/internal/login"
	"github.com/knack-dev/knack/skill"
)

// registry is a registry as one source reaches it.
type registry struct {
	origin *Origin
	named  string // the host of the source, which the person named
	host   string // the host as sources spell it
	client *auth.Client

	unreached error // why no request is sent

	credentials func(ctx context.Context) (login.Credentials, error) // asked for once
	places      chan struct{}                                        // requests under way
}

// repository is a repository of a registry.
type repository struct {
	registry *registry
	path     string
}

func (r *repository) String() string { return r.registry.host + "/" + r.path }

// hub is the host that answers for docker.io.
const hub = "registry-1.docker.io"

// repository returns a repository of a source on the host named.
func (o *Origin) repository(named, host, path string) *repository {
	o.mu.Lock()
	defer o.mu.Unlock()
	key := named + "\n" + host
	reg := o.registries[key]
	if reg == nil {
		reg = &registry{origin: o, named: named, host: host, places: make(chan struct{}, atOnce)}
		var mu sync.Mutex
		var asked bool
		var found login.Credentials
		reg.credentials = func(ctx context.Context) (login.Credentials, error) {
			mu.Lock()
			defer mu.Unlock()
			if asked {
				return found, nil
			}
			var err error
			if found, err = o.login.Find(ctx, reg.address()); err != nil {
				return found, &loginError{err}
			}
			asked = true
			return found, nil
		}
		source := &registry{host: named}
		c, err := o.options.Fetcher.For(source.scheme() + "://" + source.address())
		client := http.DefaultClient // which is not used
		if reg.unreached = err; err == nil {
			client = c.HTTP()
			client.Transport = signsIn{client.Transport, o.options.Fetcher, source.address()}
		}
		reg.client = &auth.Client{
			Client:   client,
			Header:   http.Header{"User-Agent": {"knack"}},
			Cache:    auth.NewCache(),
			ClientID: "knack",
			Credential: func(ctx context.Context, _ string) (auth.Credential, error) {
				c, err := reg.credentials(ctx)
				return auth.Credential(c), err
			},
		}
		o.registries[key] = reg
	}
	return &repository{reg, path}
}

// signsIn lets a registry sign in at another port of its own host, as GitLab's does. The person
// named the host, so it may be one of a private network. A redirect does not lead there, since
// the client of the source judges it before.
type signsIn struct {
	http.RoundTripper
	fetcher *fetch.Fetcher
	address string // of the source
}

func (t signsIn) RoundTrip(r *http.Request) (*http.Response, error) {
	if host := (&url.URL{Host: t.address}).Hostname(); strings.EqualFold(r.URL.Hostname(), host) && r.URL.Host != t.address {
		c, err := t.fetcher.For(r.URL.Scheme + "://" + r.URL.Host)
		if err != nil {
			return nil, err
		}
		return c.RoundTrip(r)
	}
	return t.RoundTripper.RoundTrip(r)
}

// loginError is a failure to find credentials.
type loginError struct{ err error }

func (e *loginError) Error() string { return e.err.Error() }

// address is the host that answers for the registry.
func (r *registry) address() string {
	if r.host == "docker.io" || r.host == "index.docker.io" {
		return hub
	}
	return r.host
}

// scheme is https, but http to this machine.
func (r *registry) scheme() string {
	name := r.host
	if host, _, err := net.SplitHostPort(name); err == nil {
		name = host
	}
	if ip := net.ParseIP(strings.Trim(name, "[]")); name == "localhost" || ip != nil && ip.IsLoopback() {
		return "http"
	}
	return "https"
}

var repositoryName = lazyregexp.New(`^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*$`)

// check reports a name that no repository has. Names of people were checked when they were
// parsed, so this is for names that a registry says.
func (r *repository) check() error {
	u, err := url.ParseRequestURI("oci://" + r.registry.host)
	if err != nil || u.Host != r.registry.host || u.User != nil || len(r.path) > 255 || !repositoryName().MatchString(r.path) {
		return errors.New("this is no name of a repository")
	}
	return nil
}

// accepted are the media types of the manifests that are read.
const accepted = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.v2+json, application/vnd.docker.distribution.manifest.list.v2+json"

// request sends one request to the repository and returns an answer of the status 200 or 206. what
// names in words what is asked for.
func (r *repository) request(ctx context.Context, method, path, what string, header http.Header) (*http.Response, error) {
	reg := r.registry
	if reg.unreached != nil {
		return nil, fmt.Errorf("%s cannot be reached: %w", reg.host, reg.unreached)
	}
	host, name := reg.address(), r.path
	if host == hub && !strings.Contains(name, "/") {
		name = "library/" + name
	}
	if !strings.HasPrefix(path, "/") { // the next page of a list has a whole path
		path = "/v2/" + name + "/" + path
	}
	ctx = auth.AppendRepositoryScope(ctx, orasregistry.Reference{Registry: host, Repository: name}, auth.ActionPull)
	req, err := http.NewRequestWithContext(ctx, method, reg.scheme()+"://"+host+path, nil)
	if err != nil {
		return nil, fmt.Errorf("the address of %s cannot be made: %w", r, err)
	}
	for key, values := range header {
		req.Header[key] = values
	}
	resp, err := reg.client.Do(req)
	if err != nil {
		return nil, r.explain(ctx, err)
	}
	if resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusPartialContent {
		return resp, nil
	}
	resp.Body.Close()
	return nil, r.refused(ctx, resp, what)
}

// resolve returns the digest of the manifest with a tag.
func (r *repository) resolve(ctx context.Context, tag string) (digest string, err error) {
	err = r.registry.origin.try(ctx, func() (bool, error) {
		resp, err := r.request(ctx, http.MethodHead, "manifests/"+tag, "the tag "+display.Quote(tag), http.Header{"Accept": {accepted}})
		if err != nil {
			return false, err
		}
		resp.Body.Close()
		digest = resp.Header.Get("Docker-Content-Digest")
		return false, nil
	})
	var status *statusError
	if errors.As(err, &status) && status.code == http.StatusMethodNotAllowed {
		err, digest = nil, ""
	}
	if err != nil {
		return "", err
	}
	if _, bad := skill.ParseDigest(digest); bad == nil {
		return digest, nil
	}
	// Some registries send no digest with a HEAD. That of the bytes is as good.
	m, err := r.manifest(ctx, tag)
	if err != nil {
		return "", err
	}
	return m.digest, nil
}

// manifest returns the manifest with a tag or a digest. If it is a digest, its bytes have it.
func (r *repository) manifest(ctx context.Context, name string) (*manifest, error) {
	_, notDigest := skill.ParseDigest(name)
	what := "the tag " + display.Quote(name)
	if notDigest == nil {
		what = "the manifest " + name
	}
	var data []byte
	err := r.registry.origin.try(ctx, func() (bool, error) {
		resp, err := r.request(ctx, http.MethodGet, "manifests/"+name, what, http.Header{"Accept": {accepted}})
		if err != nil {
			return false, err
		}
		defer resp.Body.Close()
		data, err = io.ReadAll(io.LimitReader(resp.Body, maxManifest+1))
		switch {
		case err != nil:
			return false, r.broke(ctx, what, err)
		case len(data) > maxManifest:
			return false, fmt.Errorf("%s of %s has more than %d MiB: is this an artifact of skills?", what, r, maxManifest>>20)
		case notDigest == nil && skill.DigestOf(data).String() != name:
			return false, &temporary{fmt.Errorf("%s sent other bytes for %s than those of this digest, 8 times: try again later, or tell the registry's operator", r, what)}
		}
		return false, nil
	})
	if err != nil {
		return nil, err
	}
	return parseManifest(data, skill.Digest(sha256.Sum256(data)).String())
}

// tags returns the tags of the repository.
func (r *repository) tags(ctx context.Context) ([]string, error) {
	var tags []string
	all := 0 // with those of signatures
	next := "tags/list?n=1000"
	for pages := 0; next != ""; pages++ {
		if all > maxTags || pages == maxPages {
			return nil, fmt.Errorf("%s has more than %s tags, or %s pages of them: name the one you want", r, display.Thousands(maxTags), display.Thousands(maxPages))
		}
		var page struct {
			Tags []string `json:"tags"`
		}
		path := next
		err := r.registry.origin.try(ctx, func() (bool, error) {
			resp, err := r.request(ctx, http.MethodGet, path, "the list of its tags", nil)
			if err != nil {
				return false, err
			}
			defer resp.Body.Close()
			data, err := io.ReadAll(io.LimitReader(resp.Body, maxManifest))
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

// nextPage returns the path of the page behind this one, or "". The host is never another.
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
