package reach_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/knack-dev/knack/internal/llm/reach"
)

// TestListening checks the explanation for an address that cannot be listened on, and that the
// advice keeps the host that the user gave.
func TestListening(t *testing.T) {
	for _, tt := range []struct {
		listen string
		errno  syscall.Errno
		what   string
		fix    string
	}{
		{"8080", syscall.EADDRINUSE, "another program listens on 127.0.0.1:8080", "choose another port: --http 8081, or --http 0 for any free one"},
		{"0.0.0.0:65535", syscall.EADDRINUSE, "another program listens on 0.0.0.0:65535", "choose another port: --http 0.0.0.0:8080, or --http 0.0.0.0:0 for any free one"},
		{"127.0.0.1:8080", 10048, "another program listens on 127.0.0.1:8080", "choose another port: --http 127.0.0.1:8081, or --http 127.0.0.1:0 for any free one"},
		{"80", syscall.EACCES, "only an administrator may listen on port 80", "choose a port from 1024 up: --http 8080"},
		{"8080", 10013, "this system does not allow a server on 127.0.0.1:8080", "choose another port: --http 8081"},
		{"192.0.2.1:80", syscall.EADDRNOTAVAIL, "192.0.2.1 is not an address of this machine", "give the port alone to serve this machine: --http 80; 0.0.0.0:80 stands for all of its addresses"},
		{"[::1]:80", syscall.EAFNOSUPPORT, "this machine has no addresses like ::1", "give the port alone: --http 80"},
		{"80", syscall.ENOBUFS, syscall.ENOBUFS.Error(), ""},
	} {
		listen := tt.listen
		if !strings.Contains(listen, ":") {
			listen = "127.0.0.1:" + listen
		}
		at, err := net.ResolveTCPAddr("tcp", listen)
		if err != nil {
			t.Fatal(err)
		}
		err = &net.OpError{Op: "listen", Net: "tcp", Addr: at, Err: os.NewSyscallError("bind", tt.errno)}
		if what, fix := reach.Listening("--http", tt.listen, at, err); what != tt.what || fix != tt.fix {
			t.Errorf("%s, %v: %s; %s", tt.listen, tt.errno, what, fix)
		}
	}
	missing := &net.DNSError{Err: "no such host", Name: "nowhere", IsNotFound: true}
	if what, fix := reach.Resolving("--http", "nowhere", "80", missing); what != "there is no host nowhere" || !strings.HasSuffix(fix, "--http 80") {
		t.Errorf("%s; %s", what, fix)
	}
}

// failureOf sends a server the requests of an MCP client, and returns the explanation of its
// failure.
func failureOf(t *testing.T, address, token string, tr http.RoundTripper) (what, fix string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	w := &reach.Watched{Next: tr}
	c := http.Client{Transport: w, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := c.Post(address, "application/json", strings.NewReader("{}"))
	if err == nil {
		if _, err := io.ReadAll(resp.Body); err != nil {
			t.Error(err)
		}
		resp.Body.Close()
		err = errors.New("not MCP")
		end, broken := http.NewRequestWithContext(t.Context(), http.MethodDelete, address, nil) // as the SDK ends a session
		if broken != nil {
			t.Fatal(broken)
		}
		if resp, broken = c.Do(end); broken == nil { // a foreign server may not answer again
			resp.Body.Close()
		}
	}
	what, fix = w.Failure(u, err, token != "", "KNACK_TOKEN")
	return what, strings.ReplaceAll(fix, u.Host, "HOST")
}

// TestAnswers checks the error texts for answers that are not an MCP server's.
func TestAnswers(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		switch r.URL.Path {
		case "/page":
			w.Header().Set("Content-Type", "Text/HTML; charset=utf-8")
		case "/json":
			w.Header().Set("Content-Type", "application/json")
		case "/moved":
			w.Header().Set("Location", "https://user:hunter2@example.com/x?token=hunter2")
			w.WriteHeader(http.StatusFound)
		case "/tls":
			http.Error(w, "Client sent an HTTP request to an HTTPS server.", http.StatusBadRequest)
		case "/mcp":
			w.WriteHeader(http.StatusNotFound)
		default: // the path is the status
			code, err := strconv.Atoi(r.URL.Path[1:])
			if err != nil {
				t.Error(err)
			}
			w.WriteHeader(code)
		}
	}))
	defer server.Close()
	for _, tt := range []struct{ path, token, what, fix string }{
		{"/page", "", "a web page is at this address, not an MCP server", "try http://HOST/mcp"},
		{"/404", "", "no MCP server is at this path (404)", "try http://HOST/mcp"},
		{"/mcp", "", "no MCP server is at this path (404)", "check the host, the port and the path"},
		{"/405", "", "no MCP server is at this path (405)", "try http://HOST/mcp"},
		{"/501", "", "no MCP server is at this path (501)", "try http://HOST/mcp"},
		{"/401", "", "the server requires a token (401)", "set the variable KNACK_TOKEN to the token"},
		{"/401", "x", "the server refuses the token in KNACK_TOKEN (401)", "check the token; the server's administrator can give you another"},
		{"/403", "x", "the server refuses this client (403)", "a knack server admits the names that --allow-host gives; the token may have no access"},
		{"/moved", "", "the server redirects to https://example.com/x (302)", "check that address instead if you trust it"},
		{"/429", "", "the server limits how often clients may ask (429)", "try again later"},
		{"/500", "", "the server fails (500)", "see its log, or try again later"},
		{"/tls", "", "the server speaks HTTPS there", "try https://HOST/tls"},
		{"/400", "", "", ""},
		{"/json", "", "", ""},
	} {
		if what, fix := failureOf(t, server.URL+tt.path, tt.token, http.DefaultTransport); what != tt.what || fix != tt.fix {
			t.Errorf("%s: %s; %s", tt.path, what, fix)
		}
	}
}

