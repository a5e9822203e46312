package cli_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/knack-dev/knack/internal/distribution/trust"
	"github.com/knack-dev/knack/internal/test/registrytest"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// server is a knack process that follows a source.
type server struct {
	t       *testing.T
	dir     string
	address string
	cmd     *exec.Cmd
	log     lockedBuffer
	ended   chan error
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// follow starts a server with settings. STORE in them is replaced with the path of the server's
// store.
func follow(t *testing.T, dir, settings string) *server {
	t.Helper()
	s := &server{t: t, dir: dir, ended: make(chan error, 1)}
	file := filepath.Join(dir, "server.yaml")
	put(t, file, strings.ReplaceAll(settings, "STORE", filepath.Join(dir, "store"))+"\nlog: {level: info}\n")
	s.cmd = exec.Command("knack", "serve", "--no-builtin", "--http", "127.0.0.1:0", "--config", file, "--audit", filepath.Join(dir, "audit.log"))
	s.cmd.Env = append(os.Environ(), "HOME="+dir, "DOCKER_CONFIG="+dir)
	s.cmd.Stderr = &s.log
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { s.ended <- s.cmd.Wait() }()
	t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	testwait.Until(t, func() bool {
		_, rest, ok := strings.Cut(s.log.String(), "knack serves MCP at http://")
		s.address, _, _ = strings.Cut(rest, "/mcp")
		return ok && strings.Contains(rest, "/mcp")
	}, "the address of the server", s.log.String)
	return s
}

// get gets a page, and returns its status and body.
func (s *server) get(path string) (int, string) {
	resp, err := http.Get("http://" + s.address + path)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(body)
}

// post sends an MCP message, and returns the answer.
func (s *server) post(message string) string {
	s.t.Helper()
	r, err := http.NewRequest(http.MethodPost, "http://"+s.address+"/mcp", strings.NewReader(message))
	if err != nil {
		s.t.Fatal(err)
	}
	for key, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2026-07-28"} {
		r.Header.Set(key, value)
	}
	for header, key := range map[string]string{"Mcp-Method": `"method":"`, "Mcp-Name": `"params":{"name":"`} {
		if _, rest, ok := strings.Cut(message, key); ok {
			value, _, _ := strings.Cut(rest, `"`)
			r.Header.Set(header, value)
		}
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(body)
}

// shows waits until a page contains a text.
func (s *server) shows(path, text string) {
	s.t.Helper()
	var body string
	testwait.Until(s.t, func() bool {
		_, body = s.get(path)
		return strings.Contains(body, text)
	}, text, "in", path, func() string { return body + "\n" + s.log.String() })
}

// stop ends the server as systemd does, and checks that it ends without an error.
func (s *server) stop() {
	s.t.Helper()
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	if err := <-s.ended; err != nil {
		s.t.Errorf("the server ended with %v\n%s", err, s.log.String())
	}
}

// says returns the number of log lines with a text.
func (s *server) says(text string) int { return strings.Count(s.log.String(), text) }

// logged waits until the log contains a text, and checks that only one line does.
func (s *server) logged(text string) {
	s.t.Helper()
	testwait.Until(s.t, func() bool { return s.says(text) > 0 }, text, "in the log", s.log.String)
	if n := s.says(text); n != 1 {
		s.t.Errorf("%d lines:\n%s", n, s.log.String())
	}
}

// publish pushes a release under the tag prod.
func publish(t *testing.T, host, version, text string) (digest string) {
	return registrytest.Release(t, host, "acme/skills", "prod", 4, registrytest.Skills{
		"pdf/SKILL.md": registrytest.Skill("pdf", text), "pdf/scripts/run.py": "print('" + text + "')\n",
		"docx/SKILL.md": registrytest.Skill("docx", "Stays."), "docx/a.txt": "a",
	}, map[string]string{"org.opencontainers.image.version": version})
}

func settingsOf(host, more string) string {
	return "sources:\n  - name: acme\n    from: oci://" + host + "/acme/skills:prod\n" + more + "store: {dir: STORE}\npoll: 1s\n"
}

// TestSourceDown checks a server whose registry does not answer, with a warm and with an empty
// store.
func TestSourceDown(t *testing.T) {
	t.Parallel()
	registry := registrytest.Start(t)
	digest := publish(t, registry.Host, "1.0.0", "One.")
	registry.Stop()
	dir := t.TempDir()

	// With an empty store, the server is ready with the other root. Every surface reports since
	// when the source is missing, and the log has the reason in one line.
	put(t, filepath.Join(dir, "own", "here", "SKILL.md"), "---\nname: here\ndescription: Use here.\n---\n")
	roots := "roots: [{label: own, dir: own}]\n"
	s := follow(t, dir, roots+settingsOf(registry.Host, ""))
	const missing = "kills of acme are missing: unreachable since 2"
	s.shows("/readyz", "ok; s"+missing)
	if code, body := s.get("/readyz"); code != http.StatusOK {
		t.Error("status", code, body)
	}
	if code, body := s.get("/.well-known/agent-skills/index.json"); code != http.StatusOK || !strings.Contains(body, `"here"`) {
		t.Errorf("%d %s", code, body)
	}
	for path, text := range map[string]string{
		"/": "S" + missing, "/health": "unreachable</span> unreachable since 2", "/skills/own/here/": "S" + missing,
		"/api/v1/skills": `"incomplete":"S` + missing, "/api/v1/problems": `"state":"unreachable"`,
	} {
		if code, body := s.get(path); code != http.StatusOK || !strings.Contains(body, text) || strings.Contains(body, "being read") {
			t.Errorf("%s: %d, and no %q in\n%s", path, code, text, body)
		}
	}
	for params, want := range map[string]string{
		`"tools/list","params":{`: missing, `"tools/call","params":{"name":"skill","arguments":{"name":"nowhere"},`: "may be missing: unreachable since 2",
		`"tools/call","params":{"name":"find_skills","arguments":{"query":"nowhere"},`: "may be missing: unreachable since 2",
	} {
		body := s.post(`{"jsonrpc":"2.0","id":1,"method":` + params + `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`)
		if !strings.Contains(body, want) || strings.Contains(body, "being read") || strings.Contains(body, "try again") {
			t.Errorf("%s: no %q in %s", params, want, body)
		}
	}
	s.shows("/metrics", `knack_source_polls_total{source="acme",outcome="failed"} 3`) // it polls on
	s.logged("nothing of it is served yet")
	registry.Start()
	s.shows("/raw/acme/pdf/SKILL.md", "One.")
	s.shows("/metrics", `knack_source_info{source="acme",version="1.0.0",digest="`+digest+`"`)

	// If the registry stops while the server runs, no call fails.
	registry.Stop()
	s.shows("/metrics", `knack_source_polls_total{source="acme",outcome="failed"} `)
	var failed int
	for range 300 {
		if code, body := s.get("/raw/acme/pdf/scripts/run.py"); code != http.StatusOK || body != "print('One.')\n" {
			failed++
		}
	}
	if failed > 0 {
		t.Errorf("%d calls failed while the registry was down", failed)
	}
	s.stop()

	// With a warm store, the server is ready and serves the skills.
	s = follow(t, dir, settingsOf(registry.Host, ""))
	s.shows("/readyz", "ok")
	s.shows("/raw/acme/pdf/SKILL.md", "One.")
	s.logged("the release that was served last is served")
	s.shows("/health", "cannot be reached")
	s.stop()
	audit, err := os.ReadFile(filepath.Join(dir, "audit.log"))
	if err != nil || !strings.Contains(string(audit), `"surface":"source","method":"swap","asked":"oci://`+registry.Host+`/acme/skills:prod"`) {
		t.Errorf("%v\n%s", err, audit)
	}
}

// TestSourceForward checks that a tag that moves back is refused with forward-only, and followed
// without it.
func TestSourceForward(t *testing.T) {
	t.Parallel()
	host := registrytest.Start(t).Host
	first := publish(t, host, "1.3.0", "Old.")
	dir := t.TempDir()
	s := follow(t, dir, settingsOf(host, ""))
	s.shows("/raw/acme/pdf/SKILL.md", "Old.")
	second := publish(t, host, "1.4.0", "New.")
	s.shows("/raw/acme/pdf/SKILL.md", "New.")
	s.shows("/raw/acme/docx/SKILL.md", "Stays.")
	registrytest.Tag(t, host, "acme/skills", first, "prod")
	s.shows("/raw/acme/pdf/SKILL.md", "Old.")
	s.logged("a release with a lower version is served")
	registrytest.Tag(t, host, "acme/skills", second, "prod")
	s.shows("/raw/acme/pdf/SKILL.md", "New.")
	s.stop()

	const low = "the version 1.3.0 is lower than 1.4.0, which was served before, and forward-only is set"
	registrytest.Tag(t, host, "acme/skills", first, "prod")
	s = follow(t, dir, settingsOf(host, "    forward-only: true\n"))
	s.shows("/metrics", `knack_source_refused{source="acme",reason="version"} 1`)
	s.shows("/health", low)
	s.shows("/raw/acme/pdf/SKILL.md", "New.")
	s.logged(low)
	s.stop()
	audit, _ := os.ReadFile(filepath.Join(dir, "audit.log"))
	for _, want := range []string{`"method":"roll-back"`, `"method":"refuse"`, "version: " + low} {
		if !strings.Contains(string(audit), want) {
			t.Errorf("the audit log lacks %s:\n%s", want, audit)
		}
	}

	// A replica without a record of earlier versions relies on min-version.
	s = follow(t, t.TempDir(), settingsOf(host, "    min-version: 1.4.0\n"))
	s.shows("/readyz", "ok; skills of acme are missing: its release is refused since ")
	s.shows("/health", "the version 1.3.0 is lower than min-version, 1.4.0")
	_ = s.cmd.Process.Signal(syscall.SIGHUP)
	testwait.Until(t, func() bool { return s.says("is lower than min-version") > 1 }, "a line after SIGHUP", s.log.String)
	s.stop()
}

// TestSourceSigned checks that only releases that are signed with the key of a rule are served,
// even from a warm store.
func TestSourceSigned(t *testing.T) {
	t.Parallel()
	host := registrytest.Start(t).Host
	digest := publish(t, host, "1.0.0", "One.")
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	writeKey := func(public any) {
		der, err := x509.MarshalPKIXPublicKey(public)
		if err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(dir, "acme.pub"), string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})))
	}
	writeKey(key.Public())
	settings := settingsOf(host, "") + "trust: [{from: 'oci://" + host + "/acme/**', keys: [acme.pub], require: true}]\n"
	s := follow(t, dir, settings)
	s.shows("/readyz", "ok; skills of acme are missing: its release is refused since ")
	s.shows("/health", "the release "+digest[:19]+" is not signed, and ")
	bundle, err := trust.Sign(key, digest)
	if err != nil {
		t.Fatal(err)
	}
	registrytest.Attach(t, host, "acme/skills", digest, trust.Bundle, bundle)
	s.shows("/raw/acme/pdf/SKILL.md", "One.")
	s.shows("/metrics", `signature="signed"} 1`)
	publish(t, host, "1.1.0", "Two.")
	s.shows("/metrics", `knack_source_refused{source="acme",reason="signature"} 1`)
	s.shows("/raw/acme/pdf/SKILL.md", "One.")
	s.stop()

	other, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	writeKey(other)
	s = follow(t, dir, settings)
	s.shows("/readyz", "ok; skills of acme are missing: its release is refused since ")
	s.logged("the release that was served last is not served any more")
	s.stop()
}

