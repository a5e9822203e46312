package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/base/httpfetch"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// TestAdvertised checks that one request by knack returns the same refs as git. If that request
// returns no refs, knack runs git.
func TestAdvertised(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	u.library()
	u.git("tag", "v1.0.0")
	u.git("tag", "-a", "-m", "x", "v1.1.0")
	u.git("update-ref", "refs/pull/1/head", "HEAD")
	var set setting
	server := u.serve(func(w http.ResponseWriter, r *http.Request) bool {
		answer := set.now()
		isAdvert := r.Header.Get("Git-Protocol") == "" && strings.HasSuffix(r.URL.Path, "/info/refs")
		switch {
		case !isAdvert || answer == "":
			return false
		case answer == "login":
			w.WriteHeader(http.StatusUnauthorized)
		case answer == "page":
			fmt.Fprint(w, "<html>")
		default:
			w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
			fmt.Fprint(w, answer)
		}
		return true
	})
	asks := func(o *Options) { o.HTTP = direct(httpfetch.New(httpfetch.Options{})) }
	ask := func(g *Origin) *refs {
		r, err := g.refs(t.Context(), server.ref(""))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	want := ask(u.origin(nil))
	before := len(server.asked())
	if diff := cmp.Diff(want, ask(u.origin(asks)), cmp.AllowUnexported(refs{})); diff != "" || len(server.asked()) != before+1 {
		t.Error(diff, server.asked()[before:])
	}
	head := "001e# service=git-upload-pack\n0000"
	for _, answer := range []string{
		"login", "page", "0000", head, head + "0004", head + "0003", head + "zzzz", head + "ffff", head + "000dhello ok\n0000", "001e# service=git-receive-pack\n0000",
		head + "003f" + strings.Repeat("a", 40) + " refs/heads/main\n", // no end
	} {
		set.to(answer)
		if diff := cmp.Diff(want, ask(u.origin(asks)), cmp.AllowUnexported(refs{})); diff != "" {
			t.Errorf("%.40q: %s", answer, diff)
		}
	}
	// If the user's settings affect connections, git sends all requests.
	set.to("")
	before = len(server.asked())
	for _, settings := range []string{"[http]\n\tproxy =\n", "[http \"http://127.0.0.1/\"]\n\textraHeader = X: y\n", "[url \"https://a/\"]\n\tinsteadOf = https://b/\n"} {
		if err := os.WriteFile(filepath.Join(u.home, ".gitconfig"), []byte(settings), 0o600); err != nil {
			t.Fatal(err)
		}
		ask(u.origin(asks))
	}
	if got := len(server.asked()) - before; got != 6 {
		t.Errorf("%d requests, not those of git", got)
	}
	if err := os.Remove(filepath.Join(u.home, ".gitconfig")); err != nil {
		t.Fatal(err)
	}
	empty := newUpstream(t).serve(nil)
	if r, err := u.origin(asks).refs(t.Context(), empty.ref("")); err != nil || len(r.branches)+len(r.tags) != 0 || r.head != "" {
		t.Error(r, err)
	}
}

// direct returns a function that makes a client for a server, as commands use it.
func direct(f *httpfetch.Fetcher) func(string) (*http.Client, error) {
	return func(address string) (*http.Client, error) {
		c, err := f.For(address)
		if err != nil {
			return nil, err
		}
		return c.HTTP(), nil
	}
}

// TestRedirects checks that requests of both knack and git follow a redirect to the same server,
// but not into a private network, even if the user's settings allow it.
func TestRedirects(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	commit := u.library()
	other := u.serve(nil)
	var to setting
	server := u.serve(func(w http.ResponseWriter, r *http.Request) bool {
		rest, ok := strings.CutPrefix(r.URL.Path, "/old")
		if ok {
			w.Header().Set("X-Long", strings.Repeat("x", 5000))
			http.Redirect(w, r, to.now()+strings.ReplaceAll(rest, " ", "%20")+"?"+r.URL.RawQuery, http.StatusMovedPermanently)
		}
		return ok
	})
	base := strings.TrimSuffix(server.url, "/up%20stream")
	var proxied atomic.Int64
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		proxied.Add(1)
		r.Out.URL = r.In.URL
	}})
	t.Cleanup(proxy.Close)
	for name, settings := range map[string]string{
		"requests": "",
		"git":      "[http]\n\tproxy =\n",
		"follows":  "[http]\n\tfollowRedirects = true\n",
		"instead":  "[url \"SERVER\"]\n\tinsteadOf = http://localhost:1\n",
		"proxy":    "[http]\n\tproxy = PROXY\n",
	} {
		t.Run(name, func(t *testing.T) {
			if name != "requests" && name != "git" {
				testwait.Slow(t)
			}
			proxied.Store(0)
			named := base
			if name == "instead" {
				named = "http://localhost:1"
			}
			config := filepath.Join(u.home, ".gitconfig")
			if err := os.Remove(config); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			if settings != "" {
				text := strings.NewReplacer("SERVER", base, "PROXY", proxy.URL).Replace(settings)
				if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			ref := origin.Ref{Kind: origin.Git, Source: "x", Location: named + "/old/up%20stream"}
			g := func() *Origin {
				return u.origin(func(o *Options) {
					f := httpfetch.New(httpfetch.Options{})
					o.HTTP, o.CheckTarget = direct(f), f.CheckTarget
				})
			}
			to.to(base)
			revisions := []origin.Revision{{}, {ID: "git:" + commit}}
			if name != "requests" && name != "git" {
				revisions = revisions[:1]
			}
			for _, rev := range revisions {
				if _, got := take(t, g(), ref, rev); !cmp.Equal(got.Files, libraryFiles) {
					t.Error(got.Files)
				}
			}
			leads := []string{strings.TrimSuffix(other.url, "/up%20stream"), "http://169.254.169.254", "http://[::1]:1", "https://127.0.0.1:1", "https://10.0.0.1", "https://localhost", "ftp://127.0.0.1"}
			switch name {
			case "requests":
			case "git":
				leads = append(leads[:2], leads[6])
			default:
				leads = leads[:1]
			}
			for _, lead := range leads {
				to.to(lead)
				if _, err := g().Resolve(t.Context(), ref); err == nil {
					t.Errorf("to %s: no error", lead)
				}
				_, err := g().Open(t.Context(), ref, origin.Revision{ID: "git:" + commit})
				if err == nil || !strings.Contains(err.Error(), "its server leads elsewhere, where knack does not go: ") {
					t.Errorf("to %s: %v", lead, err)
				}
			}
			if asked := other.asked(); len(asked) != 0 {
				t.Errorf("another server of this machine got %q", asked)
			}
			// Neither another page nor an endless redirect counts as a repository.
			to.to(base + "/elsewhere/x?")
			if _, err := g().Resolve(t.Context(), ref); err == nil || !strings.Contains(err.Error(), "leads to another address, which is not a repository") {
				t.Error(err)
			}
			to.to(base + "/old")
			if _, err := g().Resolve(t.Context(), ref); err == nil || !strings.Contains(err.Error(), "redirects more than 5 times") && !strings.Contains(err.Error(), "more than 5 addresses") {
				t.Error(err)
			}
			if through := proxied.Load() > 0; through != (name == "proxy") {
				t.Errorf("%d requests went through the proxy", proxied.Load())
			}
		})
	}
}

