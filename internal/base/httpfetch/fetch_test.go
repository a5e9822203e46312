package httpfetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

func TestIsPublic(t *testing.T) {
	for _, a := range []string{"1.1.1.1", "93.184.216.34", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "64:ff9b::101:101", "2002:101:101::1", "::ffff:8.8.8.8"} {
		if !isPublic(netip.MustParseAddr(a)) {
			t.Errorf("%s is not public", a)
		}
	}
	for _, a := range []string{
		"0.0.0.0", "0.1.2.3", "127.0.0.1", "127.255.255.254", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1",
		"169.254.169.254", "169.254.0.1", "100.64.0.1", "100.127.255.255", "100.100.100.200", "192.0.0.192", "192.0.2.1", "198.18.0.1", "198.51.100.7", "203.0.113.9", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255",
		"::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1", "2001:db8::1", "100::1", "2001::1", "3fff::1",
		"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "::10.0.0.1",
		"64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::1", "2002:a9fe:a9fe::", "2002:c0a8:101::1", "2606:4700::5efe:127.0.0.1", "2606:4700::200:5efe:10.0.0.1",
	} {
		if isPublic(netip.MustParseAddr(a)) {
			t.Errorf("%s is public", a)
		}
	}
}

// names returns a resolver whose name server answers from a table.
func names(t *testing.T, table map[string]string) *net.Resolver {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	go func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := server.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			q := m.Questions[0]
			answer := dnsmessage.Message{Header: dnsmessage.Header{ID: m.ID, Response: true, Authoritative: true}, Questions: m.Questions}
			header := dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 1}
			if to, err := netip.ParseAddr(table[strings.TrimSuffix(q.Name.String(), ".")]); err != nil {
				answer.RCode = dnsmessage.RCodeNameError
			} else if q.Type == dnsmessage.TypeA && to.Is4() {
				answer.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AResource{A: to.As4()}}}
			} else if q.Type == dnsmessage.TypeAAAA && to.Is6() {
				answer.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AAAAResource{AAAA: to.As16()}}}
			}
			if packed, err := answer.Pack(); err == nil {
				_, _ = server.WriteTo(packed, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

// site is an https server that counts its requests.
type site struct {
	*httptest.Server
	requests atomic.Int32
	leaked   atomic.Int32 // requests with a secret
}

func newSite(t *testing.T, answer http.HandlerFunc) *site {
	t.Helper()
	s := new(site)
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		if strings.Contains(fmt.Sprint(r.Header), "canary") {
			s.leaked.Add(1)
		}
		answer(w, r)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func (s *site) port() string {
	u, _ := url.Parse(s.URL)
	return u.Port()
}

func (s *site) roots() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return pool
}

func get(t *testing.T, f *Fetcher, source, at string) (string, error) {
	t.Helper()
	c, err := f.For(source)
	if err != nil {
		return "", err
	}
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	a, err := c.Get(t.Context(), u)
	if err != nil {
		return "", err
	}
	defer a.Body.Close()
	data, err := io.ReadAll(a.Body)
	return string(data), err
}

// TestRedirects checks to which addresses a source may redirect. Each of these addresses is allowed
// if it is the address of the source.
func TestRedirects(t *testing.T) {
	inside := newSite(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "secret") })
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "plain") }))
	t.Cleanup(plain.Close)
	outside := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		_, _ = io.WriteString(w, "here")
	})
	port := inside.port()
	f := New(Options{Roots: outside.roots(), Resolver: names(t, map[string]string{
		"six.example.com": "::1", "loop.example.com": "127.0.0.1", "zero.example.com": "0.0.0.0", "metadata.example.com": "169.254.169.254", "ten.example.com": "10.255.255.1",
		"mapped.example.com": "::ffff:127.0.0.1", "nat64.example.com": "64:ff9b::7f00:1", "source.example.com": "127.0.0.1",
	})})
	t.Cleanup(f.Close)
	source := "https://source.example.com:" + outside.port()
	for _, to := range []string{
		"https://127.0.0.1:" + port, "https://127.1.2.3:" + port, "https://[::1]:" + port, "https://[::ffff:127.0.0.1]:" + port, "https://0.0.0.0:" + port, "https://[::]:" + port,
		"https://localhost:" + port, "https://LOCALHOST.:" + port, "https://a.localhost:" + port,
		"https://169.254.169.254/latest/meta-data", "https://[fd00:ec2::254]/", "https://10.0.0.1/", "https://192.168.1.1/", "https://172.16.0.1/", "https://100.64.0.1/", "https://[64:ff9b::7f00:1]/", "https://[2002:7f00:1::]/",
		"https://loop.example.com:" + port, "https://six.example.com:" + port, "https://zero.example.com:" + port, "https://metadata.example.com/", "https://ten.example.com/", "https://mapped.example.com:" + port, "https://nat64.example.com/",
		"https://source.example.com:" + port, // the host of the source, but another port
		"http://source.example.com:" + outside.port() + "/", "http://1.1.1.1/", plain.URL, "file:///etc/passwd", "ftp://1.1.1.1/", "gopher://127.0.0.1:70/",
		"https://user:canary@source.example.com:" + outside.port() + "/",
	} {
		for _, status := range []string{"redirected", "named by an index"} {
			at := source + "/?to=" + url.QueryEscape(to)
			if status != "redirected" {
				at = to
			}
			got, err := get(t, f, source, at)
			if !errors.Is(err, ErrRefused) {
				t.Errorf("%s to %s: %q, %v", status, to, got, err)
			}
			if err != nil && strings.Contains(err.Error(), "canary") {
				t.Errorf("the error has the password: %v", err)
			}
		}
	}
	if n := inside.requests.Load(); n != 0 {
		t.Errorf("the server inside was asked %d times", n)
	}
	if got, err := get(t, f, source, source+"/?to=/x"); got != "here" || err != nil {
		t.Errorf("a redirect within the source: %q, %v", got, err)
	}
	for _, at := range []string{"https://127.0.0.1:" + port, "https://loop.example.com:" + port} {
		got, err := get(t, f, at, at)
		if got != "secret" || err != nil {
			t.Errorf("%s, named as the source: %q, %v", at, got, err)
		}
	}
	if got, err := get(t, f, plain.URL, plain.URL); got != "plain" || err != nil {
		t.Errorf("http to this machine: %q, %v", got, err)
	}
	if _, err := get(t, f, "http://loop.example.com", "http://loop.example.com"); !errors.Is(err, ErrRefused) {
		t.Errorf("http elsewhere: %v", err)
	}
}