// TestSourceDamaged changes a byte of a file in the store. It checks that the wrong byte is never
// served, and that the file is soon restored.
func TestSourceDamaged(t *testing.T) {
	t.Parallel()
	host := registrytest.Start(t).Host
	publish(t, host, "1.0.0", "One.")
	dir := t.TempDir()
	s := follow(t, dir, settingsOf(host, ""))
	const path, want = "/raw/acme/pdf/scripts/run.py", "print('One.')\n"
	s.shows(path, want)
	files, _ := filepath.Glob(filepath.Join(dir, "store", "skills", "*", "*", "scripts", "run.py"))
	if len(files) != 1 {
		t.Fatal(files)
	}
	if err := os.Chmod(files[0], 0o644); err != nil {
		t.Fatal(err)
	}
	put(t, files[0], "print('Two.')\n")
	back := false
	testwait.Until(t, func() bool {
		code, body := s.get(path)
		if code == http.StatusOK && body != want {
			t.Fatalf("damaged bytes were served: %q", body)
		}
		_, metrics := s.get("/metrics")
		back = code == http.StatusOK && strings.Contains(metrics, `knack_source_damaged_skills_total{source="acme"} 1`)
		return back
	}, "the file", s.log.String)
	s.logged("a damaged skill of the store was fetched again")
	s.stop()
}

