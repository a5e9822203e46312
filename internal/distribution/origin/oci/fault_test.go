package oci

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/test/origintest"
	"github.com/knack-dev/knack/internal/test/registrytest"
)

// proxy is a proxy between knack and a registry. fault may answer a request itself. n is the number
// of earlier requests for the same path.
type proxy struct {
	*httptest.Server
	registry http.Handler
	fault    func(w http.ResponseWriter, r *http.Request, n int) (answered bool)

	mu   sync.Mutex
	seen map[string]int
	log  []string
}

func newProxy(t *testing.T, host string, fault func(http.ResponseWriter, *http.Request, int) bool) *proxy {
	p := &proxy{fault: fault, seen: map[string]int{}}
	p.registry = httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: host})
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	n := p.seen[r.URL.Path]
	p.seen[r.URL.Path]++
	p.log = append(p.log, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+r.Header.Get("Range")))
	p.mu.Unlock()
	if p.fault == nil || !p.fault(w, r, n) {
		p.registry.ServeHTTP(w, r)
	}
}

func (p *proxy) host() string { return strings.TrimPrefix(p.URL, "http://") }

// answer returns the registry's own answer to a request.
func (p *proxy) answer(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	p.registry.ServeHTTP(w, r)
	return w
}

func isBlob(r *http.Request) bool { return strings.Contains(r.URL.Path, "/blobs/") }

