package registry

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/registry/internal/login"
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
	} {
		if diff := cmp.Diff(strings.Fields(want), merged(strings.Fields(text))); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

// Requests that need the same rights at once share one token, also when it has expired. A request that
// is taken back takes no other with it.
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
	<-begun // it is the one that asks
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
