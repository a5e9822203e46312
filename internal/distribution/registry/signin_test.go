package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/base/httpfetch"
	"github.com/knack-dev/knack/internal/distribution/registry/internal/login"
)

func TestChallenge(t *testing.T) {
	for text, want := range map[string]challenge{
		``:                                     {},
		`Basic realm="x"`:                      {scheme: "basic", realm: "x"},
		`BASIC`:                                {scheme: "basic"},
		`Bearer realm=https://a.example/token`: {scheme: "bearer", realm: "https://a.example/token"},
		`bearer Realm="https://a.example/t?x=1,2", SERVICE = "a b" ,scope="repository:a/b:pull,push repository:c:pull"`: {"bearer", "https://a.example/t?x=1,2", "a b", "repository:a/b:pull,push repository:c:pull"},
		`Bearer realm="a\"b\\c",error="invalid_token",service=s`:                                                        {scheme: "bearer", realm: `a"b\c`, service: "s"},
		`Negotiate, Basic realm="x"`:                             {scheme: "basic", realm: "x"},
		`Digest realm="d", nonce="n", Bearer realm="b"`:          {scheme: "bearer", realm: "b"},
		`Bearer realm="b", scope="x", Basic realm="c"`:           {scheme: "bearer", realm: "b", scope: "x"},
		`Negotiate YII=` + "\n" + `Bearer realm="b",service="s"`: {scheme: "bearer", realm: "b", service: "s"},
		`Bearer realm="not closed`:                               {scheme: "bearer", realm: "not closed"},
		`Bearer realm="ends with \`:                              {scheme: "bearer", realm: "ends with "},
		`,,, =x, Bearer ,`:                                       {scheme: "bearer"},
		`Other realm="x"`:                                        {},
	} {
		if got := challengeOf(strings.Split(text, "\n")); got != want {
			t.Errorf("%s\n%+v, want %+v", text, got, want)
		}
	}
}

func TestMerged(t *testing.T) {
	for text, want := range map[string]string{
		"repository:a:pull": "repository:a:pull",
		"repository:b:pull repository:a:push,pull repository:b:push": "repository:a:pull,push repository:b:pull,push",
		"repository:a:pull repository:a:*":                           "repository:a:*",
		"repository:h.example:5000/a:pull":                           "repository:h.example:5000/a:pull",
		"registry:catalog:* odd":                                     "odd registry:catalog:*",
		"odd:b odd:a repository:a:,pull aws *":                       "* aws odd:a odd:b repository:a:pull",
	} {
		if diff := cmp.Diff(strings.Fields(want), merged(strings.Fields(text))); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

// TestOneToken checks that concurrent requests that need the same rights share one token, even
// after it has expired. A cancelled request does not make another request fail.
func TestOneToken(t *testing.T) {
	var asked, generation atomic.Int64
	generation.Store(1)
	var host string
	begun, left, goOn := make(chan struct{}, 100), make(chan struct{}, 100), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/token":
			begun <- struct{}{}
			select {
			case <-goOn:
			case <-r.Context().Done():
				left <- struct{}{}
				return
			}
			if want := "repository:a:pull repository:b:pull"; strings.Join(r.URL.Query()["scope"], " ") != want {
				t.Errorf("the scopes %q", r.URL.Query()["scope"])
			}
			asked.Add(1)
			fmt.Fprintf(w, `{"token":"%d"}`, generation.Load())
		case r.Header.Get("Authorization") != fmt.Sprintf("Bearer %d", generation.Load()):
			w.Header().Set("WWW-Authenticate", `Bearer realm="http://`+host+`/token",scope="repository:b:pull"`)
			w.WriteHeader(http.StatusUnauthorized)
		default:
			data, _ := io.ReadAll(r.Body)
			_, _ = w.Write(data)
		}
	}))
	defer server.Close()
	host = strings.TrimPrefix(server.URL, "http://")
	s := &session{client: server.Client(), find: func(context.Context) (login.Credentials, error) { return login.Credentials{}, nil }}
	send := func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPut, server.URL+"/v2/a/x", strings.NewReader("sent"))
		if err != nil {
			return err
		}
		resp, err := s.do(req, []string{scopeOf("a", false)})
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		data, err := io.ReadAll(resp.Body)
		if err == nil && (resp.StatusCode != http.StatusOK || string(data) != "sent") {
			err = fmt.Errorf("%s %q", resp.Status, data)
		}
		return err
	}
	first, cancel := context.WithCancel(t.Context())
	defer cancel()
	gaveUp := make(chan error, 1)
	go func() { gaveUp <- send(first) }()
	<-begun // the first request asks for the token
	for round := int64(1); round <= 3; round++ {
		generation.Store(round)
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				if err := send(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		if round == 1 {
			cancel()
			if err := <-gaveUp; err == nil {
				t.Error("it was not taken back")
			}
			<-left
			close(goOn)
		}
		all.Wait()
		if n := asked.Load(); n != round {
			t.Errorf("%d tokens in %d rounds", n, round)
		}
	}
}

// transport answers requests in place of a registry.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answer(r *http.Request, code int, challenge, body string) (*http.Response, error) {
	return &http.Response{StatusCode: code, Header: http.Header{"Www-Authenticate": {challenge}}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: r}, nil
}

// TestFailedSignIn checks that all requests wait only once, together, for a silent sign-in service.
// If a request is cancelled with a cause, as by an errgroup, no other request gets that cause.
func TestFailedSignIn(t *testing.T) {
	for name, c := range map[string]struct {
		fails           bool // the sign-in fails, not the caller
		tokens, refused int64
	}{"silent": {true, 1, 16}, "cancelled": {false, 2, 1}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var tokens, refused atomic.Int64
				goOn := make(chan struct{})
				s := &session{find: func(context.Context) (login.Credentials, error) { return login.Credentials{}, nil }}
				s.client = &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
					if r.URL.Path != "/token" {
						if r.Header.Get("Authorization") == "Bearer good" {
							return answer(r, http.StatusOK, "", "")
						}
						return answer(r, http.StatusUnauthorized, `Bearer realm="https://r.example/token"`, "")
					}
					tokens.Add(1)
					select {
					case <-goOn:
					case <-r.Context().Done():
						return nil, context.Cause(r.Context())
					}
					if c.fails {
						return nil, os.ErrDeadlineExceeded
					}
					return answer(r, http.StatusOK, "", `{"token":"good"}`)
				})}
				send := func(ctx context.Context) {
					req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://r.example/v2/a/x", nil)
					if err != nil {
						t.Error(err)
						return
					}
					if _, err := s.do(req, []string{scopeOf("a", false)}); err != nil {
						refused.Add(1)
					}
				}
				first, cancel := context.WithCancelCause(t.Context())
				go send(first)
				synctest.Wait()
				for range 15 {
					go send(t.Context())
					synctest.Wait()
				}
				if !c.fails {
					cancel(errors.New("a layer is damaged"))
					synctest.Wait()
				}
				close(goOn)
				synctest.Wait()
				cancel(nil)
				if tokens.Load() != c.tokens || refused.Load() != c.refused {
					t.Errorf("%d tokens and %d refused, want %d and %d", tokens.Load(), refused.Load(), c.tokens, c.refused)
				}
			})
		})
	}
}

// TestScopesEnd checks that the requests for tokens stay small even if a registry requires other
// rights each time.
func TestScopesEnd(t *testing.T) {
	n, longest := 0, 0
	s := &session{find: func(context.Context) (login.Credentials, error) { return login.Credentials{}, nil }}
	s.client = &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path == "/token" {
			longest = max(longest, len(r.URL.RawQuery))
			return answer(r, http.StatusOK, "", fmt.Sprintf(`{"token":"%d"}`, n))
		}
		n++
		return answer(r, http.StatusUnauthorized, fmt.Sprintf(`Bearer realm="https://r.example/token",scope="repository:%d:pull"`, n), "")
	})}
	for range 1000 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://r.example/v2/a/x", nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := s.do(req, []string{scopeOf("a", false)}); err != nil || resp.StatusCode != http.StatusUnauthorized {
			t.Fatal(resp, err)
		}
	}
	if longest > 16<<10 {
		t.Errorf("a request of %d bytes", longest)
	}
}

// TestOtherRegistrySignsIn checks that only the registry that the person named may sign in at
// another port of its host, which may be in a private network.
func TestOtherRegistrySignsIn(t *testing.T) {
	f := httpfetch.New(httpfetch.Options{})
	defer f.Close()
	c := New(Options{Fetcher: f})
	for host, want := range map[string]bool{"corp.example": true, "other.example": false} {
		if _, got := c.Repository("corp.example", host, "a").registry.client.Transport.(signsIn); got != want {
			t.Errorf("%s: %v", host, got)
		}
	}
}

// TestEmptyBlobAfterSignIn checks that an empty blob has a length, even when it is sent again after
// a sign-in.
func TestEmptyBlobAfterSignIn(t *testing.T) {
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/token":
			_, _ = io.WriteString(w, `{"token":"good"}`)
		case r.Header.Get("Authorization") == "":
			w.Header().Set("WWW-Authenticate", `Bearer realm="http://`+r.Host+`/token"`)
			w.WriteHeader(http.StatusUnauthorized)
		default:
			seen = append(seen, fmt.Sprint(r.Method, r.ContentLength, r.TransferEncoding))
		}
	}))
	defer server.Close()
	f := httpfetch.New(httpfetch.Options{})
	defer f.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	resp, err := New(Options{Fetcher: f}).Repository(host, host, "a").Writable().send(t.Context(), call{
		method: http.MethodPut, path: "blobs/uploads/1", body: func() io.ReadCloser { return io.NopCloser(strings.NewReader("")) },
	})
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if diff := cmp.Diff([]string{"PUT0 []"}, seen); diff != "" {
		t.Error(diff)
	}
}