// TestNoAnswer checks the error texts for a server that does not answer.
func TestNoAnswer(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	secure := quiet(t)
	secure.StartTLS()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	closing := listener(t, "")
	ssh := listener(t, "SSH-2.0-OpenSSH_9\r\n")
	alert := listener(t, "\x15\x03\x01\x00\x02\x02\x16")
	never := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}
	}}
	nowhere := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "nowhere", IsNotFound: true}}
	}}
	silent := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "timeout", Name: "nowhere", IsTimeout: true}}
	}}
	roots := x509.NewCertPool()
	trusting := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	for name, tt := range map[string]struct {
		address   string
		via       *http.Transport
		what, fix string
	}{
		"refused":     {gone.URL, nil, "no server listens on this port: the connection was refused", "start the server, or check the host and the port"},
		"no TLS":      {strings.Replace(plain.URL, "http:", "https:", 1) + "/mcp", nil, "the server does not speak HTTPS there", "try http://HOST/mcp"},
		"TLS":         {strings.Replace(secure.URL, "https:", "http:", 1) + "/mcp", nil, "the server speaks HTTPS there", "try https://HOST/mcp"},
		"alert":       {alert, nil, "the server speaks HTTPS there", "try https://HOST"},
		"another":     {ssh, nil, "the server does not speak HTTP there", "start the server, or check the host and the port"},
		"closed":      {closing, nil, "the server closed the connection without an answer", "check the port; a server with TLS has an address that begins with https://"},
		"not trusted": {secure.URL, nil, "the server's certificate is not signed by an authority that this machine trusts", "install the authority's certificate here (on Linux, SSL_CERT_FILE can name it)"},
		"other name":  {certified(t, roots, -time.Hour, time.Hour), trusting, "the server's certificate is not for 127.0.0.1, but for a.example, b.example, c.example, …", "use a name of the certificate, or give the server one for this name"},
		"ended":       {certified(t, roots, -2*time.Hour, -time.Hour), trusting, "the server's certificate is no longer valid: it ended on " + day(-time.Hour), "renew it at the server; if it is valid, correct the clock of this machine"},
		"not begun":   {certified(t, roots, 48*time.Hour, 49*time.Hour), trusting, "the server's certificate is not valid before " + day(48*time.Hour), "renew it at the server; if it is valid, correct the clock of this machine"},
		"timeout":     {"http://192.0.2.1/mcp", never, "no answer came from that host in time", "start the server, or check the host and the port; a firewall may be in between"},
		"no name":     {"http://nowhere/mcp", nowhere, "there is no host nowhere", "check the name"},
		"no name yet": {"http://nowhere/mcp", silent, "the address of nowhere cannot be looked up: the name server does not answer", "check the network, or try again later"},
	} {
		t.Run(name, func(t *testing.T) {
			tr := tt.via
			if tr == nil {
				tr = &http.Transport{}
			}
			if what, fix := failureOf(t, tt.address, "", tr); what != tt.what || fix != tt.fix {
				t.Errorf("%s; %s", what, fix)
			}
		})
	}
}

func day(after time.Duration) string { return time.Now().Add(after).UTC().Format(time.DateOnly) }

// listener starts a server that writes a greeting to each connection, and closes it.
func listener(t *testing.T, greeting string) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			if greeting != "" {
				_, _ = c.Read(make([]byte, 1)) // an answer before the request does not count
				_, _ = io.WriteString(c, greeting)
			}
			c.Close()
		}
	}()
	return "http://" + ln.Addr().String()
}

// quiet returns a server that writes no log.
func quiet(t *testing.T) *httptest.Server {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	t.Cleanup(server.Close)
	return server
}

// certified starts a server with a certificate for other names, and adds the certificate to the
// roots. It is valid between two times, which are given relative to now.
func certified(t *testing.T, roots *x509.CertPool, from, until time.Duration) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(from), NotAfter: time.Now().Add(until), IsCA: true, BasicConstraintsValid: true,
		DNSNames: []string{"a.example", "b.example", "c.example", "d.example"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots.AddCert(leaf)
	server := quiet(t)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	server.StartTLS()
	return server.URL
}
