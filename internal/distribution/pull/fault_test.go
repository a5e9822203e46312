package pull_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/pull"
	"github.com/knack-dev/knack/internal/test/registrytest"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// always is more often than any request is repeated.
const always = 1000

// TestPullFaults checks that each fault ends with the new release or an error, and that the
// previous release stays complete all the time. Once the fault is over, the next attempt fetches
// the missing part.
func TestPullFaults(t *testing.T) {
	registry := registrytest.Start(t)
	any := func(*http.Request) bool { return true }
	head := func(r *http.Request) bool { return r.Method == http.MethodHead }
	for name, c := range map[string]struct {
		fault  registrytest.Fault
		want   string // "" if it is pulled
		reason pull.Reason
	}{
		"500 once":                  {registrytest.If(any, 1, registrytest.Status(500)), "", ""},
		"500 for ever":              {registrytest.If(any, always, registrytest.Status(500)), `answers "500 Internal Server Error"`, ""},
		"429 once":                  {registrytest.If(any, 1, registrytest.Status(429)), "", ""},
		"429 and a long wait":       {registrytest.If(registrytest.IsBlob, always, registrytest.Status(429, "Retry-After", "3600")), "wants no more requests for 1h0m0s", ""},
		"cut seven times":           {registrytest.If(registrytest.IsBlob, 7, registrytest.Cut(50)), "", ""},
		"cut for ever":              {registrytest.If(registrytest.IsBlob, always, registrytest.Cut(50)), "broke off while it sent the layer", ""},
		"a bit":                     {registrytest.If(registrytest.IsBlob, 2, registrytest.Flip), "", ""},
		"a bit for ever":            {registrytest.If(registrytest.IsBlob, always, registrytest.Flip), "sent other bytes for the layer", ""},
		"a bit of a manifest":       {registrytest.If(registrytest.IsManifest, always, registrytest.Flip), "sent other bytes for the manifest", ""},
		"another digest":            {registrytest.If(head, always, registrytest.WrongDigest), "has no manifest sha256:000", pull.Gone},
		"to a private address":      {registrytest.If(registrytest.IsBlob, always, registrytest.Redirect("https://10.0.0.1/x")), "private", ""},
		"to no https":               {registrytest.If(registrytest.IsBlob, always, registrytest.Redirect("http://example.com/x")), "only https is used", ""},
		"denied":                    {registrytest.If(any, always, registrytest.Status(403)), "denies access", ""},
		"the tag is gone":           {registrytest.If(registrytest.IsManifest, always, registrytest.Status(404)), "has no tag 'prod'", pull.Gone},
		"a layer is gone":           {registrytest.If(registrytest.IsBlob, always, registrytest.Status(404)), "has no layer", ""},
		"the registry is no longer": {registrytest.If(any, always, registrytest.Status(502)), `answers "502 Bad Gateway"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			proxy := registrytest.NewProxy(t, registry.Host)
			repo := strings.ReplaceAll(name, " ", "-")
			source := "oci://" + proxy.Host + "/" + repo + ":prod"
			old := flat(library(20, "Old."))
			registrytest.Release(t, registry.Host, repo, "prod", 4, old, nil)
			r := newReplica(t, filepath.Join(t.TempDir(), "knack"))
			before, _ := r.must(source)
			now := flat(library(24, "New."))
			registrytest.Release(t, registry.Host, repo, "prod", 4, now, nil)

			proxy.Set(c.fault)
			got, _, err := r.get(source)
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v\nwant %s", err, c.want)
			case c.want != "" && pull.ReasonOf(err) != c.reason:
				t.Errorf("reason %q, want %q: %v", pull.ReasonOf(err), c.reason, err)
			}
			if diff := cmp.Diff(old, r.files(before)); diff != "" {
				t.Errorf("the release before: %s", diff)
			}
			if left := r.left("tmp"); len(left) > 0 {
				t.Errorf("left over: %v", left)
			}
			if c.want != "" {
				if releases := r.left("releases"); len(releases) != 1 {
					t.Errorf("%d releases", len(releases))
				}
				proxy.Set(nil)
				got, _ = r.must(source)
			}
			if diff := cmp.Diff(now, r.files(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestTagMoves checks that the resolved release is pulled, even if the tag moves between Resolve
// and Open.
func TestTagMoves(t *testing.T) {
	registry := registrytest.Start(t)
	proxy := registrytest.NewProxy(t, registry.Host)
	first := registrytest.Release(t, registry.Host, "a/b", "prod", 2, flat(library(4, "One.")), nil)
	proxy.Set(func(_ http.ResponseWriter, r *http.Request, _ *registrytest.Proxy, n int) bool {
		if r.Method == http.MethodGet && registrytest.IsManifest(r) && n == 0 {
			registrytest.Release(t, registry.Host, "a/b", "prod", 2, flat(library(4, "Two.")), nil)
		}
		return false
	})
	r := newReplica(t, filepath.Join(t.TempDir(), "knack"))
	if got, _ := r.must("oci://" + proxy.Host + "/a/b:prod"); got.Digest != first {
		t.Errorf("%s, want %s", got.Digest, first)
	}
}

// TestPullResumes checks that layers that arrived before a pull failed are not fetched again.
func TestPullResumes(t *testing.T) {
	registry := registrytest.Start(t)
	proxy := registrytest.NewProxy(t, registry.Host)
	registrytest.Release(t, registry.Host, "a/b", "prod", 16, flat(library(60, "One.")), nil)
	var mu sync.Mutex
	failed := ""
	proxy.Set(func(w http.ResponseWriter, r *http.Request, _ *registrytest.Proxy, _ int) bool {
		if !registrytest.IsBlob(r) {
			return false
		}
		mu.Lock()
		defer mu.Unlock()
		if failed == "" || failed == r.URL.Path {
			failed = r.URL.Path
			w.WriteHeader(http.StatusForbidden)
			return true
		}
		return false
	})
	r := newReplica(t, filepath.Join(t.TempDir(), "knack"))
	source := "oci://" + proxy.Host + "/a/b:prod"
	if _, _, err := r.get(source); err == nil {
		t.Fatal("it did not fail")
	}
	arrived := len(r.left("layers"))
	proxy.Set(nil)
	_, report, err := r.get(source)
	if err != nil || report.Fetched != report.Layers-arrived {
		t.Errorf("%d layers had arrived, and %d of %d were fetched: %v", arrived, report.Fetched, report.Layers, err)
	}
}

// TestPullStopped checks that a pull that is stopped while the registry is silent ends immediately,
// and leaves no files.
func TestPullStopped(t *testing.T) {
	registry := registrytest.Start(t)
	proxy := registrytest.NewProxy(t, registry.Host)
	source := "oci://" + proxy.Host + "/a/b:prod"
	registrytest.Release(t, registry.Host, "a/b", "prod", 8, flat(library(30, "One.")), nil)
	r := newReplica(t, filepath.Join(t.TempDir(), "knack"))
	calm := func() int { // the number of goroutines and descriptors without idle connections
		r.servers.Close()
		http.DefaultClient.CloseIdleConnections()
		entries, _ := os.ReadDir("/proc/self/fd")
		return runtime.NumGoroutine() + len(entries)
	}
	r.must(source)
	if err := os.RemoveAll(filepath.Join(r.dir, "layers")); err != nil {
		t.Fatal(err)
	}
	before := 0
	testwait.Until(t, func() bool {
		was := before
		before = calm()
		return before == was
	})
	silent := make(chan bool, always)
	proxy.Set(registrytest.If(registrytest.IsBlob, always, func(w http.ResponseWriter, req *http.Request, p *registrytest.Proxy, n int) bool {
		silent <- true
		return registrytest.Silence(w, req, p, n)
	}))
	ref, err := origin.Parse(source, "/", "/")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, _, err := r.Pull(ctx, ref, origin.Revision{})
		ended <- err
	}()
	for range 8 {
		<-silent
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if left := r.left("tmp"); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
	proxy.Set(nil)
	r.must(source)
	testwait.Until(t, func() bool { return calm() <= before })
}

// TestRetryAfter checks that the error has the wait that a registry asks for, so that a server can
// wait before it tries again.
func TestRetryAfter(t *testing.T) {
	proxy := registrytest.NewProxy(t, registrytest.Start(t).Host)
	proxy.Set(registrytest.Status(http.StatusTooManyRequests, "Retry-After", "3600"))
	_, _, err := newReplica(t, filepath.Join(t.TempDir(), "knack")).get("oci://" + proxy.Host + "/a/b:prod")
	later, ok := errors.AsType[interface {
		error
		RetryAfter() time.Duration
	}](err)
	if !ok || later.RetryAfter() != time.Hour {
		t.Errorf("%v", err)
	}
}
