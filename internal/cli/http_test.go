package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli"
)

// startServer runs 'knack serve --http' until the test ends, and returns its URL.
func startServer(t *testing.T, args ...string) string {
	t.Helper()
	url, _ := servingLog(t, args...)
	return url
}

// servingLog is like [startServer], and also returns a function that returns the server's stderr.
func servingLog(t *testing.T, args ...string) (url string, log func() string) {
	t.Helper()
	return servingWith(t, append([]string{"serve", "--no-builtin", "--http", "0"}, args...))
}

// servingWith is like [servingLog] for a whole command line.
func servingWith(t *testing.T, args []string) (url string, log func() string) {
	t.Helper()
	var mu sync.Mutex
	var said strings.Builder
	log = func() string {
		mu.Lock()
		defer mu.Unlock()
		return said.String()
	}
	ctx, stop := context.WithCancel(context.Background())
	out, in := io.Pipe()
	ended := make(chan int, 1)
	env := console.Env{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: in, Getenv: func(string) string { return "" }, Dir: t.TempDir()}
	go func() {
		ended <- cli.Main(ctx, env, args)
		in.Close()
	}()
	t.Cleanup(func() {
		stop()
		select {
		case code := <-ended:
			if code != 0 {
				t.Errorf("status %d", code)
			}
		case <-time.After(30 * time.Second):
			t.Error("it does not end")
		}
	})
	lines := bufio.NewScanner(out)
	next := func() bool {
		more := lines.Scan()
		mu.Lock()
		defer mu.Unlock()
		said.WriteString(lines.Text() + "\n")
		return more
	}
	for next() {
		_, url, ok := strings.Cut(lines.Text(), "knack serves MCP at ")
		var line struct{ Msg, URL string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "knack serves MCP" {
			url, ok = line.URL, true
		}
		if ok {
			go func() {
				for next() {
				}
			}()
			return url, log
		}
	}
	t.Fatal("it does not say where it serves")
	return "", nil
}

type reply struct {
	code   int
	header http.Header
	body   string
}

// request sends a request. Headers are given as "key: value". A header without a value removes an
// earlier one.
func request(t *testing.T, client *http.Client, method, url, body string, headers ...string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		key, value, _ := strings.Cut(h, ": ")
		switch {
		case key == "Host":
			req.Host = value
		case value == "":
			req.Header.Del(key)
		default:
			req.Header.Set(key, value)
		}
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, string(data)}
}

// fetch gets a page from a server, and returns the status and the body.
func fetch(t *testing.T, url string, headers ...string) (int, string) {
	t.Helper()
	r := request(t, http.DefaultClient, http.MethodGet, url, "", headers...)
	return r.code, r.body
}

func check(t *testing.T, token string, args ...string) (int, string, string) {
	t.Helper()
	var out, err bytes.Buffer
	env := console.Env{Stdout: &out, Stderr: &err, Getenv: func(key string) string {
		if key == "KNACK_TOKEN" {
			return token
		}
		return ""
	}}
	code := cli.Main(t.Context(), env, append([]string{"check"}, args...))
	return code, out.String(), err.String()
}

func skills(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"one/SKILL.md": "---\nname: one\ndescription: One.\n---\n", "one/x/y.txt": "y"} {
		p := filepath.Join(dir, filepath.FromSlash(name))
		put(t, p, text)
	}
	return dir
}

func TestCheckOurselves(t *testing.T) {
	token, line := access.NewToken()
	file := filepath.Join(t.TempDir(), "tokens")
	put(t, file, line+" test\n")
	url := startServer(t, "--dir", skills(t), "--token-file", file)
	for _, protocol := range []string{"2026-07-28", "2025-11-25"} {
		code, out, errs := check(t, token, "--protocol", protocol, url)
		if want := "1 skill, 2 files verified, protocol " + protocol + ": 0 findings\n"; code != 0 || out != want || errs != "" {
			t.Errorf("%d %q %q", code, out, errs)
		}
	}
	code, out, _ := check(t, token, "--json", url)
	var report struct {
		Skills   int
		Findings []any
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != 0 || report.Skills != 1 || report.Findings == nil {
		t.Errorf("%d %s %v", code, out, err)
	}
	if code, _, errs := check(t, "", url); code != 3 || strings.Contains(errs, token) {
		t.Errorf("without a token: %d %s", code, errs)
	}
	base := strings.TrimSuffix(url, "/mcp")
	for _, path := range []string{"/healthz", "/readyz"} {
		if code, body := fetch(t, base+path); code != 200 || body != "ok\n" {
			t.Errorf("%s: %d %q", path, code, body)
		}
	}
	if code, body := fetch(t, base+"/connect", "Authorization: Bearer "+token); code != 200 || !strings.Contains(body, "Authorization: Bearer") {
		t.Errorf("the page does not say that a token is needed: %d", code)
	}
}

// TestCheckFindsFaults checks that check reports a server without the extension, and a server that
// changes its files.
func TestCheckFindsFaults(t *testing.T) {
	dir := skills(t)
	url := startServer(t, "--dir", dir)
	spoiled := http.NewServeMux()
	spoiled.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		again, _ := http.NewRequestWithContext(r.Context(), r.Method, url, bytes.NewReader(body))
		again.Header = r.Header.Clone()
		resp, err := http.DefaultClient.Do(again)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		for key, values := range resp.Header {
			if key != "Content-Length" {
				w.Header()[key] = values
			}
		}
		w.WriteHeader(resp.StatusCode)
		_, _ = w.Write(bytes.ReplaceAll(text, []byte(`"text":"y"`), []byte(`"text":"Z"`)))
	})
	server := newLoopback(t, spoiled)
	code, out, errs := check(t, "", server+"/mcp")
	if code != 1 || !strings.Contains(out, "skill://one/SKILL.md\n  digest: skill://one/x/y.txt: its digest is sha256:") || errs != "" {
		t.Errorf("%d %q %q", code, out, errs)
	}
}

func newLoopback(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}
