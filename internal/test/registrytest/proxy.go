package registrytest

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// Proxy is a proxy between knack and a registry. Without a fault it forwards every request.
type Proxy struct {
	Host string // its address

	registry http.Handler
	mu       sync.Mutex
	fault    Fault
	seen     map[string]int
	log      []string
}

// Fault answers a request instead of the registry, or returns false. n counts the requests for
// the same path since the fault was set.
type Fault func(w http.ResponseWriter, r *http.Request, p *Proxy, n int) (answered bool)

// NewProxy starts a proxy in front of the registry at host. It stops the proxy when the test ends.
func NewProxy(t testing.TB, host string) *Proxy {
	reverse := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: host})
	reverse.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	p := &Proxy{registry: reverse}
	s := httptest.NewServer(p)
	t.Cleanup(func() { p.Set(nil); s.CloseClientConnections(); s.Close() })
	p.Host = strings.TrimPrefix(s.URL, "http://")
	return p
}

// Set sets the fault and clears the log. With nil, the proxy has no fault.
func (p *Proxy) Set(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault, p.seen, p.log = f, map[string]int{}, nil
}

// Log returns the requests since the fault was set, each as "GET /v2/…".
func (p *Proxy) Log() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.log...)
}

// ServeHTTP implements [http.Handler].
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	n, fault := p.seen[r.URL.Path], p.fault
	if p.seen != nil {
		p.seen[r.URL.Path]++
	}
	p.log = append(p.log, r.Method+" "+r.URL.Path)
	p.mu.Unlock()
	if fault == nil || !fault(w, r, p, n) {
		p.registry.ServeHTTP(w, r)
	}
}

// Answer returns the registry's own answer to a request.
func (p *Proxy) Answer(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	p.registry.ServeHTTP(w, r)
	return w
}

// IsBlob reports whether a request is for a layer.
func IsBlob(r *http.Request) bool { return strings.Contains(r.URL.Path, "/blobs/") }

// IsManifest reports whether a request is for a manifest.
func IsManifest(r *http.Request) bool { return strings.Contains(r.URL.Path, "/manifests/") }

// If limits a fault to the requests for which is returns true, and to the first few of each path.
func If(match func(*http.Request) bool, times int, f Fault) Fault {
	return func(w http.ResponseWriter, r *http.Request, p *Proxy, n int) bool {
		return match(r) && n < times && f(w, r, p, n)
	}
}

// Status returns a fault that answers with a status code. headers alternates names and values.
func Status(code int, headers ...string) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ *Proxy, _ int) bool {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
		return true
	}
}

// changed returns a fault that sends the registry's answer after change has altered it.
func changed(change func(head http.Header, body []byte) []byte) Fault {
	return func(w http.ResponseWriter, r *http.Request, p *Proxy, _ int) bool {
		from := p.Answer(r)
		body := change(from.Header(), from.Body.Bytes())
		for key, values := range from.Header() {
			w.Header()[key] = values
		}
		w.WriteHeader(from.Code)
		_, _ = w.Write(body)
		return true
	}
}

// Flip changes one bit of an answer.
var Flip = changed(func(_ http.Header, body []byte) []byte {
	if len(body) > 0 {
		body[len(body)/2] ^= 1
	}
	return body
})

// WrongDigest sends the registry's answer with a wrong digest in Docker-Content-Digest.
var WrongDigest = changed(func(head http.Header, body []byte) []byte {
	head.Set("Docker-Content-Digest", "sha256:"+strings.Repeat("0", 64))
	return body
})

// Cut returns a fault that sends the head of an answer and n bytes of its body, and then closes the
// connection.
func Cut(n int) Fault {
	return func(w http.ResponseWriter, r *http.Request, p *Proxy, _ int) bool {
		from := p.Answer(r)
		for key, values := range from.Header() {
			w.Header()[key] = values
		}
		w.WriteHeader(from.Code)
		_, _ = w.Write(from.Body.Bytes()[:min(n, from.Body.Len())])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
}

// Silence sends the head of an answer, and then nothing until the client disconnects.
func Silence(w http.ResponseWriter, r *http.Request, p *Proxy, _ int) bool {
	from := p.Answer(r)
	for key, values := range from.Header() {
		w.Header()[key] = values
	}
	w.WriteHeader(from.Code)
	w.(http.Flusher).Flush()
	<-r.Context().Done()
	return true
}

// Redirect returns a fault that redirects the client to another address.
func Redirect(to string) Fault {
	return func(w http.ResponseWriter, r *http.Request, _ *Proxy, _ int) bool {
		http.Redirect(w, r, to, http.StatusTemporaryRedirect)
		return true
	}
}