// cutAfter sends the header of an answer and the first n bytes of its body, and then breaks the
// connection off.
func cutAfter(w http.ResponseWriter, from *httptest.ResponseRecorder, n int) {
	for key, values := range from.Header() {
		w.Header()[key] = values
	}
	w.WriteHeader(from.Code)
	w.Write(from.Body.Bytes()[:min(n, from.Body.Len())])
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

// TestFaults checks that each fault of a registry ends with the right bytes, or with a plain error.
func TestFaults(t *testing.T) {
	status := func(code int, header ...string) func(*proxy, http.ResponseWriter, *http.Request) {
		return func(_ *proxy, w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(code)
			io.WriteString(w, `{"errors":[{"code":"X","message":"CANARY"}]}`)
		}
	}
	flip := func(p *proxy, w http.ResponseWriter, r *http.Request) {
		from := p.answer(r)
		for key, values := range from.Header() {
			w.Header()[key] = values
		}
		w.WriteHeader(from.Code)
		body := bytes.Clone(from.Body.Bytes())
		if len(body) > 0 {
			body[len(body)/2] ^= 1
		}
		w.Write(body)
	}
	cut := func(p *proxy, w http.ResponseWriter, r *http.Request) { cutAfter(w, p.answer(r), 100) }
	redirect := func(to string) func(*proxy, http.ResponseWriter, *http.Request) {
		return func(_ *proxy, w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, to, http.StatusTemporaryRedirect)
		}
	}
	endless := func(p *proxy, w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			p.registry.ServeHTTP(w, r)
			return
		}
		for zeros := make([]byte, 1<<20); ; {
			if _, err := w.Write(zeros); err != nil {
				return
			}
		}
	}
	wrongDigest := func(p *proxy, w http.ResponseWriter, r *http.Request) {
		from := p.answer(r)
		for key, values := range from.Header() {
			w.Header()[key] = values
		}
		w.Header().Set("Docker-Content-Digest", "sha256:"+strings.Repeat("0", 64))
		w.WriteHeader(from.Code)
		w.Write(from.Body.Bytes())
	}
	layer := gz(tarOf(t, "pdf/SKILL.md", skillMD("pdf"), "pdf/noise", noise(1<<16)))
	short := func(_ *proxy, w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Range") != "" {
			w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
			return
		}
		w.Write(layer[:1000])
	}
	const seconds = time.Second
	backoff := []time.Duration{seconds / 10, seconds / 5, 2 * seconds / 5, 4 * seconds / 5, 8 * seconds / 5, 16 * seconds / 5, 5 * seconds}
	host := registrytest.Open(t, registrytest.Distribution, "")
	publisher{t: t, host: host}.image("acme/pdf", "v1", layer)
	for name, c := range map[string]struct {
		times int // how often each path fails
		fault func(*proxy, http.ResponseWriter, *http.Request)
		only  func(*http.Request) bool
		waits []time.Duration
		want  string // "" if it is installed
	}{
		"500 once":            {1, status(500), isBlob, backoff[:1], ""},
		"500 seven times":     {7, status(500), isBlob, backoff, ""},
		"500 for ever":        {99, status(500), isBlob, backoff, `HOST answers "500 Internal Server Error" when it is asked for layer 1 of 1 of HOST/acme/pdf: try again later`},
		"503 manifest":        {2, status(503), nil, nil, ""},
		"429":                 {1, status(429), isBlob, backoff[:1], ""},
		"429 and a long wait": {1, status(429, "Retry-After", "3600"), isBlob, nil, "HOST wants no more requests for 1h0m0s (429 Too Many Requests): log in with docker login for more of them, or try again then"},
		"503 and a date":      {1, status(503, "Retry-After", time.Now().Add(24*time.Hour).UTC().Format(http.TimeFormat)), isBlob, nil, "HOST wants no more requests for 2"},
		"cut":                 {7, cut, isBlob, backoff, ""},
		"cut for ever":        {99, cut, isBlob, backoff, "HOST broke off while it sent layer 1 of 1 of acme/pdf (unexpected EOF): try again later"},
		"cut manifest":        {3, cut, nil, nil, ""},
		"flipped":             {2, flip, isBlob, backoff[:2], ""},
		"flipped for ever":    {99, flip, isBlob, backoff, "HOST sent other bytes for layer 1 of 1 of acme/pdf than its digest says, 8 times: try again later, or tell the registry's operator"},
		"endless":             {99, endless, isBlob, backoff, "HOST sent more bytes for layer 1 of 1 of acme/pdf than its manifest says: try again later, or tell the registry's operator"},
		"endless manifest":    {99, endless, nil, nil, "the manifest sha256:"},
		"short":               {99, short, isBlob, backoff, "HOST has 1000 bytes of layer 1 of 1 of acme/pdf, and not the " + strconv.Itoa(len(layer)) + " that its manifest says: tell the registry's operator, or publish it again"},
		"wrong digest":        {99, wrongDigest, nil, nil, "HOST/acme/pdf has no manifest sha256:" + strings.Repeat("0", 64)},
		"wrong digest once":   {1, wrongDigest, isBlob, nil, ""},
		"404 layer":           {99, status(404), isBlob, nil, "HOST/acme/pdf has no layer 1 of 1"},
		"418":                 {99, status(418), isBlob, nil, `HOST answers "418 I'm a teapot" when it is asked for layer 1 of 1 of HOST/acme/pdf: is it a registry?`},
		"redirect to nowhere": {99, redirect("https://127.0.0.1:1/x?X-Amz-Signature=CANARY"), isBlob, nil, "127.0.0.1:1 cannot be reached for HOST/acme/pdf: '127.0.0.1' is in a private network"},
		"redirect in circles": {99, redirect("/v2/acme/pdf/blobs/sha256:x?token=CANARY"), isBlob, nil, "HOST cannot be reached for HOST/acme/pdf: it redirects more than 5 times"},
	} {
		t.Run(name, func(t *testing.T) {
			var p *proxy
			p = newProxy(t, host, func(w http.ResponseWriter, r *http.Request, n int) bool {
				if n >= c.times || c.only != nil && !c.only(r) {
					return false
				}
				c.fault(p, w, r)
				return true
			})
			opts, waits := options(t)
			o := New(opts)
			ref, _ := origin.Parse("oci://"+p.host()+"/acme/pdf:v1", "", "")
			at, err := o.Resolve(t.Context(), ref)
			to := origintest.NewSink()
			if err == nil {
				err = fetchAll(t, o, ref, at, to)
			}
			text := ""
			if err != nil {
				text = strings.ReplaceAll(err.Error(), p.host(), "HOST")
			}
			if (c.want == "") != (text == "") || !strings.HasPrefix(text, c.want) || strings.Contains(text, "CANARY") {
				t.Errorf("%q, want %q", text, c.want)
			}
			if c.want == "" && (to.Files["pdf: SKILL.md"] != skillMD("pdf") || to.Files["pdf: noise"] != noise(1<<16)) {
				t.Error("other bytes arrived")
			}
			if c.want != "" && len(to.Files) > 0 {
				t.Error("files arrived although it failed")
			}
			if c.only != nil {
				if diff := cmp.Diff(c.waits, *waits); diff != "" && len(c.waits)+len(*waits) > 0 {
					t.Error(diff)
				}
			}
		})
	}
}

