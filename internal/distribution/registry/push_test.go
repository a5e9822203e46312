package registry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/knack-dev/knack/internal/base/httpfetch"
	"github.com/knack-dev/knack/internal/distribution/registry"
	"github.com/knack-dev/knack/internal/test/registrytest"
	"github.com/knack-dev/knack/skill"
)

// client returns a client that reads docker's configuration from a file, if config is not "".
func client(t *testing.T, config string) *registry.Client {
	fetcher := httpfetch.New(httpfetch.Options{})
	t.Cleanup(fetcher.Close)
	return registry.New(registry.Options{
		Fetcher: fetcher, Config: config, Read: os.ReadFile,
		Wait: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	})
}

func ignore(int64) {}

func descriptor(mediaType string, data []byte) registry.Descriptor {
	return registry.Descriptor{MediaType: mediaType, Digest: skill.DigestOf(data).String(), Size: int64(len(data))}
}

func upload(t *testing.T, r *registry.Repository, data []byte) registry.Descriptor {
	t.Helper()
	d := descriptor("application/octet-stream", data)
	if _, err := r.Upload(t.Context(), d, "a blob", bytes.NewReader(data), nil, ignore); err != nil {
		t.Fatal(err)
	}
	return d
}

// manifest returns the manifest of an image with one layer. Its subject may be nil.
func manifest(t *testing.T, config, layer registry.Descriptor, subject *registry.Descriptor) []byte {
	t.Helper()
	m := map[string]any{"schemaVersion": 2, "mediaType": registry.ImageType, "artifactType": "application/x", "config": config, "layers": []any{layer}}
	if subject != nil {
		m["subject"] = subject
	}
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestPush checks that pushed blobs can be read, and that a second repository mounts one of them.
func TestPush(t *testing.T) {
	registrytest.Each(t, func(t *testing.T, host string) {
		c, ctx := client(t, ""), t.Context()
		one, two := c.Repository(host, host, "acme/one").Writable(), c.Repository(host, host, "acme/two").Writable()
		data := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
		d := descriptor("application/octet-stream", data)
		if has, err := one.Has(ctx, d.Digest); has || err != nil {
			t.Fatalf("an empty repository has a blob: %v", err)
		}
		sent := int64(0)
		if taken, err := one.Upload(ctx, d, "a blob", bytes.NewReader(data), two, func(n int64) { sent += n }); taken || err != nil || sent != d.Size {
			t.Fatalf("taken over from an empty repository: %v, %v, %d bytes sent", taken, err, sent)
		}
		if has, err := one.Has(ctx, d.Digest); !has || err != nil {
			t.Fatalf("no blob after its upload: %v", err)
		}
		sent = 0
		if taken, err := two.Upload(ctx, d, "a blob", bytes.NewReader(data), one, func(n int64) { sent += n }); !taken || err != nil || sent != 0 {
			t.Fatalf("not taken over: %v, %v, %d bytes sent", taken, err, sent)
		}
		got := make([]byte, len(data))
		if err := two.Fetch(ctx, d, "a blob", writerAt(got), ignore); err != nil || !bytes.Equal(got, data) {
			t.Fatalf("other bytes came back: %v", err)
		}
		m := manifest(t, upload(t, two, []byte("{}")), d, nil)
		digest := skill.DigestOf(m).String()
		for _, name := range []string{digest, "v1"} {
			if linked, err := two.Put(ctx, name, registry.ImageType, m); linked || err != nil {
				t.Fatal(err)
			}
		}
		if at, err := two.Resolve(ctx, "v1"); at != digest || err != nil {
			t.Errorf("the tag leads to %s, %v", at, err)
		}
		if back, err := two.Manifest(ctx, "v1"); err != nil || !bytes.Equal(back.Data, m) || back.MediaType != registry.ImageType {
			t.Errorf("the manifest is %+v, %v", back, err)
		}
	})
}

type writerAt []byte

func (w writerAt) WriteAt(p []byte, at int64) (int, error) { return copy(w[at:], p), nil }

// TestReferrers checks that referrers are found in the registry's list, or in the index of the
// fallback tag.
func TestReferrers(t *testing.T) {
	for _, name := range registrytest.All {
		host := registrytest.Open(t, name, "")
		c, ctx := client(t, ""), t.Context()
		r := c.Repository(host, host, "acme/one").Writable()
		config, layer := upload(t, r, []byte("{}")), upload(t, r, []byte("layer"))
		m := manifest(t, config, layer, nil)
		subject := descriptor(registry.ImageType, m)
		if _, err := r.Put(ctx, subject.Digest, registry.ImageType, m); err != nil {
			t.Fatal(err)
		}
		if found, err := r.Referrers(ctx, subject.Digest, nil); len(found) > 0 || err != nil {
			t.Fatalf("%v, %v", found, err)
		}
		var want []string
		for _, text := range []string{"first", "second", "first"} { // pushes the first one again
			about := manifest(t, config, upload(t, r, []byte(text)), &subject)
			d := descriptor(registry.ImageType, about)
			d.ArtifactType = "application/x"
			if err := r.Refer(ctx, subject.Digest, d, about); err != nil {
				t.Fatal(err)
			}
			want = append(want, d.Digest)
		}
		found, err := r.Referrers(ctx, subject.Digest, nil)
		if err != nil || len(found) != 2 {
			t.Fatalf("%v, %v", found, err)
		}
		for _, d := range found {
			if !slices.Contains(want, d.Digest) || d.ArtifactType != "application/x" {
				t.Errorf("%+v", d)
			}
		}
	}
}

// front is a proxy before a registry. If fault answers a request, the registry does not see it.
func front(t *testing.T, host string, fault func(w http.ResponseWriter, r *http.Request) bool) string {
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: host})
	var mu sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answered := func() bool {
			mu.Lock()
			defer mu.Unlock()
			return fault(w, r)
		}
		if !answered() {
			proxy.ServeHTTP(w, r) // the Host header stays, so locations lead here
		}
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// answers returns a fault that answers requests of a method with a status.
func answers(method string, code int, body string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != method {
			return false
		}
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(code)
		fmt.Fprint(w, body)
		return true
	}
}