// TestAdvertisedNames checks names that git refuses. A server may send any bytes as a name. Tags
// with such names are no versions, and knack reads the other tags.
func TestAdvertisedNames(t *testing.T) {
	commit := strings.Repeat("a", 40)
	r := newRefs()
	for _, name := range []string{"v1.0.0", "v1.0.1+\x1b[31mhello\x01", "-v1", "", "a b", "\xff", "v1.0.2^{}"} {
		for _, kind := range []string{"refs/tags/", "refs/heads/"} {
			if err := r.add(commit, kind+name); err != nil {
				t.Fatal(err)
			}
		}
	}
	if diff := cmp.Diff([]string{"v1.0.0", "v1.0.2"}, r.names()); diff != "" || len(r.branches) != 1 {
		t.Error(diff, r.branches)
	}
	r.skipped = maxRefs
	if err := r.add(commit, "refs/tags/v2"); err == nil {
		t.Error("the names that are left out do not count")
	}
}

func FuzzAdvertised(f *testing.F) {
	f.Add([]byte("001e# service=git-upload-pack\n0000003c" + strings.Repeat("a", 40) + " HEAD\x00cap\n0000"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := &refs{branches: map[string]string{}, tags: map[string]string{}}
		if err := r.parse(strings.NewReader(string(data))); err != nil {
			return
		}
		for _, commit := range r.tags {
			if !isCommit(commit) {
				t.Errorf("%q is no commit", commit)
			}
		}
	})
}

// TestManyRepositories measures a check for updates of 1,000 skills: in one repository, and in
// 1,000 repositories by knack, by git ls-remote and by plain requests.
func TestManyRepositories(t *testing.T) {
	if !long() {
		t.Skip("measures; KNACK_LONG=1")
	}
	u := newUpstream(t)
	u.library()
	one := u.serve(nil)
	for range 3 {
		start := time.Now()
		g := u.origin(func(o *Options) { o.HTTP = direct(httpfetch.New(httpfetch.Options{})) })
		for range 1000 {
			if _, err := g.Resolve(t.Context(), one.ref("main")); err != nil {
				t.Fatal(err)
			}
		}
		t.Logf("one repository: %v", time.Since(start))
	}
	resp, err := http.Get(one.url + "/info/refs?service=git-upload-pack")
	if err != nil {
		t.Fatal(err)
	}
	advert, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
		_, _ = w.Write(advert)
	}))
	defer server.Close()
	each := func(name string, ask func(url string) error) {
		start := time.Now()
		var wg sync.WaitGroup
		slots := make(chan struct{}, mostAtOnce)
		for i := range 1000 {
			slots <- struct{}{}
			wg.Go(func() {
				defer func() { <-slots }()
				if err := ask(fmt.Sprintf("%s/%d", server.URL, i)); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		t.Logf("1,000 repositories by %s: %v", name, time.Since(start))
	}
	for range 3 {
		transport := &http.Transport{MaxIdleConnsPerHost: mostAtOnce}
		g := u.origin(func(o *Options) {
			o.HTTP = func(string) (*http.Client, error) { return &http.Client{Transport: transport}, nil }
		})
		each("knack", func(url string) error {
			_, err := g.Resolve(context.Background(), origin.Ref{Location: url})
			return err
		})
		client := &http.Client{Transport: transport}
		each("HEAD", func(url string) error {
			resp, err := client.Head(url)
			if err == nil {
				resp.Body.Close()
			}
			return err
		})
	}
	g := u.origin(nil)
	each("git ls-remote", func(url string) error {
		_, err := g.Resolve(context.Background(), origin.Ref{Location: url})
		return err
	})
}