// fetchAll fetches every skill of a revision.
func fetchAll(t *testing.T, o *Origin, ref origin.Ref, at origin.Revision, to origin.Sink) error {
	l, err := o.Open(t.Context(), ref, at)
	if err != nil {
		return err
	}
	defer l.Close()
	skills, err := l.Skills(t.Context())
	if err != nil {
		return err
	}
	return l.Fetch(t.Context(), skills, to)
}

// noise returns n bytes that cannot be compressed.
func noise(n int) string {
	b := make([]byte, n)
	x := uint64(1)
	for i := range b {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b[i] = byte(x)
	}
	return string(b)
}

// TestContinues checks that received bytes are not requested again. A layer then arrives
// completely, even if the connection breaks often.
func TestContinues(t *testing.T) {
	registrytest.Each(t, func(t *testing.T, host string) {
		const parts, part = 9, 1 << 20 // one part more than the attempts without progress
		layer := gz(tarOf(t, "pdf/SKILL.md", skillMD("pdf"), "pdf/noise", noise(parts*part)))
		publisher{t: t, host: host}.image("acme/pdf", "v1", layer)
		var p *proxy
		p = newProxy(t, host, func(w http.ResponseWriter, r *http.Request, n int) bool {
			if isBlob(r) {
				cutAfter(w, p.answer(r), part+1024)
			}
			return false
		})
		opts, waits := options(t)
		var most int64
		opts.Progress = func(_ origin.Unit, done, total int64) {
			most = max(most, done)
			if total != int64(len(layer)) || done > total {
				t.Errorf("progress says %d of %d", done, total)
			}
		}
		got, _, err := install(t, New(opts), "oci://"+p.host()+"/acme/pdf:v1")
		if err != nil || got.Files["pdf: noise"] != noise(parts*part) {
			t.Fatalf("not what was sent: %v", err)
		}
		var asked []string
		for _, line := range p.log {
			if _, part, ok := strings.Cut(line, "bytes="); ok {
				asked = append(asked, part)
			}
		}
		if len(asked) != parts-1 && len(asked) != parts || asked[0] != fmt.Sprintf("%d-", part+1024) {
			t.Errorf("parts that were asked for: %v", asked)
		}
		for _, d := range *waits {
			if d != 100*time.Millisecond {
				t.Errorf("waited %v although it got on", d)
			}
		}
		if most != int64(len(layer)) {
			t.Errorf("progress ends with %d of %d", most, len(layer))
		}
	})
}

// TestPartsIgnored checks that the right bytes of a layer arrive if the registry answers the
// request for a part with the whole layer, with another part, or with an error.
func TestPartsIgnored(t *testing.T) {
	host := registrytest.Open(t, registrytest.Distribution, "")
	publisher{t: t, host: host}.image("acme/pdf", "v1", gz(tarOf(t, "pdf/SKILL.md", skillMD("pdf"), "pdf/noise", noise(1<<16))))
	for name, fault := range map[string]func(p *proxy, w http.ResponseWriter, r *http.Request, n int) bool{
		"whole": func(_ *proxy, _ http.ResponseWriter, r *http.Request, n int) bool {
			r.Header.Del("Range")
			return false
		},
		"another part": func(p *proxy, w http.ResponseWriter, r *http.Request, n int) bool {
			if n == 1 {
				r.Header.Set("Range", "bytes=5-")
			}
			return false
		},
		"none": func(p *proxy, w http.ResponseWriter, r *http.Request, n int) bool {
			if n == 1 {
				w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
			}
			return n == 1
		},
	} {
		t.Run(name, func(t *testing.T) {
			var p *proxy
			p = newProxy(t, host, func(w http.ResponseWriter, r *http.Request, n int) bool {
				if isBlob(r) && n == 0 {
					cutAfter(w, p.answer(r), 1<<15)
				}
				return isBlob(r) && fault(p, w, r, n)
			})
			opts, _ := options(t)
			got, _, err := install(t, New(opts), "oci://"+p.host()+"/acme/pdf:v1")
			if err != nil || got.Files["pdf: noise"] != noise(1<<16) {
				t.Errorf("not what was sent: %v", err)
			}
		})
	}
}