func TestRedirectCount(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		if n := len(r.URL.Path); n > 1 {
			http.Redirect(w, r, r.URL.Path[:n-1], http.StatusMovedPermanently)
		}
	})
	f := New(Options{Roots: s.roots()})
	if _, err := get(t, f, s.URL, s.URL+"/12345"); err != nil {
		t.Errorf("five: %v", err)
	}
	if _, err := get(t, f, s.URL, s.URL+"/123456"); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "more than 5") {
		t.Errorf("six: %v", err)
	}
}

// TestCredentials checks that a caller's credentials are sent to no other host or port.
func TestCredentials(t *testing.T) {
	there := newSite(t, func(http.ResponseWriter, *http.Request) {})
	here := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, "https://sub.example.com:"+there.port()+"/?sig=canary", http.StatusTemporaryRedirect)
		case "/same":
			http.Redirect(w, r, "/x", http.StatusTemporaryRedirect)
		}
	})
	c := newClient(Options{Roots: here.roots(), Credentials: func(context.Context) (http.Header, error) { return http.Header{"X-Key": {"canary"}}, nil }}, "example.com:"+here.port())
	c.scheme = "https"
	c.base.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		var d net.Dialer
		_, port, _ := net.SplitHostPort(address)
		return d.DialContext(ctx, network, "127.0.0.1:"+port)
	}
	for path, want := range map[string]int32{"/away?canary": 1, "/same": 2} {
		here.leaked.Store(0)
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://example.com:"+here.port()+path, nil)
		for _, name := range []string{"Authorization", "Cookie"} {
			r.Header.Set(name, "canary")
		}
		resp, err := c.HTTP().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if here.leaked.Load() != want {
			t.Errorf("%s: the source got the credential %d times", path, here.leaked.Load())
		}
	}
	if there.requests.Load() != 1 || there.leaked.Load() != 0 {
		t.Errorf("the other host was asked %d times, %d times with a secret", there.requests.Load(), there.leaked.Load())
	}
}

// TestProxy checks that a proxy on this machine is used, although private addresses are refused.
func TestProxy(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "here") })
	var asked atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.Method != http.MethodConnect {
			http.Error(w, "no", http.StatusMethodNotAllowed)
			return
		}
		to, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "https://"))
		if err != nil {
			http.Error(w, "no", http.StatusBadGateway)
			return
		}
		defer to.Close()
		from, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer from.Close()
		_, _ = io.WriteString(from, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(to, from) }()
		_, _ = io.Copy(from, to)
	}))
	t.Cleanup(proxy.Close)
	at, _ := url.Parse(proxy.URL)
	f := New(Options{Roots: s.roots(), Proxy: http.ProxyURL(at), Resolver: names(t, nil)})
	t.Cleanup(f.Close)
	if got, err := get(t, f, "https://www.example.com", "https://www.example.com/x"); got != "here" || err != nil || asked.Load() != 1 {
		t.Errorf("%q, %v, the proxy was asked %d times", got, err, asked.Load())
	}
	for _, to := range []string{"https://127.0.0.1/", "https://169.254.169.254/", "https://localhost/", "https://[::1]/", "http://example.com/"} {
		if _, err := get(t, f, "https://www.example.com", to); !errors.Is(err, ErrRefused) {
			t.Errorf("%s through the proxy: %v", to, err)
		}
	}
	if asked.Load() != 1 {
		t.Errorf("the proxy was asked %d times", asked.Load())
	}
}

func TestTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	if _, err := get(t, New(Options{Roots: pool}), s.URL, s.URL); err == nil {
		t.Error("TLS 1.1 is accepted")
	}
	good := newSite(t, func(http.ResponseWriter, *http.Request) {})
	if _, err := get(t, New(Options{}), good.URL, good.URL); err == nil || !strings.Contains(err.Error(), "SSL_CERT_FILE") {
		t.Errorf("an unknown authority: %v", err)
	}
}

func TestGet(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/unchanged":
			w.WriteHeader(http.StatusNotModified)
		case "/signed":
			http.Redirect(w, r, "/gone?signature=canary", http.StatusFound)
		case "/login":
			w.WriteHeader(http.StatusUnauthorized)
		default:
			http.NotFound(w, r)
		}
	})
	f := New(Options{Roots: s.roots(), Agent: "knack/test"})
	c, err := f.For(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	at := func(path string) *url.URL { u, _ := url.Parse(s.URL + path); return u }
	for path, want := range map[string]string{
		"/missing?token=canary": "/missing: there is no such file (404)", "/signed": "/gone: there is no such file (404)", "/login": "refuses access (401)", "/unchanged": "answers 304",
	} {
		if _, err := c.Get(t.Context(), at(path)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Get(ended, at("/login?canary")); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "canary") {
		t.Error(err)
	}
}
