//go:build linux

package deploy

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/knack-dev/knack/internal/test/testwait"
)

// TestBalancer runs a real HAProxy with deploy/fleet/haproxy.cfg in front of two servers. It checks
// that a session stays on the server on which it began, and is unknown after that server ends. A
// browser stays on a server because of its cookie, and any other client because of its token.
// Without the line that makes sessions stick, a session is lost.
func TestBalancer(t *testing.T) {
	testwait.Slow(t)
	knack(t)
	if _, err := exec.LookPath("haproxy"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("no haproxy; .ci/programs installs it")
		}
		t.Skip("no haproxy; .ci/programs installs it")
	}
	t.Parallel()
	text, err := os.ReadFile("fleet/haproxy.cfg")
	must(t, err)
	var backends []string
	stops := map[string]func(){}
	for _, name := range []string{"left", "right"} {
		r := newReplica(t, "./skills", "")
		put(t, filepath.Join(r.dir, "skills", name, "SKILL.md"), skillMD(name))
		put(t, filepath.Join(r.dir, "knack.yaml"), "roots: [{dir: skills, label: acme}]\n")
		r.start()
		stops[name] = r.kill
		backends = append(backends, fmt.Sprintf("    server %s %s check inter 200ms", name, strings.TrimPrefix(r.url, "http://")))
	}
	at := strings.LastIndex(string(text), "    server-template")
	if at < 0 {
		t.Fatal("haproxy.cfg has no server-template")
	}
	begin := func(change func(string) string) (url string) {
		port := freePort(t)
		config := strings.Replace(string(text)[:at], "bind :8080", "bind 127.0.0.1:"+port, 1) + strings.Join(backends, "\n") + "\n"
		file := filepath.Join(t.TempDir(), "haproxy.cfg")
		put(t, file, change(config))
		cmd := exec.CommandContext(t.Context(), "haproxy", "-db", "-f", file)
		cmd.WaitDelay = 10 * time.Second
		must(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		url = "http://127.0.0.1:" + port
		testwait.Until(t, func() bool {
			code, _, err := get(t.Context(), http.DefaultClient, url+"/readyz", "")
			return err == nil && code == 200
		}, "HAProxy does not serve")
		return url
	}
	ask := func(method, url, body string, headers ...string) (int, string, http.Header) {
		r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
		must(t, err)
		r.Close = true // the next request is balanced again
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		resp, err := http.DefaultClient.Do(r)
		must(t, err)
		defer resp.Body.Close()
		data, err := io.ReadAll(resp.Body)
		must(t, err)
		return resp.StatusCode, string(data), resp.Header
	}
	session := func(url string) string {
		code, body, head := ask("POST", url+"/mcp", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"old","version":"1"}}}`)
		id := head.Get("Mcp-Session-Id")
		if code != http.StatusOK || id == "" {
			t.Fatalf("initialize: %d %s", code, body)
		}
		return id
	}
	const list = `{"jsonrpc":"2.0","id":2,"method":"resources/list"}`
	name := func(body string) string {
		for name := range stops {
			if strings.Contains(body, "/"+name+"/SKILL.md") {
				return name
			}
		}
		return ""
	}

	url := begin(func(s string) string { return s })
	id := session(url)
	var owner string
	for range 20 {
		code, body, _ := ask("POST", url+"/mcp", list, "Mcp-Session-Id", id, "Mcp-Protocol-Version", "2025-06-18")
		if code != http.StatusOK || owner != "" && name(body) != owner || name(body) == "" {
			t.Fatalf("a session on %s: %d %s", owner, code, body)
		}
		owner = name(body)
	}
	// A browser and a token each stay on one server, and 20 tokens use both servers.
	_, body, head := ask("GET", url+"/api/v1/skills", "")
	cookie, _, _ := strings.Cut(head.Get("Set-Cookie"), ";")
	browsers, both := name(strings.ReplaceAll(body, "skill://", "/")), map[string]bool{}
	for range 20 {
		if _, body, _ := ask("GET", url+"/api/v1/skills", "", "Cookie", cookie); name(strings.ReplaceAll(body, "skill://", "/")) != browsers || browsers == "" {
			t.Errorf("the browser of %s, with the cookie %s, gets %s", browsers, cookie, body)
		}
	}
	for n := range 20 {
		var first string
		for range 3 {
			_, body, _ := ask("GET", url+"/api/v1/skills", "", "Authorization", fmt.Sprint("Bearer ", n))
			got := name(strings.ReplaceAll(body, "skill://", "/"))
			if first != "" && got != first {
				t.Errorf("the token %d is on %s and %s", n, first, got)
			}
			first, both[got] = got, true
		}
	}
	if len(both) != 2 {
		t.Errorf("20 tokens are on %v", both)
	}

	broken := begin(func(s string) string { return strings.Replace(s, "    stick match", "    # stick match", 1) })
	lost := session(broken)
	testwait.Until(t, func() bool {
		code, _, _ := ask("POST", broken+"/mcp", list, "Mcp-Session-Id", lost, "Mcp-Protocol-Version", "2025-06-18")
		return code == http.StatusNotFound
	}, "without the line, a session still works")

	stops[owner]()
	testwait.Until(t, func() bool {
		code, _, _ := ask("POST", url+"/mcp", list, "Mcp-Session-Id", id, "Mcp-Protocol-Version", "2025-06-18")
		return code == http.StatusNotFound
	}, "the session of a server that has ended is not unknown")
	session(url)
}