// TestTagMoves checks that a tag that moves between Resolve and Open does not change the fetched
// release.
func TestTagMoves(t *testing.T) {
	host := registrytest.Open(t, registrytest.Distribution, "")
	p := publisher{t: t, host: host}
	p.image("acme/pdf", "v1", gz(tarOf(t, "pdf/SKILL.md", skillMD("old"))))
	opts, _ := options(t)
	o := New(opts)
	ref, _ := origin.Parse("oci://"+host+"/acme/pdf:v1", "", "")
	at, err := o.Resolve(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	p.image("acme/pdf", "v1", gz(tarOf(t, "pdf/SKILL.md", skillMD("new"))))
	to := origintest.NewSink()
	if err := fetchAll(t, o, ref, at, to); err != nil || to.Files["pdf: SKILL.md"] != skillMD("old") {
		t.Errorf("%v, %v", to.Files, err)
	}
}

// TestOtherManifest checks that a manifest that is requested by digest must have that digest.
func TestOtherManifest(t *testing.T) {
	host := registrytest.Open(t, registrytest.Distribution, "")
	push := publisher{t: t, host: host}
	digest := push.image("acme/pdf", "v1", gz(tarOf(t, "pdf/SKILL.md", skillMD("pdf"))))
	push.image("acme/pdf", "evil", gz(tarOf(t, "pdf/SKILL.md", skillMD("evil"))))
	for _, times := range []int{2, 99} {
		p := newProxy(t, host, func(w http.ResponseWriter, r *http.Request, n int) bool {
			if strings.HasSuffix(r.URL.Path, digest) && n < times {
				r.URL.Path = strings.Replace(r.URL.Path, digest, "evil", 1)
			}
			return false
		})
		opts, waits := options(t)
		got, _, err := install(t, New(opts), "oci://"+p.host()+"/acme/pdf@"+digest)
		if times == 99 {
			if want := p.host() + "/acme/pdf sent other bytes for the manifest " + digest + " than this digest says, 8 times: try again later, or tell the registry's operator"; err == nil || err.Error() != want || len(*waits) != 7 {
				t.Errorf("%v after %v, want %s", err, *waits, want)
			}
		} else if err != nil || got.Files["pdf: SKILL.md"] != skillMD("pdf") {
			t.Errorf("%v, %v", got, err)
		}
	}
}

// TestHeadWithoutDigest checks that the manifest is fetched if a registry sends no digest with a
// HEAD.
func TestHeadWithoutDigest(t *testing.T) {
	host := registrytest.Open(t, registrytest.Distribution, "")
	want := publisher{t: t, host: host}.image("acme/pdf", "v1", gz(tarOf(t, "pdf/SKILL.md", skillMD("pdf"))))
	for _, code := range []int{http.StatusOK, http.StatusMethodNotAllowed} {
		p := newProxy(t, host, func(w http.ResponseWriter, r *http.Request, _ int) bool {
			if r.Method == http.MethodHead {
				w.WriteHeader(code)
			}
			return r.Method == http.MethodHead
		})
		opts, _ := options(t)
		ref, _ := origin.Parse("oci://"+p.host()+"/acme/pdf:v1", "", "")
		if at, err := New(opts).Resolve(t.Context(), ref); err != nil || at.ID != "oci:"+want {
			t.Errorf("HEAD %d: %v, %v", code, at, err)
		}
	}
}