// TestRejected checks that the error of a refused upload names the registry, with a fix. It does
// not repeat the registry's message, which may quote a secret.
func TestRejected(t *testing.T) {
	host := registrytest.Open(t, registrytest.Distribution, "")
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s was sent to another host", r.Method)
	}))
	defer elsewhere.Close()
	login := filepath.Join(t.TempDir(), "config.json")
	for name, c := range map[string]struct {
		fault func(http.ResponseWriter, *http.Request) bool
		auths bool
		want  string
	}{
		"no credentials":  {fault: answers("POST", 403, "CANARY"), want: `HOST denies pushing to acme/one (403 Forbidden), or there is no such repository: CONFIG has no credentials for it; log in with: docker login HOST`},
		"old credentials": {auths: true, fault: answers("POST", 401, "CANARY"), want: `HOST denies pushing to acme/one (401 Unauthorized), or there is no such repository: it does not take the credentials that CONFIG has for it; log in again with: docker login HOST`},
		"no repository":   {fault: answers("POST", 404, `{"errors":[{"code":"NAME_UNKNOWN","message":"CANARY"}]}`), want: `HOST does not take a blob for acme/one (404 Not Found, NAME_UNKNOWN): it may have no such repository, so create that there first`},
		"read-only":       {fault: answers("POST", 405, "CANARY"), want: `HOST takes no uploads for acme/one (405 Method Not Allowed): it may be read-only, or a mirror of another registry`},
		"too large":       {fault: answers("PUT", 413, "CANARY"), want: `HOST does not take a blob of acme/one, since it is too large (413 Request Entity Too Large): ask the registry's operator for a higher limit`},
		"full":            {fault: answers("PUT", 507, "CANARY"), want: `HOST has no space left for a blob of acme/one (507 Insufficient Storage): tell the registry's operator`},
		"broken":          {fault: answers("PUT", 500, "CANARY"), want: `HOST answers "500 Internal Server Error" when it is sent a blob of acme/one: try again later`},
		"odd code":        {fault: answers("POST", 418, `{"errors":[{"code":"CANARY secret"}]}`), want: `HOST does not take a blob of acme/one (418 I'm a teapot): is it a registry that takes OCI artifacts?`},
		"another host": {fault: func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != "POST" {
				return false
			}
			w.Header().Set("Location", elsewhere.URL+"/upload?secret=CANARY")
			w.WriteHeader(202)
			return true
		}, want: `HOST wants an upload for acme/one to go to ELSEWHERE, another host, which knack does not do: tell the registry's operator`},
		"redirects": {fault: func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == "PUT" {
				http.Redirect(w, r, elsewhere.URL+"/upload?secret=CANARY", http.StatusTemporaryRedirect)
			}
			return r.Method == "PUT"
		}, want: `ELSEWHERE cannot be reached for HOST/acme/one: it sends uploads on to another host, which knack does not follow`},
		"no location": {fault: answers("POST", 202, ""), want: `HOST does not say where an upload for acme/one goes: is it a registry?`},
	} {
		t.Run(name, func(t *testing.T) {
			at := front(t, host, c.fault)
			text := "{}"
			if c.auths {
				text = `{"auths":{"` + at + `":{"username":"anna","password":"CANARY"}}}`
			}
			if err := os.WriteFile(login, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			data := []byte(name)
			_, err := client(t, login).Repository(at, at, "acme/one").Writable().Upload(t.Context(), descriptor("", data), "a blob", bytes.NewReader(data), nil, ignore)
			got := strings.NewReplacer(at, "HOST", login, "CONFIG", strings.TrimPrefix(elsewhere.URL, "http://"), "ELSEWHERE").Replace(fmt.Sprint(err))
			if got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
		})
	}
}

// TestUploadAgain checks that an upload that fails temporarily is sent again as a whole.
func TestUploadAgain(t *testing.T) {
	for name, fault := range map[string]func(w http.ResponseWriter, r *http.Request){
		"500":        func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
		"429":        func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(429) },
		"cut":        func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) },
		"forgotten":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) },
		"flipped":    func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(400) },
		"to be cont": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(416) },
	} {
		t.Run(name, func(t *testing.T) {
			registrytest.Each(t, func(t *testing.T, host string) {
				puts := 0
				at := front(t, host, func(w http.ResponseWriter, r *http.Request) bool {
					if r.Method != "PUT" {
						return false
					}
					if puts++; puts < 4 {
						_, _ = io.CopyN(io.Discard, r.Body, 1000)
						fault(w, r)
					}
					return puts < 4
				})
				data := bytes.Repeat([]byte(name), 1<<14)
				sent := int64(0)
				r := client(t, "").Repository(at, at, "acme/one").Writable()
				if _, err := r.Upload(t.Context(), descriptor("", data), "a blob", bytes.NewReader(data), nil, func(n int64) { sent += n }); err != nil || sent != int64(len(data)) || puts != 4 {
					t.Errorf("%v after %d attempts, %d bytes counted", err, puts, sent)
				}
				if has, err := r.Has(t.Context(), skill.DigestOf(data).String()); !has || err != nil {
					t.Errorf("it is not there: %v", err)
				}
			})
		})
	}
}