// TestSourceEndsInPull checks that a server can end while its registry does not answer in a pull.
func TestSourceEndsInPull(t *testing.T) {
	proxy := registrytest.NewProxy(t, registrytest.Start(t).Host)
	publish(t, proxy.Host, "1.0.0", "One.")
	proxy.Set(registrytest.If(registrytest.IsBlob, 1000, registrytest.Silence))
	s := follow(t, t.TempDir(), settingsOf(proxy.Host, ""))
	testwait.Until(t, func() bool { return strings.Contains(strings.Join(proxy.Log(), "\n"), "/blobs/") }, "a request for a layer", s.log.String)
	s.stop()
	left, _ := filepath.Glob(filepath.Join(s.dir, "store", "tmp", "*"))
	if len(left) > 0 {
		t.Error("left over:", left)
	}
}

// TestSourceStdio checks that a server over stdio serves a source without any file.
func TestSourceStdio(t *testing.T) {
	host := registrytest.Start(t).Host
	publish(t, host, "1.0.0", "One.")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "knack", "serve", "--no-builtin", "--source", "oci://"+host+"/acme/skills:prod")
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"}}`
	var answer []byte
	for n := 1; !bytes.Contains(answer, []byte("print('One.')")); n++ {
		fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":"resources/read","params":{"uri":"skill://pdf/scripts/run.py",%s}}`+"\n", n, meta)
		buf := make([]byte, 64<<10)
		k, err := out.Read(buf)
		if err != nil {
			t.Fatalf("%v, after %s", err, answer)
		}
		answer = buf[:k]
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
