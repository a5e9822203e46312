package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// script is an endpoint that answers each request with its next reply, and repeats the last reply.
type script struct {
	replies []reply
	mu      sync.Mutex
	asked   []request
}

// reply is an endpoint's answer.
type reply struct {
	status int // 0 is 200
	header string
	body   string
	// then continues after the body was sent.
	then func(w http.ResponseWriter, r *http.Request)
}

// request is a request to an endpoint.
type request struct {
	method, path, query string
	header              http.Header
	body                []byte
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	next := s.replies[min(len(s.asked), len(s.replies)-1)]
	s.asked = append(s.asked, request{r.Method, r.URL.Path, r.URL.RawQuery, r.Header.Clone(), body})
	s.mu.Unlock()
	for line := range strings.Lines(next.header) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		w.Header().Set(name, value)
	}
	if next.status != 0 {
		w.WriteHeader(next.status)
	}
	_, _ = io.WriteString(w, next.body)
	if next.then != nil {
		_ = http.NewResponseController(w).Flush()
		next.then(w, r)
	}
}

func (s *script) requests() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]request(nil), s.asked...)
}

// listen starts an endpoint on this machine and returns its address.
func listen(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// ask asks an endpoint for one turn.
func ask(t *testing.T, e Endpoint, h http.Handler) (Answer, error) {
	t.Helper()
	e.URL = listen(t, h) + e.URL
	if e.Model == "" {
		e.Model = "m"
	}
	c := New(e, Options{})
	defer c.Close()
	return c.Answer(t.Context(), hello, nil)
}

// hello is a request for tests that are not about requests.
var hello = Request{System: "You help.", Messages: []Message{{Role: User, Text: "Hello"}}}

// within returns options with an in-memory network, for tests in a synctest bubble.
func within(t *testing.T, h http.Handler) Options {
	t.Helper()
	conns := pipes{make(chan net.Conn), make(chan struct{})}
	s := &http.Server{Handler: h}
	go func() { _ = s.Serve(conns) }()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		select {
		case conns.dialled <- theirs:
			return ours, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = s.Close()
	})
	return Options{Transport: transport, Jitter: func() float64 { return 0.5 }}
}

// pipes is the listener of an in-memory network.
type pipes struct {
	dialled chan net.Conn
	closed  chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.dialled:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error   { close(p.closed); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// stream writes events as a stream.
func stream(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "data: %s\n\n", e)
	}
	return b.String()
}

// delta writes a chunk of Chat Completions with one delta.
func delta(d string) string {
	return `{"choices":[{"index":0,"delta":` + d + `,"finish_reason":null}]}`
}

// stopped writes the last chunk of Chat Completions.
func stopped(reason string) string {
	return `{"choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}`
}

// taken reads an answer in pieces that end at the given places.
func taken(w wire, body string, cuts ...int) (a Answer, streamed string, err error) {
	var text strings.Builder
	in := w.reader(map[string]bool{}, func(s string) { text.WriteString(s) })
	var readers []io.Reader
	from := 0
	for _, cut := range cuts {
		readers = append(readers, strings.NewReader(body[from:cut]))
		from = cut
	}
	readers = append(readers, strings.NewReader(body[from:]))
	if err := read(io.MultiReader(readers...), in); err != nil {
		return Answer{}, "", err
	}
	a, err = in.end()
	return a, text.String(), err
}

func diff(t *testing.T, what string, got, want any) {
	t.Helper()
	if reflect.DeepEqual(got, want) {
		return // quicker
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// decoded decodes a JSON value, for comparisons.
func decoded(t *testing.T, raw []byte) (v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return v
}

func sameJSON(t *testing.T, what string, got []byte, want string) {
	t.Helper()
	diff(t, what, decoded(t, got), decoded(t, []byte(want)))
}

// failed returns the error as an *Error in the category.
func failed(t *testing.T, err error, category Category) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an error in the category %q", err, category)
	}
	if e.Category != category {
		t.Errorf("the category of %q is %q, want %q", e, e.Category, category)
	}
	if strings.ContainsAny(e.Error(), "\n\r") {
		t.Errorf("the error has several lines: %q", e)
	}
	return e
}
